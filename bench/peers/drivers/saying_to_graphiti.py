"""Graphiti on Kuzu, a graph database in the process. Two writers are two tasks of one event loop, for Kuzu's files take one process."""

import asyncio
import warnings
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import kuzu
from graphiti_core import Graphiti
from graphiti_core.cross_encoder.openai_reranker_client import OpenAIRerankerClient
from graphiti_core.driver.driver import GraphProvider
from graphiti_core.driver.kuzu_driver import KuzuDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.embedder import OpenAIEmbedder
from graphiti_core.embedder.openai import OpenAIEmbedderConfig
from graphiti_core.errors import GroupsEdgesNotFoundError
from graphiti_core.graph_queries import get_fulltext_indices
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EpisodeType
from wire import drive

warnings.filterwarnings("ignore", category=DeprecationWarning)


class OnKuzu:
    """A graph in a file of its own, with what its driver for Kuzu leaves to whoever opens it (getzep/graphiti issue 1258)."""

    def __init__(self, task):
        self.version = f"{version('graphiti-core')}, kuzu {version('kuzu')}"
        self._loop = asyncio.new_event_loop()
        self._driver = KuzuDriver(db=str(Path(task["folder"]) / "kuzu"))
        self._driver._database = ""
        connection = kuzu.Connection(self._driver.db)
        for query in get_fulltext_indices(GraphProvider.KUZU):
            connection.execute(query)
        connection.close()
        asked = {"api_key": task["key"], "base_url": f"{task['address']}/v1"}
        models = LLMConfig(model="scripted", small_model="scripted", **asked)
        self._graph = Graphiti(
            graph_driver=self._driver,
            llm_client=OpenAIGenericClient(models),
            embedder=OpenAIEmbedder(OpenAIEmbedderConfig(embedding_model="bundled", embedding_dim=task["dimension"], **asked)),
            cross_encoder=OpenAIRerankerClient(config=models),
        )

    def say(self, sayings):
        """Add each as an episode of text, all at once; what was raised by each, if anything."""
        return self._loop.run_until_complete(self._add(sayings))

    def told(self, agent):
        """The facts on edges that nothing has ended."""
        try:
            edges = self._loop.run_until_complete(EntityEdge.get_by_group_ids(self._driver, [agent]))
        except GroupsEdgesNotFoundError:
            return []
        return [edge.fact for edge in edges if edge.expired_at is None and edge.invalid_at is None]

    def close(self):
        """Write what is only in the log to the graph's file."""
        connection = kuzu.Connection(self._driver.db)
        connection.execute("CHECKPOINT")
        connection.close()

    async def _add(self, sayings):
        added = (
            self._graph.add_episode(
                name="said",
                episode_body=saying["text"],
                source_description="what a user said",
                reference_time=datetime.fromisoformat(saying["at"]),
                source=EpisodeType.text,
                group_id=saying["agent"],
            )
            for saying in sayings
        )
        done = await asyncio.gather(*added, return_exceptions=True)
        return [one if isinstance(one, Exception) else None for one in done]


if __name__ == "__main__":
    drive(OnKuzu)
