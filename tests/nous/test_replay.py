"""A replay of what was recorded, as it was applied, is the live store again: row for row, whatever the number of replicas was."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

import workers
from events import Event, FactLearned, encode
from nous import embedded
from nous.replaying.tally import Tally
from providers.mind import Judgement, Pair
from store import censors, outbox, retries
from store.database import Database
from tests.conftest import until
from tests.factories import (
    NOON,
    a_censor,
    a_censor_triggered,
    a_decision_recorded,
    a_decision_reviewed,
    a_fact_learned,
    a_memory_recalled,
    a_memory_referenced,
    a_procedure_learned,
    a_procedure_used,
)
from tests.nous.living import Replaying, alike, dump
from tests.workers.episodes import WritingMind, a_fact
from tests.workers.episodes import closed as an_episode_told
from workers.runtime import streams
from workers.runtime.app import Process
from workers.runtime.worker import Kit

AGENTS = ("ada", "bo")
RELATIONS = ("compatible", "compatible", "compatible", "same", "refines", "updates", "contradicts", "unsure")
PLACES = ("Oslo", "Bergen", "Rome", "Turin", "Lyon", "Nice", "Bern", "Basel", "Graz", "Linz", "Turku", "Cork", "Bath", "York", "Ulm")


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
    for number in range(18):
        content = f"{dice.choice(['Maria', 'Ken', 'The office'])} has {dice.choice(['moved', 'stayed', 'called'])} {PLACES[number % 15]}."
        at = NOON + timedelta(minutes=dice.randrange(10_000))
        subject = content.split(" has")[0]
        told.append(a_fact_learned(agent_id=agent, content=content, subject=subject, occurred_at=at, fact_id=_id(agent, content)))
    told += [first.model_copy(update={"event_id": f"{first.event_id} again"}) for first in told[:3]]
    told += [a_censor_triggered(agent_id=agent, censor_id=_id(agent, "censor"), was_blocked=False) for _ in range(7)]
    decision = a_decision_recorded(agent_id=agent)
    told += [decision, a_decision_reviewed(agent_id=agent, decision_id=decision.decision_id, outcome="success")]
    procedure = a_procedure_learned(agent_id=agent)
    told += [procedure, a_procedure_used(agent_id=agent, procedure_id=procedure.procedure_id)]
    talk = f"User: I live in {agent} town. I only drink tea.\nAssistant: Noted."
    told.append(an_episode_told(talk, agent_id=agent, episode_id=_id(agent, "talk"), event_id=f"{agent} talks"))
    ids = [one.fact_id for one in told if isinstance(one, FactLearned)]
    for _ in range(4):
        named = [{"kind": "fact", "id": one} for one in dice.sample(ids, 3)]
        told.append(a_memory_recalled(agent_id=agent, memories=named))
        told.append(a_memory_referenced(agent_id=agent, memories=[{**named[0], "how": "cited"}], compared=named))
    dice.shuffle(told)
    return told


def _id(*parts: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, "|".join(parts))


async def warned(database: Database) -> None:
    """Give each agent the censor that is tripped."""
    for agent in AGENTS:
        async with database.write([agent]) as db:
            await censors.insert(db, a_censor(agent_id=agent, censor_id=_id(agent, "censor"), escalation_threshold=5))


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
        await warned(kit.database)
        async with replicas(count, kit, stack):
            for event in told:
                await redis.xadd(event.stream, {"data": encode(event)})
            for _ in range(2):
                await until(lambda: is_settled(kit, redis), within_s=60, what="everything worked")

    return run


@pytest.mark.parametrize("count", [1, 4])
async def test_replayed_as_applied_it_is_the_same_store_row_for_row_and_the_second_time_too(
    database_url, lived, replaying: Replaying, count
):
    dice = random.Random(count)
    told = [event for agent in AGENTS for event in a_life(agent, dice)]
    dice.shuffle(told)
    await lived(count, told)
    there = await dump(database_url)
    assert {row["outcome"] for row in there["bus.receipts"]} >= {"stored", "confirmed", "superseded", "merged", "escalated", "summarized"}
    for _ in range(2):
        again = await replaying(prepared=warned)
        await alike(database_url, again)
        assert again.tally == Tally(fed=len(told), receipts=len(there["bus.receipts"]), embedded=again.tally.embedded)
