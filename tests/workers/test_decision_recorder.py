"""What an agent decided is kept; what reads like a status report is kept too, and marked."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from events import DecisionRecorded
from tests import factories
from tests.factories import NOON
from tests.workers.conftest import Bench
from tests.workers.kept import DECISION, decision
from workers.runtime.streams import Entry

CHOSE = "Postgres with pgvector rather than a separate vector database"
REPORT = "Status update: completed and confirmed"


@pytest.fixture
def recorder(bench: Callable[[str], Bench]) -> Bench:
    return bench("decision_recorder")


def recorded(**over: Any) -> DecisionRecorded:
    return factories.a_decision_recorded(**({"agent_id": "agent-1", "decision_id": DECISION, "description": CHOSE} | over))


async def test_everything_that_was_said_is_kept_with_its_line_for_recall(recorder: Bench) -> None:
    said = {
        "context": "The store of memories.",
        "reasons": ("one thing to run", "transactions"),
        "alternatives": ("Qdrant",),
        "confidence": 0.85,
        "category": "architecture",
        "stakes": "high",
        "outcome": "success",
        "pattern": "Unify to reduce surface area",
        "session_id": "chat",
    }
    event = recorded(**said)
    await recorder.work(event)
    kept = await decision(recorder)
    assert {name: getattr(kept, name) for name in said} == said
    assert kept.brief == f"{CHOSE} [success] [85% confidence] — Pattern: Unify to reduce surface area"
    assert (kept.description, kept.noise, kept.decided_at, kept.recorded_by) == (CHOSE, None, NOON, event.event_id)
    (receipt,) = await recorder.receipts()
    assert (receipt.outcome, receipt.about) == ("recorded", DECISION)


async def test_noise_is_warned_about_and_never_blocked(recorder: Bench) -> None:
    with capture_logs() as logs:
        await recorder.work(recorded(description=REPORT))
    kept = await decision(recorder)
    assert kept.noise == "4 of its 5 words tell of progress (completed, confirmed, status, update), and no reason is given"
    (warning,) = [log for log in logs if log["event"] == "decision.doubted"]
    assert (warning["log_level"], warning["description"], warning["reason"]) == ("warning", REPORT, kept.noise)
    (receipt,) = await recorder.receipts()
    assert (receipt.outcome, receipt.reason) == ("recorded_as_noise", kept.noise)


async def test_an_empty_description_is_noise_and_kept(recorder: Bench) -> None:
    await recorder.work(recorded(description="", reasons=("because",)))
    kept = await decision(recorder)
    assert (kept.noise, kept.brief) == ("it says nothing", "[50% confidence]")


async def test_the_same_again_is_known_and_changes_nothing(recorder: Bench) -> None:
    event = recorded()
    await recorder.work(event, event, event.model_copy(update={"event_id": "another"}))
    assert await recorder.outcomes() == ["recorded", "skipped"]
    kept = await decision(recorder)
    assert kept.recorded_by == event.event_id


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"description": "MongoDB"}, "says another thing now in description;"),
        ({"reasons": ("speed",), "stakes": "low"}, "says another thing now in reasons, stakes;"),
    ],
)
async def test_something_else_under_a_known_id_is_parked_naming_it(recorder: Bench, other: dict[str, object], told: str) -> None:
    await recorder.work(recorded())
    await recorder.work(recorded(**other))
    _, parked = await recorder.receipts()
    assert parked.ending == "parked"
    assert told in (parked.reason or "")
    assert f"decision {DECISION}" in (parked.reason or "")
    assert CHOSE in (parked.reason or "")
    kept = await decision(recorder)
    assert (kept.description, kept.reasons) == (CHOSE, ())


async def test_something_else_without_an_event_id_is_parked_too_and_the_same_has_one_effect(recorder: Bench) -> None:
    for number, reasons in enumerate((["speed"], ["speed"], ["size"]), 1):
        body = {"agent_id": "agent-1", "decision_id": str(DECISION), "description": CHOSE, "reasons": reasons}
        await recorder.life.work([Entry(f"1772366400000-{number}", {b"data": json.dumps(body).encode()})])
    assert await recorder.outcomes() == ["recorded", "parked"]
    assert (await decision(recorder)).reasons == ("speed",)


async def test_what_came_of_it_is_no_part_of_what_was_decided(recorder: Bench) -> None:
    await recorder.work(recorded(), recorded(outcome="success"))
    assert await recorder.outcomes() == ["recorded", "skipped"]


async def test_two_agents_may_use_one_id(recorder: Bench) -> None:
    await recorder.work(recorded(), recorded(agent_id="agent-2", description=REPORT))
    mine, theirs = await decision(recorder), await decision(recorder, "agent-2")
    assert (mine.description, mine.noise) == (CHOSE, None)
    assert (theirs.description, theirs.agent_id) == (REPORT, "agent-2")
