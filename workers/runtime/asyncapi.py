"""The AsyncAPI document of the whole: what each worker reads and publishes, written by FastStream from the registrations that run.

python -m workers.runtime.asyncapi > docs/asyncapi.json
"""

import json
from typing import Any

from faststream.redis import RedisBroker, StreamSub
from faststream.specification import AsyncAPI

import nous
import workers
from events import CATALOGUE

from .host import subscribe


def document() -> str:
    """The document, as JSON; the same code gives the same text, whatever order FastStream keeps its subscribers in."""
    broker = RedisBroker()
    for worker in workers.table().values():
        _document_worker(broker, worker)
    for stream in sorted({event.stream for worker in workers.table().values() for event in worker.publishes}):
        broker.publisher(
            stream=StreamSub(stream), title=stream, description=_first_line(CATALOGUE[stream].__doc__), schema=CATALOGUE[stream]
        )
    specification = AsyncAPI(
        broker,
        title="Nous memory",
        version=nous.__version__,
        description="Agents publish what they learn to Redis streams; workers keep their memory in order.",
    ).to_specification()
    made: dict[str, Any] = json.loads(specification.to_json())
    components = {kind: dict(sorted(its.items())) for kind, its in made["components"].items()}
    by_name = {"channels": dict(sorted(made["channels"].items())), "operations": dict(sorted(made["operations"].items()))}
    return json.dumps(made | by_name | {"components": components}, indent=2, ensure_ascii=False)


def _document_worker(broker: RedisBroker, worker: Any) -> None:
    async def entry(event: Any) -> None:
        """Documented as one event; read in pages."""

    entry.__annotations__["event"] = worker.on
    entry.__name__ = worker.name
    subscribe(broker, worker, entry, consumer="any", page=1)


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().splitlines()[0]


if __name__ == "__main__":
    print(document())
