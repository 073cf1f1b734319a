"""Facts that stand to each other, and every state they had: what was true then, what had been recorded by then, what became one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from store import facts, receipts, versions
from store.database import Write
from store.facts import Fact
from tests.factories import NOON, a_fact, a_receipt
from tests.store.conftest import as_operator

HOUR = timedelta(hours=1)


def a_fact_of_a(**over: Any) -> Fact:
    return a_fact(**{"agent_id": "a", "recorded_at": NOON, **over})


async def a_history(db: Write) -> tuple[Fact, Fact, Fact]:
    """Recorded at noon: an old fact and its twin. Recorded at two: the twin is merged, the old one superseded by a new one at one."""
    old, twin = a_fact_of_a(valid_from=NOON - HOUR), a_fact_of_a(valid_from=NOON)
    await facts.insert(db, [old, twin])
    new = a_fact_of_a(valid_from=NOON + HOUR, recorded_at=NOON + 2 * HOUR)
    retired = replace(old, active=False, superseded_by=new.fact_id, valid_to=NOON + HOUR, recorded_at=NOON + 2 * HOUR, recorded_by="e")
    merged = replace(twin, active=False, merged_into=old.fact_id, recorded_at=NOON + 2 * HOUR, recorded_by="e")
    await facts.change(db, [retired, merged])
    await facts.insert(db, [new])
    return retired, merged, new


async def test_what_was_true_at_a_time_is_what_began_by_then_and_had_not_ended(db: Write) -> None:
    old, twin, new = await a_history(db)

    async def listed(hour: float, *, inactive: bool = False) -> list[Fact]:
        return await facts.listed(db, agent="a", inactive=inactive, limit=None, as_of=NOON + hour * HOUR)

    assert await listed(-1.1) == []
    assert await listed(-1) == await listed(0) == await listed(0.9) == [old]
    assert await listed(1) == await listed(9) == [new]
    assert await listed(9, inactive=True) == [old, twin, new]
    assert await listed(0, inactive=True) == [old, twin]


async def test_what_had_been_recorded_by_a_time_is_shown_as_it_stood_then(db: Write) -> None:
    old, twin, new = await a_history(db)

    async def listed(hour: float, as_of: float | None = None, *, inactive: bool = False) -> list[Fact]:
        moment = None if as_of is None else NOON + as_of * HOUR
        return await versions.listed(db, known_at=NOON + hour * HOUR, agent="a", inactive=inactive, limit=None, as_of=moment)

    was = [replace(one, active=True, superseded_by=None, merged_into=None, valid_to=None) for one in (old, twin)]
    assert await listed(-0.1) == []
    assert [_standing(one) for one in await listed(0)] == [_standing(one) for one in was]
    assert [_standing(one) for one in await listed(1.9, 9)] == [_standing(one) for one in was]
    assert await listed(2) == [new]
    assert await listed(2, 0.5) == [old]
    assert await listed(2, inactive=True) == [old, twin, new]
    assert await versions.listed(db, known_at=NOON + 2 * HOUR, agent="b", inactive=True, limit=None) == []
    assert await versions.parts(db, [old.key], known_at=NOON) == [(old.key, old.key)]
    assert await versions.parts(db, [old.key], known_at=NOON + 2 * HOUR) == [(old.key, old.key), (twin.key, old.key)]


def _standing(fact: Fact) -> tuple[object, ...]:
    return fact.fact_id, fact.active, fact.superseded_by, fact.merged_into, fact.valid_to


async def test_what_was_claimed_at_once_is_listed_in_the_order_stored(db: Write) -> None:
    second = a_fact_of_a(created_at=NOON + HOUR)
    first = a_fact_of_a(created_at=NOON)
    await facts.insert(db, [second, first])
    assert await facts.listed(db, agent="a", inactive=True, limit=None) == [first, second]
    assert await facts.listed(db, agent="a", inactive=True, limit=1) == [first]


async def test_a_merged_fact_leads_to_the_one_it_is_part_of_and_a_chain_to_all_of_its_links(db: Write) -> None:
    old, twin, new = await a_history(db)
    assert await facts.survivors(db, [twin.key, new.key, ("a", UUID(int=1 << 100))]) == {twin.key: old, new.key: new}
    assert sorted(await facts.parts(db, [old.key, new.key])) == sorted([(old.key, old.key), (twin.key, old.key), (new.key, new.key)])
    assert await facts.chain(db, old.key) == await facts.chain(db, new.key) == [old, new]
    assert await facts.chain(db, twin.key) == [twin]
    assert await facts.within(db, twin.fact_id, twin.fact_id, agent="a", limit=9) == [twin.key]
    assert await facts.within(db, twin.fact_id, twin.fact_id, agent="b", limit=9) == []
    assert await facts.agents(await as_operator(db)) == ["a"]


async def test_receipts_of_a_fact_are_those_about_it_those_that_changed_it_and_what_people_decided_of_it(db: Write) -> None:
    old, twin, new = await a_history(db)
    by_another = {"changed": [{"fact_id": str(old.fact_id), "now": {}, "was": {}}]}
    told = [
        a_receipt(agent_id="a", event_id="1", about=old.fact_id),
        a_receipt(agent_id="a", event_id="e", about=new.fact_id, evidence=by_another),
        a_receipt(agent_id="a", event_id="e", about=new.fact_id, worker="another"),
        a_receipt(agent_id="a", event_id="2", about=new.fact_id, evidence={"other": str(old.fact_id)}),
        a_receipt(agent_id="a", event_id="3", about=new.fact_id),
        a_receipt(agent_id="a", event_id="4", about=twin.fact_id),
    ]
    await receipts.insert(db, told)

    async def concerning(*found: Fact) -> list[tuple[str, str]]:
        return [(one.event_id, one.worker) for one in await receipts.concerning(db, "a", [fact.fact_id for fact in found])]

    assert await concerning(old) == [("1", "deduplicator"), ("e", "deduplicator"), ("2", "deduplicator")]
    assert await concerning(old, twin) == [*(await concerning(old)), ("4", "deduplicator")]
    assert await receipts.concerning(db, "b", [old.fact_id]) == []
    assert [one.event_id for one in await receipts.of_events(db, ["a", "b"], ["1", "3", "9"])] == ["1", "3"]
