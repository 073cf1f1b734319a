"""What the measured processes stand on: a stack of its own, its settings as in production, and a stopwatch.

    publish ──XADD──▶ stream ──▶ the process under test ──▶ receipts ──XACK──▶ `through` says how long it took

An event is acknowledged after its receipt is committed, so waiting for the acknowledgements is waiting a little longer than was asked.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from uuid import UUID

import asyncpg
from redis.asyncio import Redis

from events import FactLearned, derived, encode, publish
from nous import clock, embedded
from providers import Embedder
from store.migrate import migrate
from workers.runtime import streams

from .sentences import sentences

GROUP = "deduplicator"
LOOK_EVERY_S = 0.02
TOO_LONG_S = 120.0
PER_AGENT = 100


@dataclass
class Stand:
    """The stack, and the sentences that are left. Every agent is used once, so each run finds memory as empty as the one before."""

    stack: embedded.Stack
    redis: Redis
    _sentences: Iterator[str] = field(default_factory=lambda: sentences(seed=2))
    _agents: Iterator[int] = field(default_factory=lambda: count(1))
    _databases: Iterator[int] = field(default_factory=lambda: count(1))

    async def database(self, embedder: Embedder) -> str:
        """A database of its own, migrated for this embedder; its URL. What stood in the streams is gone."""
        name = f"bench_{next(self._databases)}"
        await _sql(self.stack.database_url, f"CREATE DATABASE {name}")
        url = f"{self.stack.database_url.rpartition('/')[0]}/{name}"
        await migrate(url, embedder=embedder.name, dimension=embedder.dimension)
        await self.redis.flushall()
        return url

    def events(self, number: int) -> list[FactLearned]:
        """Facts of agents that nobody has heard of, 100 each; the agents take turns, as on a busy stream."""
        agents = [f"agent-{next(self._agents)}" for _ in range(-(-number // PER_AGENT))]
        return [a_fact_learned(agents[i % len(agents)], said) for i, said in enumerate(islice(self._sentences, number))]

    async def through(self, events: Sequence[FactLearned]) -> float:
        """Publish these and wait until each is acknowledged; seconds from the first XADD."""
        bodies = [(event.stream, event.agent_id, encode(event)) for event in events]
        started = time.perf_counter()
        await streams.append(self.redis, bodies)
        async with asyncio.timeout(TOO_LONG_S):
            while (state := await streams.group_state(self.redis, FactLearned.stream, GROUP)).lag or state.pending:
                await asyncio.sleep(LOOK_EVERY_S)
        return time.perf_counter() - started


@asynccontextmanager
async def standing(home: Path) -> AsyncIterator[Stand]:
    """Run the stack for the block, durable as in production."""
    with embedded.running(home, durable=True) as stack:
        redis = Redis.from_url(stack.redis_url)
        try:
            yield Stand(stack, redis)
        finally:
            await redis.aclose()


async def visible(stand: Stand, database_url: str, events: Sequence[FactLearned], *, apart_s: tuple[float, float]) -> AsyncIterator[float]:
    """Publish one at a time, `apart_s` (least, most) after the last one's receipt; seconds from each XADD to its receipt."""
    connection = await asyncpg.connect(database_url)
    chance = random.Random(3)
    try:
        await connection.execute("SET ROLE nous_operator")
        receipt = await connection.prepare("SELECT 1 FROM bus.receipts WHERE agent_id = $1 AND event_id = $2")
        for event in events:
            await asyncio.sleep(chance.uniform(*apart_s))
            started = time.perf_counter()
            await publish(stand.redis, [event])
            async with asyncio.timeout(TOO_LONG_S):
                while await receipt.fetchval(event.agent_id, event.event_id) is None:
                    await asyncio.sleep(0.001)
            yield time.perf_counter() - started
    finally:
        await connection.close()


async def receipts(database_url: str, worker: str = GROUP) -> list[datetime]:
    """When each receipt of the worker was written."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute("SET ROLE nous_operator")
        return [
            at for (at,) in await connection.fetch("SELECT recorded_at FROM bus.receipts WHERE ending = 'done' AND worker = $1", worker)
        ]
    finally:
        await connection.close()


def a_fact_learned(agent: str, said: str) -> FactLearned:
    """That the agent learned what is said."""
    return FactLearned(
        event_id=derived("bench", agent, said),
        fact_id=UUID(derived("bench", "fact", agent, said)),
        agent_id=agent,
        content=said,
        subject=said.split()[0],
        provenance="user_stated",
        confidence=0.8,
        source="bench",
        occurred_at=clock.now(),
    )


async def _sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
