"""mem0, version 1 or 2, with pgvector or with its default store (Qdrant in a local folder). Two writers are two threads."""

from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from mem0 import Memory
from wire import drive

AT_MOST = 10_000  # memories of one agent


class Mem0:
    """A memory as its documentation opens it."""

    def __init__(self, task):
        self.version = version("mem0ai")
        self._is_first = self.version.startswith(("0.", "1."))
        self._memory = Memory.from_config(_configuration(task))
        self._writers = ThreadPoolExecutor(2)

    def say(self, sayings):
        """Add each as a user's message, all at once; what was raised by each, if anything."""
        return list(self._writers.map(self._add, sayings))

    def told(self, agent):
        """Every memory of the agent's."""
        scope = {"user_id": agent, "limit": AT_MOST} if self._is_first else {"filters": {"user_id": agent}, "top_k": AT_MOST}
        return [one["memory"] for one in self._memory.get_all(**scope)["results"]]

    def close(self):
        """Let go of the stores."""
        self._writers.shutdown()
        client = getattr(self._memory.vector_store, "client", None)
        if client is not None:
            client.close()

    def _add(self, saying):
        try:
            self._memory.add([{"role": "user", "content": saying["text"]}], user_id=saying["agent"])
        except Exception as error:
            return error
        return None


def _configuration(task):
    stores = {
        "pgvector": {"connection_string": task["database_url"]},
        "qdrant": {"path": str(Path(task["folder"]) / "qdrant")},
    }
    asked = {"openai_base_url": f"{task['address']}/v1", "api_key": task["key"]}
    store = {"collection_name": "memories", "embedding_model_dims": task["dimension"], **stores[task["store"]]}
    return {
        "vector_store": {"provider": task["store"], "config": store},
        "llm": {"provider": "openai", "config": {"model": "scripted", **asked}},
        "embedder": {"provider": "openai", "config": {"model": "bundled", "embedding_dims": task["dimension"], **asked}},
        "history_db_path": str(Path(task["folder"]) / "history.db"),
    }


if __name__ == "__main__":
    drive(Mem0)
