"""Redis, as those who serve reach it: within about a second, or not at all for a while.

    letters ─▶ failed a moment ago? ─┬─ no ──▶ asked, for PATIENCE_S ─┬─ it has them
                                     │                                └─ Outage, and for QUIET_S nobody asks
                                     └─ yes ─▶ Outage at once; when QUIET_S are over one asks, and the others once that was answered

A worker waits for Redis as long as it takes; whoever is being answered does not. What Redis took when nobody waited for it any longer
stands there under the same event ids as what is published later, so it has no second effect.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog
from redis.asyncio import Redis

from nous.errors import Outage
from store.outbox import Letter
from workers.runtime import streams

PATIENCE_S = 1.0
QUIET_S = 5.0
SLOWEST_BYTES_PER_S = 4_000_000  # of a large batch on its way, beside the patience

log = structlog.get_logger()


class Broker:
    """Redis, which may be away or silent."""

    def __init__(self, redis: Redis, *, patience_s: float = PATIENCE_S, quiet_s: float = QUIET_S) -> None:
        self._redis = redis
        self._patience_s = patience_s
        self._quiet_s = quiet_s
        self._quiet_until = 0.0

    async def append(self, letters: Sequence[Letter]) -> None:
        """Publish these in one round trip. Raises Outage."""
        if letters:
            size = sum(len(one.body) for one in letters)
            async with self._asked(self._patience_s + size / SLOWEST_BYTES_PER_S) as redis:
                await streams.append(redis, [(one.stream, one.agent_id, one.body) for one in letters])

    @asynccontextmanager
    async def reached(self) -> AsyncIterator[Redis]:
        """The client, for work that takes longer, once Redis has answered. Raises Outage."""
        async with self._asked(self._patience_s) as redis, streams.reachable():
            await redis.ping()
        yield self._redis

    @asynccontextmanager
    async def _asked(self, within_s: float) -> AsyncIterator[Redis]:
        """Ask it, for the block. Raises Outage when that takes longer, and at once when it failed a moment ago."""
        now = time.monotonic()
        if now < self._quiet_until:
            raise Outage("Redis", f"it failed a moment ago, and is asked again in {self._quiet_until - now:.0f} s")
        if self._quiet_until:
            self._quiet_until = now + within_s  # the others wait for what this one finds
        try:
            async with asyncio.timeout(within_s):
                yield self._redis
        except (TimeoutError, Outage) as error:
            away = error if isinstance(error, Outage) else Outage("Redis", f"no answer within {within_s:.3g} s")
            self._quiet_until = time.monotonic() + self._quiet_s
            log.warning("redis.unreached", reason=str(away), quiet_s=self._quiet_s, next="asked again by itself; look whether Redis runs")
            raise away from error
        self._quiet_until = 0.0
