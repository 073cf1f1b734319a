"""A worker without a stream: events go through the whole life of a delivery, fetched by hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from redis.asyncio import Redis

import workers
from events import Event, encode
from nous.settings import Settings
from providers import claude
from providers.claude import ClaudeMind
from providers.mind import A, Judgement, Judgements, Pair, Question, Relation, Reply, Task
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store import facts, receipts, retries
from store.facts import Fact
from store.receipts import Receipt
from tests.conftest import until
from tests.model_server import ModelServer
from workers.runtime.alone import Alone
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


class ScriptedMind(OfflineMind):
    """Says of two texts what it was told, and "compatible" of any others; `broken` is raised instead of an answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.questions = 0
        self.broken: Exception | None = None
        self._told: dict[frozenset[str], tuple[Relation, str | None]] = {}

    def model(self, task: Task) -> str:
        return "scripted"

    def says(self, one: str, relation: Relation, other: str, *, richer: str | None = None) -> None:
        """What it is to say of these two, whichever is older."""
        self._told[frozenset((one, other))] = (relation, richer)

    async def ask(self, question: Question[A]) -> Reply[A]:
        self.questions += 1
        if self.broken:
            raise self.broken
        given: Any = Judgements(judgements=[self._judged(number, pair) for number, pair in enumerate(question.about.pairs, 1)])
        question.check(given)
        return Reply(given, tokens_in=100, tokens_out=10, milliseconds=5)

    def _judged(self, number: int, pair: Pair) -> Judgement:
        older, newer = pair.older.content, pair.newer.content
        self.asked.append((older, newer))
        relation, richer = self._told.get(frozenset((older, newer)), ("compatible", None))
        side: Any = None if richer is None else "older" if richer == older else "newer"
        return Judgement(pair=number, relation=relation, richer=side, reason="as it was told")


@pytest.fixture
def mind() -> ScriptedMind:
    return ScriptedMind()


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def kit(kit: Kit, embedder: ScriptedEmbedder, mind: ScriptedMind) -> Kit:
    return replace(kit, embedder=embedder, mind=mind)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    """A model on loopback, and the environment in which it is asked."""
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    async with ModelServer() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[Callable[..., ClaudeMind]]:
    """Makes minds that ask the server and do not sleep between tries; a new one rests from nothing, as after a restart."""
    made: list[ClaudeMind] = []

    async def pause(_: float) -> None:
        await asyncio.sleep(0)

    def of(**changes: Any) -> ClaudeMind:
        made.append(ClaudeMind.configured(Settings(mind="claude", **{"mind_timeout_s": 5.0, **changes}), pause=pause))
        return made[-1]

    yield of
    for mind in made:
        await mind.close()


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

    async def work_what_waits(self) -> None:
        """Work what waits, each as it falls due, until nothing does."""

        async def nothing_waits() -> bool:
            await Alone(self.life).work_one()
            await Alone(self.life).work_together()
            async with self.kit.database.queue() as db:
                return self.life.worker.name not in await retries.waiting(db)

        await until(nothing_waits, what="nothing waiting")

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
        life = Life(workers.table()[name], kit, redis, "by-hand")
        return Bench(life, kit, redis)

    return make


@pytest.fixture
def deduplicator(bench: Callable[[str], Bench]) -> Bench:
    return bench("deduplicator")


@dataclass
class Memory:
    """The deduplicator and both checkers, worked by hand until nothing is left to do."""

    benches: dict[str, Bench]
    redis: Redis
    read: dict[str, str] = field(default_factory=dict)

    async def learn(self, *events: Event, one_by_one: bool = False) -> None:
        """Work these events and everything that follows from them."""
        for some in [[event] for event in events] if one_by_one else [events]:
            await self.benches["deduplicator"].work(*some)
            await self.settle()

    async def settle(self) -> None:
        """Work what was published and not worked yet."""
        while any([await self._work(bench) for bench in self.benches.values() if bench.life.stream != "fact_learned"]):
            pass

    async def _work(self, bench: Bench) -> bool:
        stream = bench.life.stream
        found = await self.redis.xrange(stream, min=f"({self.read.get(stream, '0')}")
        if found:
            self.read[stream] = found[-1][0].decode()
            await bench.life.work([Entry(entry_id.decode(), fields) for entry_id, fields in found])
        return bool(found)

    async def facts(self, agent: str = "agent-1") -> list[Fact]:
        return await self.benches["deduplicator"].facts(agent)

    async def told(self, agent: str = "agent-1") -> list[str]:
        """Every fact but the merged ones: its words, when it was true, and what retired it."""
        rows = await self.facts(agent)
        words = {fact.fact_id: fact.content for fact in rows}
        return sorted(
            f"{fact.content} {fact.valid_from:%H}-{f'{fact.valid_to:%H}' if fact.valid_to else 'now'}"
            + (f" by {words[fact.superseded_by]}" if fact.superseded_by else "")
            + (f" disputes {words[fact.disputes]}" if fact.disputes else "")
            for fact in rows
            if fact.merged_into is None
        )

    async def outcomes(self, worker: str = "supersession_checker", agent: str = "agent-1") -> list[str]:
        return await self.benches[worker].outcomes(agent)


@pytest.fixture
def memory(bench: Callable[[str], Bench], redis: Redis) -> Memory:
    return Memory({name: bench(name) for name in ("deduplicator", "supersession_checker", "supersession_rechecker")}, redis)


@pytest.fixture
def escalator(bench: Callable[[str], Bench]) -> Bench:
    return bench("censor_escalator")


@pytest.fixture
def summarizer(bench: Callable[[str], Bench]) -> Bench:
    return bench("episode_summarizer")


@pytest.fixture
def resummarizer(bench: Callable[[str], Bench]) -> Bench:
    return bench("episode_resummarizer")


def _axis(number: int) -> NDArray[np.float32]:
    axis = np.zeros(512, dtype=np.float32)
    axis[number] = 1.0
    return axis
