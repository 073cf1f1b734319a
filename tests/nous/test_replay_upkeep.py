"""What upkeep did to facts and notes, and what people said of it, is done again by a replay, to the same end."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from events import Event, FactPinned, FactReinstated, MaintenanceDue, ProcedureRestored
from nous import clock, ids
from providers.mind import A as Answer
from providers.mind import Notes, Question, Reply
from store import facts, procedures, upkeep_runs
from store.database import Database
from store.facts import Fact
from tests.factories import NOON, a_fact_learned, a_memory_recalled, a_procedure_learned, an_id
from tests.nous.living import Living, Replaying, alike
from tests.workers.conftest import ScriptedEmbedder, ScriptedMind
from workers.runtime.worker import Kit
from workers.upkeep import procedures as upkeep_of_procedures

A, DAY = "a", timedelta(days=1)
START = NOON - 365 * DAY


class Noting(ScriptedMind):
    """Puts all notes together in one."""

    async def ask(self, question: Question[Answer]) -> Reply[Answer]:
        if not isinstance(question.about, Notes):
            return await super().ask(question)
        numbers = list(range(1, len(question.about.notes) + 1))
        return Reply(question.answer.model_validate({"notes": [{"text": "Wait.", "of": numbers, "always": True}]}))


@pytest.fixture
def mind() -> Noting:
    return Noting()


@pytest.fixture
def kit(kit: Kit, mind: Noting) -> Kit:
    settings = kit.settings.model_copy(update={"janitor": "archive"})
    return replace(kit, embedder=ScriptedEmbedder(), mind=mind, settings=settings)


@pytest.fixture
def living(kit: Kit, redis: Redis) -> Living:
    return Living(kit, redis)


async def count_from(database: Database, at: datetime = START - DAY) -> None:
    async with database.switching() as db:
        await upkeep_runs.count_from(db, at)


async def live(living: Living, *events: Event) -> None:
    """Each worked when it happens."""
    for event in events:
        with clock.held(event.occurred_at):
            await living.live(event)


async def decide(living: Living, kind: Any, day: float, **fields: Any) -> None:
    at = START + day * DAY
    with clock.held(at):
        await living.decide(kind.model_validate({"event_id": str(ids.new()), "agent_id": A, "occurred_at": at, "reason": "so"} | fields))


def upkeep(task: str, day: float) -> MaintenanceDue:
    fields = {"event_id": f"{task}-{day}", "agent_id": A, "occurred_at": START + day * DAY, "task": task, "period": f"{day}"}
    return MaintenanceDue.model_validate(fields)


async def rows(kit: Kit) -> dict[str, Fact]:
    async with kit.database.read([A]) as db:
        return {fact.content: fact for fact in await facts.listed(db, agent=A, inactive=True, limit=None)}


async def test_a_memory_that_was_kept_up_is_replayed_to_the_same_memory(living: Living, kit: Kit, database_url: str, replaying: Replaying):
    await count_from(kit.database)
    said = ("Left.", "Found.", "Heard.", "Pinned.", "Wanted.")
    await live(living, *(a_fact_learned(agent_id=A, content=one, occurred_at=START) for one in said))
    known = await rows(kit)
    await decide(living, FactPinned, 1, fact_id=known["Pinned."].fact_id)
    await live(living, upkeep("facts", 100))
    assert {one: fact.demoted_to for one, fact in (await rows(kit)).items()} == dict.fromkeys(said, 0.5) | {"Pinned.": None}
    found = a_memory_recalled(agent_id=A, occurred_at=START + 101 * DAY, memories=[{"kind": "fact", "id": known["Found."].fact_id}])
    await live(living, found, upkeep("facts", 285))
    assert {one for one, fact in (await rows(kit)).items() if fact.archived_at} == {"Left.", "Heard.", "Wanted."}
    await live(living, a_fact_learned(agent_id=A, content="Heard.", occurred_at=START + 186 * DAY))
    await decide(living, FactReinstated, 287, fact_id=known["Wanted."].fact_id)
    assert {one for one, fact in (await rows(kit)).items() if fact.active} == {"Found.", "Heard.", "Pinned.", "Wanted."}
    again = await replaying(embedder=ScriptedEmbedder(), settings=kit.settings, prepared=count_from)
    held = await alike(database_url, again)
    assert sum(row["archived_at"] is not None for row in held["heart.facts"]) == 1
    assert (again.tally.is_whole, again.tally.otherwise, again.tally.missing) == (True, 0, 0)


async def test_notes_that_were_put_together_and_put_back_are_so_again(
    living: Living, kit: Kit, database_url: str, replaying: Replaying, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(upkeep_of_procedures.providers, "writes", lambda _: True)
    noted: Sequence[str] = [f"Note {number}." for number in range(12)]
    one, other = (a_procedure_learned(agent_id=A, procedure_id=an_id(), implementation_notes=noted) for _ in range(2))
    await live(living, one, other, upkeep("procedures", 3))
    await decide(living, ProcedureRestored, 4, procedure_id=one.procedure_id)
    again = await replaying(settings=kit.settings)
    held = await alike(database_url, again)
    assert sorted(len(row["notes"]) for row in held["heart.old_notes"]) == [12, 12]
    async with again.database.read([A]) as db:
        back = await procedures.by_key(db, [(A, one.procedure_id), (A, other.procedure_id)])
    assert [len(back[A, each.procedure_id].implementation_notes) for each in (one, other)] == [12, 1]
    assert (again.tally.otherwise, again.tally.missing, len(again.tally.unasked)) == (0, 0, 0)
