"""A decision belongs to its episode by the same rule whichever of the two is heard of first."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from events import DecisionRecorded
from store import decisions, episodes
from tests.factories import NOON, a_decision, a_decision_recorded, an_episode
from tests.store.conftest import run
from tests.workers.conftest import Bench
from tests.workers.episodes import AGENT, OSLO, WritingMind, closed, reported, rows
from workers.episodes import links
from workers.runtime.worker import Kit

DURING, AFTER = NOON + timedelta(minutes=1), NOON + timedelta(minutes=5)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
LINKS = "SELECT decision_id, how FROM heart.episode_decisions"


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind()


@pytest.fixture
def recorder(bench: Callable[[str], Bench]) -> Bench:
    return bench("decision_recorder")


def recorded(at: datetime = DURING, **over: Any) -> DecisionRecorded:
    return a_decision_recorded(**({"agent_id": AGENT, "occurred_at": at} | over))


ARCHIVE = "Move the archive to object storage"
SAID = {
    "named": recorded(session_id="chat"),
    "session": recorded(session_id="chat"),
    "time": recorded(),
    "mind": recorded(NOON - timedelta(hours=3), description=ARCHIVE),
    "id": recorded(NOON + timedelta(hours=3), description="An unnamed one", session_id="another"),
    "elsewhere": recorded(session_id="another"),
    "long ago": recorded(NOON - timedelta(days=9), description=ARCHIVE),
    "not listed": recorded(NOON - timedelta(hours=2), description="Paint the shed green before May"),
}
NAMES = {one.decision_id: name for name, one in SAID.items()}


async def settled(summarizer: Bench, kit: Kit, mind: WritingMind) -> UUID:
    """Settle an episode of the session "chat" that lasts from noon until five minutes past."""
    mind.fields |= {"decisions": [f"They will {ARCHIVE.lower()}.", f"decision {SAID['id'].decision_id}"]}
    row = await reported(kit, ("user", OSLO))
    named = (SAID["named"].decision_id,)
    await summarizer.work(closed(None, episode_id=row.episode_id, decision_ids=named, occurred_at=AFTER))
    assert await summarizer.outcomes() == ["summarized"]
    return row.episode_id


@pytest.mark.parametrize("is_late", [False, True], ids=["before_it_was_settled", "after_it_was_settled"])
async def test_a_decision_is_linked_alike_before_its_episode_was_settled_and_after(
    recorder: Bench, summarizer: Bench, kit: Kit, mind: WritingMind, is_late: bool
) -> None:
    if not is_late:
        await recorder.work(*SAID.values())
    await settled(summarizer, kit, mind)
    if is_late:
        await recorder.work(*SAID.values())
    found = {NAMES[decision]: how for decision, how in await rows(kit, LINKS)}
    assert found == {"named": "named", "session": "session", "time": "time", "mind": "mind", "id": "mind"}


async def test_the_receipt_of_a_late_decision_says_to_which_episode_it_was_linked_and_how(
    recorder: Bench, summarizer: Bench, kit: Kit, mind: WritingMind
) -> None:
    episode = await settled(summarizer, kit, mind)
    await recorder.work(*SAID.values())
    told = {NAMES[one.about]: one.evidence["episodes"] for one in await recorder.receipts() if one.about}
    new = {name: {str(episode): how} for name, how in {"session": "session", "time": "time", "mind": "mind", "id": "mind"}.items()}
    assert told == {name: {} for name in SAID} | new, "the one its closing named was linked by that"


async def test_a_decision_is_linked_to_no_episode_of_another_agent_and_to_none_that_goes_on(recorder: Bench, kit: Kit) -> None:
    others = [an_episode(agent_id=AGENT), an_episode(agent_id="agent-2", ended_at=AFTER)]
    waits = an_episode(agent_id=AGENT, ended_at=AFTER)
    async with kit.database.write([AGENT, "agent-2"]) as db:
        for one in (*others, waits):
            await episodes.put(db, one)
    await recorder.work(recorded())
    assert await rows(kit, "SELECT episode_id FROM heart.episode_decisions") == [waits.episode_id]


async def test_an_answer_of_a_mind_that_lists_nothing_parks_no_decision(
    recorder: Bench, summarizer: Bench, kit: Kit, mind: WritingMind
) -> None:
    await settled(summarizer, kit, mind)
    async with kit.database.notes([AGENT]) as db:
        await run(db, """UPDATE bus.writings SET answer = '{"decisions": null}'""")
    await recorder.work(recorded())
    assert await recorder.outcomes() == ["recorded"]


# ── the ends of time ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_episode_that_began_with_the_first_moment_there_is_is_settled(summarizer: Bench, kit: Kit, mind: WritingMind) -> None:
    mind.fields |= {"decisions": ["Move the archive."]}
    await summarizer.work(closed(started_at=FIRST))
    assert await summarizer.outcomes() == ["summarized"]


async def test_a_decision_of_the_first_moment_there_is_is_recorded(recorder: Bench) -> None:
    await recorder.work(recorded(FIRST))
    assert await recorder.outcomes() == ["recorded"]


@pytest.mark.parametrize("said", [FIRST, LAST])
async def test_the_first_and_the_last_moment_there_are_have_their_decisions_and_their_episodes(kit: Kit, said: datetime) -> None:
    moment = recorded(said).occurred_at
    episode, decision = an_episode(started_at=moment, ended_at=moment), a_decision(decided_at=moment)
    async with kit.database.write([episode.agent_id]) as db:
        await episodes.put(db, episode)
        await decisions.put(db, [decision])
        kept = await episodes.get(db, episode.agent_id, episode.episode_id)
        assert kept is not None
        assert await links.find(db, kept, named=(), listed=["Anything."]) == {decision.decision_id: "time"}
        assert await links.find_episodes(db, [decision]) == {(decision.agent_id, decision.decision_id): {episode.episode_id: "time"}}
