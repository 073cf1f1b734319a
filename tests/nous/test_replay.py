"""A replay of what was recorded, as it was applied, is the live store again: row for row, whatever the number of replicas was."""

import asyncio
import json
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import workers
from events import Event, encode
from nous import clock, embedded
from nous.replaying import difference
from nous.replaying.recorded import RecordedEmbedder, RecordedMind
from nous.replaying.replay import Made, Order, Replay, Tally, Wanted
from providers.mind import Judgement, Pair
from providers.zero import ZeroEmbedder
from store import archive, censors, embedders, outbox, receipts, retries
from store.database import Database
from tests.conftest import until
from tests.factories import (
    NOON,
    a_censor,
    a_censor_triggered,
    a_decision_recorded,
    a_decision_reviewed,
    a_fact_learned,
    a_procedure_learned,
    a_procedure_used,
)
from tests.workers.episodes import WritingMind, a_fact
from tests.workers.episodes import closed as an_episode_told
from workers.runtime import streams
from workers.runtime.app import Process
from workers.runtime.worker import Kit

AGENTS = ("ada", "bo")
RELATIONS = ("compatible", "compatible", "compatible", "same", "refines", "updates", "contradicts", "unsure")
CLOCKED = ("recorded_at", "created_at", "recorded_from", "recorded_to", "heard_at", "relaxed_at")
COMPARED = {
    "heart.facts": "fact_id",
    "heart.fact_mentions": "event_id",
    "heart.relations": "low_key, high_key",
    "heart.censors": "censor_id",
    "heart.episodes": "episode_id",
    "heart.episode_decisions": "episode_id, decision_id",
    "heart.procedures": "procedure_id",
    "brain.decisions": "decision_id",
    "heart.sessions": "session_key",
    "heart.turns": "session_key, position",
    "bus.receipts": "seq",
}


class Moody(WritingMind):
    """Says of any two texts what follows from their letters, takes its time, and takes facts from conversations."""

    def __init__(self, *facts: dict[str, Any]) -> None:
        super().__init__(*facts)
        self.dice = random.Random(7)

    async def ask(self, question: Any) -> Any:
        await asyncio.sleep(self.dice.uniform(0, 0.05))
        return await super().ask(question)

    def _judged(self, number: int, pair: Pair) -> Judgement:
        older, newer = pair.older.content, pair.newer.content
        relation: Any = RELATIONS[uuid.uuid5(uuid.NAMESPACE_URL, "|".join(sorted((older, newer)))).int % len(RELATIONS)]
        return Judgement(pair=number, relation=relation, richer="newer" if relation == "refines" else None, reason="as it says")


def a_life(agent: str, dice: random.Random) -> list[Event]:
    """What one agent publishes: facts about few subjects, some of them twice, a conversation, warnings, decisions, procedures."""
    told: list[Event] = []
    for number in range(25):
        content = f"{dice.choice(['Maria', 'Ken', 'The office'])} has {dice.choice(['moved', 'stayed', 'called'])} {number % 19}."
        at = NOON + timedelta(minutes=dice.randrange(10_000))
        subject = content.split(" has")[0]
        told.append(a_fact_learned(agent_id=agent, content=content, subject=subject, occurred_at=at, fact_id=_id(agent, content)))
    told += [a_censor_triggered(agent_id=agent, censor_id=_id(agent, "censor"), was_blocked=False) for _ in range(7)]
    decision = a_decision_recorded(agent_id=agent)
    told += [decision, a_decision_reviewed(agent_id=agent, decision_id=decision.decision_id, outcome="success")]
    procedure = a_procedure_learned(agent_id=agent)
    told += [procedure, a_procedure_used(agent_id=agent, procedure_id=procedure.procedure_id)]
    talk = f"User: I live in {agent} town. I only drink tea.\nAssistant: Noted."
    told.append(an_episode_told(talk, agent_id=agent, episode_id=_id(agent, "talk"), event_id=f"{agent} talks"))
    dice.shuffle(told)
    return told


def _id(*parts: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, "|".join(parts))


@asynccontextmanager
async def replicas(count: int, kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    stop = asyncio.Event()
    made = [Process(list(workers.table().values()), kit, stack.redis_url, archives=True) for _ in range(count)]
    running = [asyncio.create_task(one.run(stop)) for one in made]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*running)


async def is_settled(kit: Kit, redis: Redis) -> bool:
    for stream, names in workers.consumers().items():
        for name in (*names, streams.ARCHIVIST):
            state = await streams.group_state(redis, stream, name)
            if state.lag or state.pending:
                return False
    async with kit.database.overview() as db:
        return not await retries.waiting(db) and not await outbox.count_unpublished(db)


Live = Callable[[int, Sequence[Event]], Awaitable[None]]


@pytest.fixture
def kit(kit: Kit) -> Kit:
    mind = Moody(a_fact("Somebody drinks only tea.", "I only drink tea."), a_fact("Somebody lives in a town.", "I live in ada town."))
    settings = kit.settings.model_copy(update={"page": 16, "time_limit_s": 20.0})
    return replace(kit, mind=mind, settings=settings)


@pytest.fixture
def lived(kit: Kit, redis: Redis, stack: embedded.Stack) -> Live:
    """Publish these and let so many replicas work them until nothing is left."""

    async def run(count: int, told: Sequence[Event]) -> None:
        for agent in AGENTS:
            async with kit.database.write([agent]) as db:
                await censors.insert(db, a_censor(agent_id=agent, censor_id=_id(agent, "censor"), escalation_threshold=5))
        async with replicas(count, kit, stack):
            for event in told:
                await redis.xadd(event.stream, {"data": encode(event)})
            for _ in range(2):
                await until(lambda: is_settled(kit, redis), within_s=60, what="everything worked")

    return run


async def replayed(live: Database, fresh_url: str, kit: Kit, *, order: Order = "applied", **over: Any) -> tuple[Database, Tally, list[Made]]:
    """Replay every agent into this empty store."""
    fresh, tally, made = Database(fresh_url, pool=3), Tally(), list[Made]()
    async with live.overview() as db:
        active, agents = await embedders.active(db), await archive.agents(db)
    settings = over.pop("settings", kit.settings)
    for agent in agents:
        embedder = RecordedEmbedder(over.get("embedder", ZeroEmbedder()), live, active.table, agent, tally)
        mind = RecordedMind({"relation": "scripted", "writing": "scripted"}, tally)
        inside = Kit(database=fresh, embedder=embedder, registered=active, settings=settings, mind=mind)
        async with fresh.write([agent]) as db:
            await censors.insert(db, a_censor(agent_id=agent, censor_id=_id(agent, "censor"), escalation_threshold=5))
        await Replay(agent, live, inside, over.get("wanted", Wanted()), tally, on_made=made.append).run(order)
    return fresh, tally, made


async def dump(url: str) -> dict[str, list[Any]]:
    """Everything that is compared, without the times at which it was written down and what it cost."""
    connection = await asyncpg.connect(url)
    found = {}
    for table, order in COMPARED.items():
        rows = await connection.fetch(f"SELECT to_jsonb(t)::text AS row FROM {table} t ORDER BY agent_id, {order}")
        found[table] = [_bare(json.loads(row["row"])) for row in rows]
    await connection.close()
    return found


def _bare(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name not in CLOCKED}
    if isinstance(kept.get("evidence"), dict):
        free = ("tokens_in", "tokens_out", "milliseconds")
        kept["evidence"] = {name: value for name, value in kept["evidence"].items() if name not in free}
    return kept


@pytest.fixture
async def another(stack: embedded.Stack, template: str) -> AsyncIterator[Callable[[], Awaitable[str]]]:
    from tests.conftest import a_database

    opened = []

    async def make() -> str:
        one = a_database(stack, template)
        opened.append(one)
        return await one.__aenter__()

    yield make
    for one in opened:
        await one.__aexit__(None, None, None)


@pytest.mark.parametrize("count", [1, 4])
async def test_replayed_as_applied_it_is_the_same_store_row_for_row_and_the_second_time_too(kit, database_url, lived, another, count):
    dice = random.Random(count)
    told = [event for agent in AGENTS for event in a_life(agent, dice)]
    dice.shuffle(told)
    await lived(count, told)
    there = await dump(database_url)
    assert {row["outcome"] for row in there["bus.receipts"]} >= {"stored", "confirmed", "superseded", "escalated", "summarized"}
    assert any(row["merged_into"] for row in there["heart.facts"])
    for _ in range(2):
        url = await another()
        fresh, tally, _made = await replayed(kit.database, url, kit)
        await fresh.close()
        assert (tally.absent, tally.waiting, tally.failed, tally.unasked, tally.extra, tally.otherwise) == ([], [], [], [], 0, 0)
        here = await dump(url)
        for table in COMPARED:
            assert here[table] == there[table], table
