"""Publishing: one `XADD` an event, many in one round trip. Nothing is acknowledged to the caller before Redis has it."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from .base import Event
from .partitions import key
from .wire import encode


class Pipeline(Protocol):
    """The two calls needed of a Redis pipeline (redis-py's `pipeline(transaction=False)`)."""

    def xadd(self, name: str, fields: Mapping[str, bytes], /) -> object:
        """Queue one entry."""

    async def execute(self) -> list[object]:
        """Send what was queued and return the entry ids in order."""


class Redis(Protocol):
    """What is needed of a client: `redis.asyncio.Redis` and its kin."""

    def pipeline(self, transaction: bool) -> Pipeline:
        """A pipeline without MULTI."""


async def publish(redis: Redis, events: Iterable[Event], *, partitions: int = 0) -> list[str]:
    """Append each event to its stream, in order, in one round trip; returns the entry ids.

    `partitions` is what NOUS_STREAM_PARTITIONS is where the workers run, or less; without it the plain streams are used, which is as well.
    Raises whatever the client raises when Redis is away; what was not acknowledged may be published again, for every event
    carries its id and has one effect.
    """
    pipeline = redis.pipeline(transaction=False)
    for event in events:
        pipeline.xadd(key(event.stream, event.agent_id, partitions), {"data": encode(event)})
    return [entry.decode() if isinstance(entry, bytes) else str(entry) for entry in await pipeline.execute()]
