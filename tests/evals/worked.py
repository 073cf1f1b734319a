"""Facts through the workers as they run: a store of its own, the deduplicator and both supersession checkers, until nothing is left to do.

a store for a measurement ──▶ a mind at work ──▶ a wave of facts at once ──▶ everything that follows from them ──▶ the next wave
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

import workers
from events import Event, publish
from nous import embedded, log
from nous.embedded import Stack
from nous.settings import Settings
from providers import Embedder
from providers.mind import Mind
from store.migrate import migrate
from workers.runtime import streams
from workers.runtime.app import Process, kit
from workers.runtime.worker import Kit

from .vectors import Known, look_up

CHAIN = ("deduplicator", "supersession_checker", "supersession_rechecker")
TOO_LONG_S = 600.0
UNLIMITED = 10**12  # tokens


@dataclass(frozen=True)
class Store:
    """A store without facts, and the embedder its vectors are of."""

    stack: Stack
    embedder: Embedder

    @asynccontextmanager
    async def working(self, mind: Mind, *, chain: Sequence[str] = CHAIN, **settings_of: Any) -> AsyncIterator["Work"]:
        """These workers at work with this mind and these settings, for the block."""
        settings = Settings(mind_tokens_per_hour=UNLIMITED, mind_agent_tokens_per_hour=UNLIMITED, **settings_of)
        stop = asyncio.Event()
        async with kit(settings, self.stack.database_url, self.embedder, mind) as made:
            running = asyncio.create_task(Process([workers.table()[name] for name in chain], made, self.stack.redis_url).run(stop))
            redis = Redis.from_url(self.stack.redis_url)
            try:
                yield Work(made, redis, self.stack.database_url, chain)
            finally:
                stop.set()
                await running
                await redis.aclose()


@dataclass(frozen=True)
class Work:
    """Workers at work."""

    kit: Kit
    redis: Redis
    database_url: str
    chain: Sequence[str]

    async def through(self, wave: Sequence[Event]) -> None:
        """Publish these and wait until every worker has done what follows, each after the one it follows."""
        await publish(self.redis, wave)
        async with asyncio.timeout(TOO_LONG_S):
            for name in self.chain:
                stream = workers.table()[name].on.stream
                await streams.ensure_group(self.redis, stream, name)
                while (state := await streams.group_state(self.redis, stream, name)).lag or state.pending:
                    await asyncio.sleep(0.02)


@asynccontextmanager
async def store(chosen: Embedder, texts: Iterable[str]) -> AsyncIterator[Store]:
    """A store for facts in these words, whose vectors are looked up."""
    log.configure(log_format="auto", level="error")
    known = Known(chosen, await look_up(chosen, texts))
    with tempfile.TemporaryDirectory(prefix="nous-eval-") as folder, embedded.running(Path(folder) / "home", durable=False) as stack:
        await migrate(stack.database_url, embedder=known.name, dimension=known.dimension)
        yield Store(stack, known)
