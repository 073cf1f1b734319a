"""A memory whose conversations have aged is replayed to the same memory, though their words are at hand no more."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from events import EpisodeThawed, MaintenanceDue
from nous import clock, ids
from nous.replaying.tally import Tally
from recall import sessions
from recall.tools import Tools
from store import episodes, passages
from store.episodes import Episode
from tests.factories import a_memory_recalled, an_id
from tests.nous.living import Living, Replaying, alike
from tests.workers.ageing import BEGAN, SENTENCES
from tests.workers.conftest import ScriptedEmbedder
from tests.workers.episodes import DRINKS, LIVES, OSLO, TEA, WritingMind, closed
from workers.runtime.worker import Kit

A, DAY = "agent-1", timedelta(days=1)


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind(LIVES, DRINKS)


@pytest.fixture
def kit(kit: Kit, mind: WritingMind) -> Kit:
    return replace(kit, embedder=ScriptedEmbedder(), mind=mind)


@pytest.fixture
def living(kit: Kit, redis: Redis) -> Living:
    return Living(kit, redis)


async def spoke(living: Living, session: str, told: Sequence[tuple[str, str]]) -> None:
    """A conversation that was reported turn by turn, and closed."""
    tools = Tools(living.kit.database, living.kit.embedder, living.kit.settings)
    for at, (said, answered) in enumerate(told):
        moment = BEGAN + timedelta(minutes=at)
        await sessions.start_turn(tools, A, session, said, at=moment, turn_id=f"t{at}")
        await sessions.end_turn(tools, A, session, answered, at=moment, turn_id=f"t{at}")
    await living.send((await sessions.end_session(tools, A, session, at=BEGAN + timedelta(hours=1))).letters)


async def upkeep(living: Living, task: str, *, days: float) -> None:
    """As the clock begins it."""
    fields = {"event_id": str(ids.new()), "agent_id": A, "occurred_at": BEGAN + days * DAY, "task": task, "period": f"{days}"}
    await living.live(MaintenanceDue.model_validate(fields))


async def thaw(living: Living, episode: Episode, *, days: float) -> None:
    at = BEGAN + days * DAY
    fields = {"event_id": str(ids.new()), "agent_id": A, "occurred_at": at, "episode_id": episode.episode_id}
    await living.decide(EpisodeThawed.model_validate({**fields, "until": at + 30 * DAY, "reason": "she asks"}))


async def lived(living: Living) -> None:
    """Two conversations, one reported and one told, and facts of both."""
    long = [(f"{OSLO} {SENTENCES * 4}", f"Noted. {SENTENCES * 4}"), *((f"{at}. {SENTENCES * 4}", SENTENCES * 3) for at in range(8))]
    await spoke(living, "chat", [*long, (f"{SENTENCES * 3} {TEA}", "Noted.")])
    await living.live(
        closed(f"User: {TEA} {SENTENCES * 30}\nAssistant: Noted. {SENTENCES * 20}", occurred_at=BEGAN, started_at=BEGAN, event_id="told")
    )


async def all_of(kit: Kit) -> list[Episode]:
    async with kit.database.read([A]) as db:
        return await episodes.listed(db, agent=A, inactive=True, limit=None)


def as_it_went(tally: Tally) -> bool:
    return tally.is_whole and not (tally.otherwise or tally.extra or tally.missing or tally.unasked)


async def replayed(replaying: Replaying, database_url: str) -> dict[str, list[Any]]:
    again = await replaying(embedder=ScriptedEmbedder())
    held = await alike(database_url, again)
    assert as_it_went(again.tally), again.tally
    return held


async def test_what_was_trimmed_is_read_whole_trimmed_and_put_away_again(living, kit, database_url, replaying: Replaying):
    await lived(living)
    await upkeep(living, "episodes", days=31)
    assert {one.aged for one in await all_of(kit)} == {"trimmed"}
    held = await replayed(replaying, database_url)
    assert len(held["heart.transcripts_cold"]) == 2
    assert {row["content"] for row in held["heart.facts"]} == {"Maria lives in Oslo.", "Maria drinks only green tea."}


async def test_archived_thawed_used_and_archived_once_more(living, kit, database_url, replaying: Replaying):
    await lived(living)
    await upkeep(living, "episodes", days=31)
    await upkeep(living, "episodes", days=91)
    first, other = await all_of(kit)
    assert (first.aged, other.aged) == ("archived", "archived")
    await thaw(living, first, days=92)
    passage = passages.id_of(A, first.episode_id, 1)
    await living.live(a_memory_recalled(agent_id=A, memories=({"kind": "passage", "id": passage},), recall_id=an_id()))
    await upkeep(living, "episodes", days=100)
    assert sorted(str(one.aged) for one in await all_of(kit)) == ["None", "archived"]
    held = await replayed(replaying, database_url)
    assert [(row["kind"], row["retrieved"]) for row in held["heart.memory_usage"]] == [("passage", 1)]
    await upkeep(living, "episodes", days=123)
    held = await replayed(replaying, database_url)
    assert held["heart.turns"] == []
    assert [(row["kind"], row["retrieved"]) for row in held["heart.memory_usage"]] == [("passage", 1)]
    assert str(passage) in {row["passage_id"] for row in held["heart.passages"]}, "it is found by what was said in it still"
    assert {row["outcome"] for row in held["bus.receipts"]} >= {"trimmed", "archived", "thawed", "planned"}


async def test_one_that_was_read_first_and_then_trimmed(living, kit, mind, database_url, replaying: Replaying):
    mind.fields["summary"] = "Too short."
    await lived(living)
    mind.fields["summary"] = "Maria told the assistant that she lives in Oslo, and of the harbour there."
    await upkeep(living, "episodes", days=31)
    await upkeep(living, "episodes", days=32)
    assert {one.aged for one in await all_of(kit)} == {"trimmed"}
    held = await replayed(replaying, database_url)
    assert {row["outcome"] for row in held["bus.receipts"] if row["worker"] == "episode_ager"} == {"asked", "trimmed"}


async def test_what_was_let_go_of_is_as_it_came_to_be_though_nobody_can_read_it_again(living, kit, database_url, replaying: Replaying):
    await lived(living)
    await upkeep(living, "episodes", days=31)
    await upkeep(living, "episodes", days=91)
    await upkeep(living, "transcripts", days=31 + 365)
    held = await replayed(replaying, database_url)
    assert held["heart.transcripts_cold"] == held["heart.turns"] == []
    assert {row["summary"] for row in held["heart.episodes"]} == {mind_summary()}
    assert {row["content"] for row in held["heart.facts"]} == {"Maria lives in Oslo.", "Maria drinks only green tea."}


def mind_summary() -> str:
    return str(WritingMind().fields["summary"])


async def test_of_one_that_was_let_go_of_the_others_are_done_again(living, kit, database_url, replaying: Replaying):
    await lived(living)
    await upkeep(living, "episodes", days=91)
    first, _ = await all_of(kit)
    await thaw(living, first, days=92)
    await upkeep(living, "transcripts", days=91 + 365)
    await upkeep(living, "episodes", days=91 + 366)
    held = await replayed(replaying, database_url)
    assert len(held["heart.transcripts_cold"]) == 1
    assert {row["aged"] for row in held["heart.episodes"]} == {"archived"}


async def test_by_time_what_was_let_go_of_is_taken_as_it_is_and_its_facts_are_told(living, kit, database_url, replaying: Replaying):
    with clock.held(clock.now()):
        await lived(living)
    await upkeep(living, "episodes", days=91)
    await upkeep(living, "transcripts", days=91 + 365)
    again = await replaying(embedder=ScriptedEmbedder(), order="occurred")
    async with again.database.read([A]) as db:
        kept = await episodes.listed(db, agent=A, inactive=True, limit=None)
    assert {one.summary for one in kept} == {mind_summary()}
