"""The look that all browsers share: taken when one asks, at most once a second, so ten cost as much as one.

/live ──▶ seen within a second? told again ── else: one look; totals and what streams hold are looked at less often
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from redis.asyncio import Redis

import workers
from nous import clock
from nous.errors import NousError
from nous.settings import Settings
from store import totals
from store.database import Database
from workers.runtime import retention
from workers.runtime.look import Look, Unsure, look, unsure
from workers.runtime.retention import Kept

LOOK_EVERY_S = 1.0
STREAMS_EVERY_S = 5.0
COUNT_EVERY_S = 60.0
LOOK_LIMIT_S = 5.0
COUNT_LIMIT_S = 3.0

Totals = dict[str, tuple[int | None, bool]]
T = TypeVar("T")


@dataclass(frozen=True)
class Seen:
    """What was seen, and when. `totals` are active facts, episodes and agents, each with whether it is exact; empty when uncounted."""

    at: datetime
    look: Look
    streams: Sequence[Kept]
    totals: Totals


class Glance:
    """Looks for one process."""

    def __init__(self, settings: Settings, database: Database, redis: Redis) -> None:
        self._settings = settings
        self._database = database
        self._redis = redis
        self._seen = Remembered(self._look, LOOK_EVERY_S, LOOK_LIMIT_S)
        self._kept = Remembered(self._streams, STREAMS_EVERY_S, LOOK_LIMIT_S)
        self._counts = Remembered(self._count, COUNT_EVERY_S, COUNT_LIMIT_S)

    async def now(self) -> Seen:
        """What was seen within the last second. Raises Outage, Contended and TimeoutError."""
        return await self._seen.get()

    async def _look(self) -> Seen:
        seen = await look(self._settings, self._database, self._redis)
        kept = await self._kept.get()
        try:
            counted, undecided = await self._counts.get()
        except (NousError, TimeoutError):  # dear, and nobody's first concern
            counted, undecided = {}, Unsure()
        return Seen(clock.now(), undecided.told_in(seen), kept, counted)

    async def _streams(self) -> Sequence[Kept]:
        return await retention.kept(self._redis, workers.consumers(), keep_s=self._settings.stream_keep_s)

    async def _count(self) -> tuple[Totals, Unsure]:
        async with self._database.overview() as db:
            return await totals.counted(db), await unsure(db)


class Remembered(Generic[T]):
    """What was seen last, or what kept it from being seen: either is told again until it is too old."""

    def __init__(self, see: Callable[[], Awaitable[T]], every_s: float, limit_s: float) -> None:
        self._see = see
        self._every_s = every_s
        self._limit_s = limit_s
        self._one_at_a_time = asyncio.Lock()
        self._last: asyncio.Future[Any] | None = None
        self._at = float("-inf")

    async def get(self) -> T:
        """What was seen within the last `every_s`. Raises what looking raised, TimeoutError when it took too long."""
        async with self._one_at_a_time:
            if self._last is None or time.monotonic() >= self._at + self._every_s:
                self._last = asyncio.ensure_future(self._in_time())
                await asyncio.wait({self._last})
                self._at = time.monotonic()
            last: asyncio.Future[T] = self._last
        return last.result()

    async def _in_time(self) -> T:
        async with asyncio.timeout(self._limit_s):
            return await self._see()
