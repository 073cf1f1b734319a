"""What came of a decision is what its latest review says, in whatever order the reviews arrive."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from events import DecisionReviewed
from tests import factories
from tests.factories import NOON
from tests.workers.conftest import Bench
from tests.workers.kept import DECISION, decision, keep_decision


@pytest.fixture
def reviewer(bench: Callable[[str], Bench]) -> Bench:
    return bench("decision_reviewer")


def a_review(hours: int = 1, **over: Any) -> DecisionReviewed:
    """A review so long after noon."""
    fields = {"agent_id": "agent-1", "decision_id": DECISION, "occurred_at": NOON + timedelta(hours=hours)}
    return factories.a_decision_reviewed(**(fields | over))


async def test_a_review_updates_outcome_note_and_line(reviewer: Bench) -> None:
    await keep_decision(reviewer)
    event = a_review(outcome="partial", note="Slow for vectors.")
    await reviewer.work(event, event)
    kept = await decision(reviewer)
    assert (kept.outcome, kept.outcome_note) == ("partial", "Slow for vectors.")
    assert kept.brief == "Postgres, not SQLite [partial] [80% confidence] — Pattern: Fewer parts"
    assert (kept.reviewed_at, kept.reviewed_by, kept.recorded_by) == (event.occurred_at, event.event_id, event.event_id)
    assert await reviewer.outcomes() == ["reviewed"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_every_order_of_the_same_reviews_ends_in_the_same_decision(reviewer: Bench, order: tuple[int, ...]) -> None:
    await keep_decision(reviewer)
    reviews = [
        a_review(1, event_id="a", outcome="success", note="It holds."),
        a_review(2, event_id="b", outcome="failure", note="It broke."),
        a_review(2, event_id="c", outcome="partial", note="Half of it broke."),
    ]
    for at in order:
        await reviewer.work(reviews[at])
    kept = await decision(reviewer)
    assert (kept.outcome, kept.outcome_note, kept.reviewed_by) == ("partial", "Half of it broke.", "c")
    assert kept.brief == "Postgres, not SQLite [partial] [80% confidence] — Pattern: Fewer parts"


async def test_what_an_outdated_review_said_is_in_its_receipt(reviewer: Bench) -> None:
    await keep_decision(reviewer)
    await reviewer.work(a_review(2, outcome="failure"), a_review(1, outcome="success", note="It holds."))
    _, outdated = await reviewer.receipts()
    assert outdated.outcome == "outdated"
    assert outdated.reason == "what came of it was said later, at 2026-03-01T14:00:00+00:00: failure"
    assert (outdated.evidence["outcome"], outdated.evidence["note"]) == ("success", "It holds.")


async def test_an_outcome_it_was_recorded_with_stands_against_an_older_review_and_pending_does_not(reviewer: Bench) -> None:
    await keep_decision(reviewer, outcome="success")
    await reviewer.work(a_review(-1, outcome="failure"))
    assert (await decision(reviewer)).outcome == "success"
    await keep_decision(reviewer, outcome="pending")
    await reviewer.work(a_review(-1, outcome="failure"))
    assert (await decision(reviewer)).outcome == "failure"


async def test_a_review_that_overtook_its_decision_is_applied_once_it_is_there(reviewer: Bench) -> None:
    await reviewer.work(a_review())
    assert await reviewer.outcomes() == [], "it waits"
    await keep_decision(reviewer)
    await reviewer.work_what_waits()
    assert (await decision(reviewer)).outcome == "success"
    assert await reviewer.outcomes() == ["reviewed"]


async def test_a_review_of_what_is_never_recorded_is_parked_saying_what_to_do_and_its_neighbours_go_on(reviewer: Bench) -> None:
    await keep_decision(reviewer)
    await reviewer.work(a_review(decision_id=uuid.UUID(int=8)), a_review())
    assert await reviewer.outcomes() == ["reviewed"]
    await reviewer.work_what_waits()
    _, parked = await reviewer.receipts()
    assert parked.ending == "parked"
    assert (parked.reason or "").startswith(f"agent 'agent-1' has no decision {uuid.UUID(int=8)}; record it")
    assert await reviewer.redis.xlen("decision_reviewed.parked") == 1


async def test_another_agents_decision_cannot_be_reviewed(reviewer: Bench) -> None:
    await keep_decision(reviewer, agent_id="agent-2")
    await reviewer.work(a_review(outcome="failure"))
    await reviewer.work_what_waits()
    assert await reviewer.outcomes() == ["parked"]
    assert (await decision(reviewer, "agent-2")).outcome == "pending"
