"""What tests of replays share: a memory that lives without a process, its replay, and everything that is compared of the two.

told ─▶ streams ─▶ archived, and worked by hand until nothing is left ─▶ replayed into another database ─▶ dumped, both
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import events
import workers
from events import Event, encode
from nous import clock, embedded, people
from nous.replaying import replay
from nous.replaying.recorded import RecordedEmbedder, RecordedMind
from nous.replaying.replay import Order
from nous.replaying.tally import Made, Tally
from nous.replaying.wanted import Wanted
from nous.settings import Settings
from providers.mind import Mind
from providers.zero import ZeroEmbedder
from store import archive, embedders
from store.archive import Archived
from store.database import Database
from store.outbox import Letter
from tests.conftest import a_database
from workers.runtime.alone import Alone
from workers.runtime.archivist import Archivist
from workers.runtime.life import Life
from workers.runtime.streams import Entry
from workers.runtime.sweep import announce
from workers.runtime.worker import Kit

CLOCKED = ("recorded_at", "created_at", "recorded_from", "recorded_to", "heard_at", "relaxed_at", "reinstated_at", "put_at")
COSTS = ("tokens_in", "tokens_out", "milliseconds", "attempts", "was_parked", "retried_at")
COMPARED = {
    "heart.facts": "fact_id",
    "heart.fact_mentions": "event_id",
    "heart.relations": "low_key, high_key",
    "heart.censors": "censor_id",
    "heart.episodes": "episode_id",
    "heart.episode_decisions": "episode_id, decision_id",
    "heart.procedures": "procedure_id",
    "heart.old_notes": "procedure_id, event_id",
    "brain.decisions": "decision_id",
    "heart.memory_usage": "kind, memory_id",
    "heart.passages": "passage_id",
    "heart.sessions": "session_key",
    "heart.turns": "session_key, position",
    "heart.turns_known": "session_key, turn_id, speaker",
    "heart.transcripts_cold": "episode_id",
    "bus.receipts": "seq",
}


@dataclass
class Living:
    """Every worker and the archivist, worked by hand."""

    kit: Kit
    redis: Redis
    read: dict[str, str] = field(default_factory=dict)
    passed: timedelta = timedelta()

    def __post_init__(self) -> None:
        self.lives = {name: Life(one, self.kit, self.redis, "by-hand") for name, one in workers.table().items()}
        self.archivist = Archivist(self.kit, self.redis, "by-hand", workers.consumers())

    async def live(self, *told: Event) -> None:
        """Say these one after another, each worked to its end."""
        for event in told:
            await self.say(event.stream, encode(event))
            await self.settle()

    async def say(self, stream: str, body: bytes | str, entry_id: str = "*") -> str:
        """Add an entry, and work nothing yet."""
        added: bytes = await self.redis.xadd(stream, {"data": body}, id=entry_id)
        return added.decode()

    async def decide(self, event: Event) -> None:
        """What a person decides, as the commands do it."""
        vector = await people.vector_of(self.kit.database, self.kit.embedder, event)
        async with self.kit.database.write([event.agent_id]) as db:
            decided = await people.decide(db, event, table=self.kit.registered.table, vector=vector)
        await self.send(decided.letters)

    async def send(self, letters: Sequence[Letter]) -> None:
        """Send what was committed, and work it."""
        await announce(self.kit.database, self.redis, letters)
        await self.settle()

    async def settle(self) -> None:
        """Work what is in the streams, and what waits and is due."""
        while any([await self._work(stream) for stream in events.CATALOGUE]):
            pass

    async def pass_(self, time: timedelta) -> None:
        """So much later: what waited is due."""
        self.passed += time
        with clock.held(clock.now() + self.passed):
            for life in self.lives.values():
                while await Alone(life).work_together() or await Alone(life).work_one():
                    pass
        await self.settle()

    async def _work(self, stream: str) -> bool:
        found = await self.redis.xrange(stream, min=f"({self.read.get(stream, '0')}")
        entries = [Entry(entry_id.decode(), fields) for entry_id, fields in found]
        if not entries:
            return False
        self.read[stream] = entries[-1].entry_id
        await self.archivist.keep({stream: entries})
        for name in workers.consumers().get(stream, ()):
            await self.lives[name].work(entries)
            while await Alone(self.lives[name]).work_one():
                pass
        return True


@dataclass
class Replayed:
    """A replay of everybody: its store, what it told, and each decision."""

    database: Database
    url: str
    tally: Tally
    made: list[Made]


Replaying = Callable[..., Awaitable[Replayed]]


@pytest.fixture
async def replaying(kit: Kit, stack: embedded.Stack, template: str) -> AsyncIterator[Replaying]:
    """Replays everybody into an empty store of its own."""
    async with AsyncExitStack() as opened:

        async def run(
            *,
            order: Order = "applied",
            wanted: Wanted | None = None,
            settings: Settings | None = None,
            mind: Mind | None = None,
            model: str = "scripted",
            embedder: Any = None,
            roots: dict[str, list[Archived]] | None = None,
            prepared: Callable[[Database], Awaitable[None]] | None = None,
        ) -> Replayed:
            url = await opened.enter_async_context(a_database(stack, template))
            fresh, tally, made = Database(url, pool=3), Tally(), list[Made]()
            opened.push_async_callback(fresh.close)
            if prepared:
                await prepared(fresh)
            async with kit.database.overview() as db:
                active, agents = await embedders.active(db), await archive.agents(db)
            for agent in agents:
                inside = Kit(
                    database=fresh,
                    embedder=RecordedEmbedder(embedder or ZeroEmbedder(), kit.database, active.table, agent, tally),
                    registered=active,
                    settings=settings or kit.settings,
                    mind=RecordedMind({"relation": model, "writing": model}, tally, real=mind),
                )
                given = None if roots is None else roots.get(agent, [])
                await replay.run(agent, kit.database, inside, wanted or Wanted(), tally, order=order, roots=given, on_made=made.append)
            return Replayed(fresh, url, tally, made)

        yield run


async def dump(url: str) -> dict[str, list[Any]]:
    """Everything that is compared: without the times at which it was written down, what it cost, and holes in the numbers of receipts."""
    connection = await asyncpg.connect(url)
    found = {}
    for table, order in COMPARED.items():
        rows = await connection.fetch(f"SELECT to_jsonb(t)::text AS row FROM {table} t ORDER BY agent_id, {order}")
        found[table] = [_bare(json.loads(row["row"])) for row in rows]
    await connection.close()
    numbers: dict[tuple[str, int], int] = {}
    for row in found["bus.receipts"]:
        number = 1 + max((at for (agent, _), at in numbers.items() if agent == row["agent_id"]), default=0)
        numbers[row["agent_id"], row["seq"]] = row["seq"] = number
    for row in found["bus.receipts"]:
        if "seen" in row["evidence"]:
            seen = max(
                (at for (agent, seq), at in numbers.items() if agent == row["agent_id"] and seq <= row["evidence"]["seen"]), default=0
            )
            row["evidence"]["seen"] = seen
    return found


def _bare(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in CLOCKED}
    if isinstance(kept.get("evidence"), dict):
        kept["evidence"] = {name: value for name, value in kept["evidence"].items() if name not in COSTS}
    return kept


async def alike(live_url: str, replayed: Replayed) -> dict[str, list[Any]]:
    """Fails where the two differ; gives what both hold."""
    there, here = await dump(live_url), await dump(replayed.url)
    for table in COMPARED:
        assert here[table] == there[table], table
    return here
