"""What waits together for a mind: worked in pages, each time after a longer wait, by one replica at a time, and gone when it has ended."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from store import retries
from store.database import Database, Write
from store.retries import LONGEST_WAIT, Retry, Waiting
from tests.factories import NOON, a_retry
from tests.store.conftest import run

SECOND = timedelta(seconds=1)
LEASE = timedelta(minutes=15)
WORKER = "supersession_checker"


def waits(event_id: str = "1", **over: Any) -> Retry:
    """Set aside at noon, due in 15 seconds."""
    return a_retry(**{"worker": WORKER, "event_id": event_id, "due_at": NOON + 15 * SECOND, "together": True} | over)


async def taken(db: Write, at: datetime, *, limit: int = 99, lease: timedelta = LEASE) -> list[Retry]:
    return await retries.take_together(db, WORKER, now=at, lease=at + lease, limit=limit)


async def rows(db: Write) -> list[Retry]:
    return [Retry(*row) for row in await run(db, "SELECT * FROM bus.retries WHERE worker = :worker ORDER BY event_id", worker=WORKER)]


async def again(db: Write, at: datetime, wait: timedelta, *, exactly: bool = False) -> datetime:
    """Taken when due, still without an answer, and set aside again; when it is due then."""
    assert await taken(db, at)
    await retries.set_aside(db, [waits(since=at, due_at=at + wait)], exactly=exactly)
    [row] = await rows(db)
    return row.due_at


async def test_every_wait_is_twice_as_long_as_the_one_before_and_an_hour_at_most(db: Write) -> None:
    await retries.set_aside(db, [waits()])
    at, found = NOON + 15 * SECOND, [15.0]
    for _ in range(12):
        due = await again(db, at, 15 * SECOND)
        found.append((due - at).total_seconds())
        at = due
    assert found == [min(15 * 2.0**number, LONGEST_WAIT.total_seconds()) for number in range(13)]


async def test_a_wait_that_is_known_exactly_is_no_longer_than_it_is(db: Write) -> None:
    await retries.set_aside(db, [waits()])
    at = NOON + 15 * SECOND
    for _ in range(3):
        at = await again(db, at, 15 * SECOND)
    assert await again(db, at, timedelta(minutes=7), exactly=True) == at + timedelta(minutes=7)


async def test_the_doubling_never_overflows(db: Write) -> None:
    await retries.set_aside(db, [waits(attempts=2_000_000_000)])
    assert await again(db, NOON + 15 * SECOND, 59 * timedelta(minutes=1)) == NOON + 15 * SECOND + LONGEST_WAIT


async def test_another_delivery_of_what_waits_already_does_not_add_a_row(db: Write) -> None:
    await retries.set_aside(db, [waits()])
    await retries.set_aside(db, [waits(since=NOON + SECOND, due_at=NOON + 16 * SECOND, reason="again")])
    [row] = await rows(db)
    assert (row.due_at, row.attempts, row.reason) == (NOON + 16 * SECOND, 0, "again")


async def test_what_is_due_longest_is_taken_first_as_many_as_are_wanted_and_what_is_not_due_not(db: Write) -> None:
    due = {"late": -1, "early": -5, "future": 1, "between": -3}
    await retries.set_aside(db, [waits(event, due_at=NOON + seconds * SECOND) for event, seconds in due.items()])
    await run(db, "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_indexscan', 'enable_bitmapscan']) AS name")
    assert {one.event_id for one in await taken(db, NOON, limit=2)} == {"early", "between"}
    assert {one.event_id for one in await taken(db, NOON)} == {"late"}
    assert await taken(db, NOON) == []


async def test_what_waits_together_is_never_taken_alone_and_the_other_way_round(db: Write) -> None:
    await retries.set_aside(db, [waits("together", due_at=NOON), waits("alone", due_at=NOON, together=False)])
    assert [one.event_id for one in await taken(db, NOON)] == ["together"]
    one = await retries.take(db, WORKER, now=NOON, lease=NOON + LEASE)
    assert one
    assert one.event_id == "alone"
    assert await retries.take(db, WORKER, now=NOON, lease=NOON + LEASE) is None


async def test_each_is_taken_by_one_of_two_replicas_only_and_neither_waits(database: Database) -> None:
    async with database.queue() as db:
        await retries.set_aside(db, [waits(f"pair-{number}", due_at=NOON) for number in range(10)])
    async with asyncio.timeout(10), database.queue() as one, database.queue() as other:
        first, second = await taken(one, NOON, limit=6), await taken(other, NOON, limit=6)
    assert (len(first), len(second)) == (6, 4)
    assert len({row.event_id for row in (*first, *second)}) == 10
    async with database.queue() as db:
        await retries.clear(db, WORKER, [(row.agent_id, row.event_id) for row in (*first, *second)])


async def test_what_a_dead_replica_had_taken_is_due_after_its_lease_and_has_counted(db: Write) -> None:
    await retries.set_aside(db, [waits(due_at=NOON)])
    [first] = await taken(db, NOON)
    assert await taken(db, NOON + LEASE - SECOND) == []
    assert await taken(db, NOON + LEASE) == [replace(first, attempts=2, due_at=NOON + 2 * LEASE)]


async def test_what_is_released_at_a_stop_is_due_at_once(db: Write) -> None:
    await retries.set_aside(db, [waits("1", due_at=NOON), waits("2", due_at=NOON)])
    first = await taken(db, NOON)
    await retries.due_again(db, first, lease=NOON + LEASE, due_at=NOON + SECOND)
    await retries.due_again(db, [], lease=NOON + LEASE, due_at=NOON + SECOND)
    assert [row.due_at for row in await rows(db)] == [NOON + SECOND] * 2


async def test_a_release_leaves_alone_what_another_took_meanwhile_or_was_set_aside_anew(db: Write) -> None:
    await retries.set_aside(db, [waits("1", due_at=NOON), waits("2", due_at=NOON), waits("3", due_at=NOON)])
    first = await taken(db, NOON)
    await retries.set_aside(db, [waits("2", since=NOON, due_at=NOON + 15 * SECOND), waits("3", together=False, due_at=NOON)])
    [second] = await taken(db, NOON + LEASE, limit=1)
    before = await rows(db)
    await retries.due_again(db, first, lease=NOON + LEASE, due_at=NOON + LEASE + SECOND)
    changed = [row.event_id for row, was in zip(await rows(db), before, strict=True) if row != was]
    assert second.event_id in ("1", "2")
    assert changed == [event for event in ("1",) if event != second.event_id]


async def test_a_page_that_failed_is_worked_alone_from_the_first_attempt(db: Write) -> None:
    await retries.set_aside(db, [waits(due_at=NOON)])
    await taken(db, NOON)
    await retries.set_aside(db, [waits(together=False, due_at=NOON, reason="ValueError: cannot")])
    [row] = await rows(db)
    assert (row.together, row.attempts, row.due_at, row.reason) == (False, 0, NOON, "ValueError: cannot")


async def test_what_is_worked_alone_and_then_waits_for_a_mind_waits_together(db: Write) -> None:
    await retries.set_aside(db, [waits(together=False, due_at=NOON)])
    alone = await retries.take(db, WORKER, now=NOON, lease=NOON + LEASE)
    assert alone
    await retries.set_aside(db, [waits(since=NOON, due_at=NOON + 15 * SECOND)])
    await retries.give_back(db, alone, due_at=NOON + 15 * SECOND, reason="529")
    [row] = await rows(db)
    assert (row.together, row.attempts, row.due_at) == (True, 0, NOON + 15 * SECOND)


async def test_what_fails_alone_stays_alone_however_often_it_is_set_aside(db: Write) -> None:
    first = waits(together=False, attempts=2, due_at=NOON)
    await retries.set_aside(db, [first])
    await retries.set_aside(db, [waits(together=False, due_at=NOON + 9 * SECOND, reason="again")])
    assert await rows(db) == [first]


async def test_what_has_ended_is_forgotten_where_it_waited_together_only(db: Write) -> None:
    together, alone = waits("1"), waits("2", together=False)
    await retries.set_aside(db, [together, alone])
    await retries.clear_together(db, WORKER, [])
    await retries.clear_together(db, "another", [(together.agent_id, "1")])
    await retries.clear_together(db, WORKER, [(together.agent_id, "1"), (alone.agent_id, "2")])
    assert await rows(db) == [alone]


async def test_what_waits_together_is_counted_apart_and_what_waits_at_all_is_held(db: Write) -> None:
    await retries.set_aside(db, [waits("1", since=NOON - SECOND, reason="529"), waits("2"), waits("3", together=False)])
    assert (await retries.waiting_together(db))[WORKER] == Waiting(count=2, reason="529")
    assert (await retries.waiting(db))[WORKER].count == 3
    agent = waits().agent_id
    assert await retries.held(db, WORKER, [(agent, "1"), (agent, "3"), (agent, "4"), ("b", "1")]) == {(agent, "1"), (agent, "3")}
    assert await retries.held(db, "another", [(agent, "1")]) == set()
    assert await retries.held(db, WORKER, []) == set()


@pytest.mark.parametrize("count", [0, 3])
async def test_a_taker_is_told_how_often_it_was_tried(db: Write, count: int) -> None:
    await retries.set_aside(db, [waits(attempts=count, due_at=NOON)])
    [row] = await taken(db, NOON)
    assert row.attempts == count + 1
