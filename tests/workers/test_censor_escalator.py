"""A warning that keeps firing becomes a block; each firing counts once."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from events import CensorTriggered
from store import censors
from store.censors import Censor
from tests import factories
from tests.workers.conftest import Bench

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CENSOR = uuid.UUID(int=7)


def a_censor(**over: Any) -> Censor:
    """A warning of agent-1 that has not fired yet."""
    return factories.a_censor(**({"agent_id": "agent-1", "censor_id": CENSOR, "activation_count": 0, "counted_from": 0} | over))


def triggers(count: int, *, start: int = 0, **over: Any) -> list[CensorTriggered]:
    return [
        CensorTriggered(
            **(
                {"event_id": f"trigger-{number}", "agent_id": "agent-1", "censor_id": CENSOR, "was_blocked": False, "occurred_at": NOON}
                | over
            )
        )
        for number in range(start, start + count)
    ]


async def _keep(bench: Bench, censor: Censor) -> None:
    async with bench.kit.database.write([censor.agent_id]) as db:
        await censors.insert(db, censor)


async def _censor(bench: Bench, agent: str = "agent-1") -> Censor:
    async with bench.kit.database.read([agent]) as db:
        found = await censors.get(db, agent, CENSOR)
    assert found is not None
    return found


# ── by count ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_activation_count_below_threshold_takes_no_action(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    await escalator.work(*triggers(4))
    censor = await _censor(escalator)
    assert (censor.severity, censor.activation_count) == ("warn", 4)
    assert await escalator.published("censor_escalated") == []


async def test_activation_count_at_threshold_escalates_warn_to_block(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    await escalator.work(*triggers(5))
    assert (await _censor(escalator)).severity == "block"


async def test_severity_block_is_already_escalated_and_takes_no_action(escalator: Bench) -> None:
    await _keep(escalator, a_censor(severity="block", activation_count=9))
    await escalator.work(*triggers(3))
    censor = await _censor(escalator)
    assert (censor.severity, censor.activation_count) == ("block", 12)
    assert await escalator.published("censor_escalated") == []


async def test_triggering_a_censor_5_times_escalates_it_from_warn_to_block_and_publishes_it_once(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    for event in triggers(7):
        await escalator.work(event)
    (published,) = await escalator.published("censor_escalated")
    assert (published["censor_id"], published["old_severity"], published["new_severity"]) == (str(CENSOR), "warn", "block")
    assert (published["activation_count"], published["caused_by"]) == (5, "trigger-4")
    assert await escalator.outcomes() == ["counted"] * 4 + ["escalated"] + ["counted"] * 2


# ── promises ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_each_event_counts_exactly_once_however_often_it_is_delivered(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    events = triggers(4)
    await escalator.work(*events, *events)
    await escalator.work(*events)
    assert (await _censor(escalator)).activation_count == 4


async def test_a_false_positive_is_counted_apart_and_does_not_push_towards_escalation(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    await escalator.work(*triggers(4), *triggers(10, start=4, false_positive=True))
    censor = await _censor(escalator)
    assert (censor.severity, censor.activation_count, censor.false_positive_count) == ("warn", 4, 10)


async def test_an_absolute_censor_is_counted_and_left_as_it_is(escalator: Bench) -> None:
    await _keep(escalator, a_censor(severity="absolute"))
    await escalator.work(*triggers(8))
    assert (await _censor(escalator)).severity == "absolute"


@pytest.mark.parametrize("threshold", [1, 3])
async def test_the_threshold_is_the_censors_own(escalator: Bench, threshold: int) -> None:
    await _keep(escalator, a_censor(escalation_threshold=threshold))
    await escalator.work(*triggers(threshold))
    assert (await _censor(escalator)).severity == "block"


async def test_an_unknown_censor_is_parked_saying_so_and_a_foreign_one_is_unknown(escalator: Bench) -> None:
    await _keep(escalator, a_censor(agent_id="agent-2"))
    await escalator.work(*triggers(1))
    (receipt,) = await escalator.receipts()
    assert receipt.ending == "parked"
    assert "has no censor" in (receipt.reason or "")
    assert await escalator.redis.xlen("censor_triggered.parked") == 1
    assert (await _censor(escalator, "agent-2")).activation_count == 0


async def test_after_a_person_relaxed_it_counting_starts_anew(escalator: Bench) -> None:
    await _keep(escalator, a_censor())
    await escalator.work(*triggers(5))
    censor = await _censor(escalator)
    async with escalator.kit.database.write(["agent-1"]) as db:
        await censors.update(db, [replace(censor, severity="warn", counted_from=censor.activation_count, relaxed_reason="too eager")])
    await escalator.work(*triggers(4, start=5))
    assert (await _censor(escalator)).severity == "warn"
    await escalator.work(*triggers(1, start=9))
    censor = await _censor(escalator)
    assert (censor.severity, censor.activation_count, censor.relaxed_reason) == ("block", 10, "too eager")
