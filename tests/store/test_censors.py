"""Censors: what is written is read, and an id that another agent has is an id one does not have."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from store import censors
from store.database import Write
from tests.factories import NOON, a_censor, an_id
from tests.store.conftest import as_operator

CHANGED: dict[str, Any] = {
    "severity": "block",
    "activation_count": 7,
    "counted_from": 3,
    "false_positive_count": 2,
    "last_activated": NOON,
    "relaxed_at": NOON,
    "relaxed_reason": "It was right after all.",
}


async def test_a_censor_is_read_as_it_was_written(db: Write) -> None:
    censor = a_censor(agent_id="a", escalation_threshold=2, **CHANGED)
    assert await censors.insert(db, censor)
    assert await censors.get(db, "a", censor.censor_id) == censor


async def test_adding_an_id_that_is_there_says_so_and_changes_nothing(db: Write) -> None:
    censor = a_censor(agent_id="a")
    assert await censors.insert(db, censor)
    assert not await censors.insert(db, replace(censor, reason="another"))
    assert await censors.insert(db, replace(censor, agent_id="b", reason="another"))
    assert await censors.get(db, "a", censor.censor_id) == censor


async def test_an_update_writes_severity_counts_and_times_and_leaves_what_a_person_wrote(db: Write) -> None:
    censor, other = a_censor(agent_id="a"), a_censor(agent_id="a")
    twin = replace(censor, agent_id="b")
    for one in (censor, other, twin):
        await censors.insert(db, one)
    await censors.update(db, [replace(censor, **CHANGED, trigger_pattern="x", reason="x", escalation_threshold=99)])
    assert await censors.get(db, "a", censor.censor_id) == replace(censor, **CHANGED)
    assert await censors.get(db, "a", other.censor_id) == other
    assert await censors.get(db, "b", censor.censor_id) == twin


async def test_a_censor_of_nobody_or_of_another_agent_is_none(db: Write) -> None:
    censor = a_censor(agent_id="b")
    await censors.insert(db, censor)
    assert await censors.get(db, "a", censor.censor_id) is None
    assert await censors.get(db, "a", an_id()) is None


async def test_censors_are_listed_by_agent_and_then_oldest_first(db: Write) -> None:
    late, early = a_censor(agent_id="a", created_at=NOON + timedelta(hours=1)), a_censor(agent_id="a")
    other = a_censor(agent_id="b", created_at=NOON - timedelta(hours=1))
    for censor in (late, other, early):
        await censors.insert(db, censor)
    assert await censors.listed(db, agent="a") == [early, late]
    assert await censors.listed(await as_operator(db), agent=None) == [early, late, other]


async def test_an_operator_finds_whose_a_censor_is(db: Write) -> None:
    censor = a_censor(agent_id="b")
    await censors.insert(db, censor)
    await censors.insert(db, replace(censor, agent_id="a"))
    assert await censors.owners(await as_operator(db), censor.censor_id) == ["a", "b"]
    assert await censors.owners(db, an_id()) == []


@pytest.mark.parametrize(
    ("over", "constraint"), [({"severity": "shout"}, "ck_censors_severity"), ({"escalation_threshold": 0}, "ck_censors_threshold")]
)
async def test_the_table_refuses_a_censor_that_cannot_be(db: Write, over: dict[str, Any], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        await censors.insert(db, a_censor(agent_id="a", **over))
