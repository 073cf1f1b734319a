"""A worker without a stream: events go through the whole life of a delivery, fetched by hand."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from redis.asyncio import Redis

import workers
from events import Event, encode
from providers.zero import ZeroEmbedder
from store import facts, receipts
from store.facts import Fact
from store.receipts import Receipt
from workers.runtime.life import Life
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

_entries = count(1)


class ScriptedEmbedder(ZeroEmbedder):
    """Texts are nearly orthogonal, but for those told to be alike: `alike(a, b, 0.97)` puts b at that cosine from a."""

    def __init__(self) -> None:
        super().__init__()
        self.confirm_similarity = 0.95
        self.check_similarity = 0.85
        self.embedded: list[str] = []
        self._scripted: dict[str, NDArray[np.float32]] = {}

    def alike(self, old: str, new: str, cosine: float) -> None:
        """Put `new` at this cosine from `old`."""
        axis = self._scripted.setdefault(old, _axis(len(self._scripted) * 2))
        other = _axis(len(self._scripted) * 2 + 1)
        self._scripted[new] = (cosine * axis + np.sqrt(1 - cosine**2) * other).astype(np.float32)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += texts
        made = await super().embed(texts)
        return np.stack([self._scripted.get(text, row) for text, row in zip(texts, made, strict=True)])


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def kit(kit: Kit, embedder: ScriptedEmbedder) -> Kit:
    return Kit(database=kit.database, embedder=embedder, registered=kit.registered, settings=kit.settings)


@dataclass
class Bench:
    """One worker, worked by hand."""

    life: Life
    kit: Kit
    redis: Redis
    sent: list[Event] = field(default_factory=list)

    async def work(self, *events: Event, pages: int = 1) -> None:
        """Work these events, as one page or cut into several."""
        entries = [Entry(f"1893456000000-{next(_entries)}", {b"data": encode(event)}) for event in events]
        size = -(-len(entries) // pages)
        for start in range(0, len(entries), size):
            await self.life.work(entries[start : start + size])

    async def facts(self, agent: str = "agent-1") -> list[Fact]:
        async with self.kit.database.read([agent]) as db:
            return await facts.listed(db, agent=agent, inactive=True, limit=None)

    async def receipts(self, agent: str = "agent-1") -> list[Receipt]:
        async with self.kit.database.read([agent]) as db:
            return await receipts.of_agent(db, agent, self.life.worker.name)

    async def outcomes(self, agent: str = "agent-1") -> list[str]:
        return [receipt.outcome for receipt in await self.receipts(agent)]

    async def published(self, stream: str) -> list[dict[str, Any]]:
        return [json.loads(fields[b"data"]) for _, fields in await self.redis.xrange(stream)]


@pytest.fixture
def bench(kit: Kit, redis: Redis) -> Callable[[str], Bench]:
    def make(name: str) -> Bench:
        life = Life(workers.table()[name], kit, redis, "by-hand", workers.consumers())
        return Bench(life, kit, redis)

    return make


@pytest.fixture
def deduplicator(bench: Callable[[str], Bench]) -> Bench:
    return bench("deduplicator")


@pytest.fixture
def escalator(bench: Callable[[str], Bench]) -> Bench:
    return bench("censor_escalator")


def _axis(number: int) -> NDArray[np.float32]:
    axis = np.zeros(512, dtype=np.float32)
    axis[number] = 1.0
    return axis
