"""The workers' own queues: deliveries that wait for another attempt, and derived events until they have arrived."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from store import outbox, retries
from store.database import Database, Write
from store.outbox import Letter
from store.retries import Retry, Waiting
from tests.factories import NOON, a_letter, a_retry
from tests.store.conftest import run

SECOND = timedelta(seconds=1)
LEASE = NOON + 30 * SECOND


async def rows(db: Write, worker: str = "deduplicator") -> list[Retry]:
    """What waits, as it stands in the table."""
    found = await run(db, "SELECT * FROM bus.retries WHERE worker = :worker ORDER BY event_id", worker=worker)
    return [Retry(*row) for row in found]


async def taken(db: Write, now: timedelta = timedelta(0), *, lease: timedelta = 30 * SECOND) -> Retry | None:
    return await retries.take(db, "deduplicator", now=NOON + now, lease=NOON + now + lease)


# ── retries ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_set_aside_twice_stays_as_it_was(db: Write) -> None:
    first = a_retry(event_id="1", body=b"\x00\xff not even text", reason="first")
    await retries.set_aside(db, [first])
    await retries.set_aside(db, [a_retry(event_id="1", reason="second", attempts=7), a_retry(event_id="2")])
    await retries.set_aside(db, [])
    assert (await rows(db))[0] == first
    assert len(await rows(db)) == 2


async def test_taking_counts_the_attempt_and_leases_it_until_the_lease_is_over(db: Write) -> None:
    retry = a_retry()
    await retries.set_aside(db, [retry])
    assert await taken(db) == replace(retry, attempts=1, due_at=LEASE)
    assert await taken(db) is None
    assert await taken(db, 29 * SECOND) is None
    assert await taken(db, 30 * SECOND) == replace(retry, attempts=2, due_at=LEASE + 30 * SECOND), "a killed process has counted"


async def test_the_one_that_has_been_due_longest_is_taken_first_and_one_not_due_not_at_all(db: Write) -> None:
    due = {"late": -1, "early": -5, "future": 1, "between": -3}
    await retries.set_aside(db, [a_retry(event_id=event, due_at=NOON + seconds * SECOND) for event, seconds in due.items()])
    await run(db, "SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_indexscan', 'enable_bitmapscan']) AS name")
    order = [await taken(db) for _ in range(4)]  # as the query says, not as an index happens to stand
    assert [retry.event_id if retry else None for retry in order] == ["early", "between", "late", None]


async def test_a_worker_takes_only_its_own(db: Write) -> None:
    await retries.set_aside(db, [a_retry(worker="censor_escalator")])
    assert await taken(db) is None


async def test_two_takers_at_the_same_moment_take_two_different_ones_and_neither_waits(database: Database) -> None:
    async with database.queue() as db:
        await retries.set_aside(db, [a_retry(worker="pair", event_id=event) for event in ("1", "2")])
    async with asyncio.timeout(10), database.queue() as one, database.queue() as other, database.queue() as third:
        found = [await retries.take(db, "pair", now=NOON, lease=LEASE) for db in (one, other, third)]
    assert {retry.event_id if retry else None for retry in found} == {"1", "2", None}


async def test_many_takers_take_each_exactly_once(database_url: str) -> None:
    database = Database(database_url, pool=6)
    async with database.queue() as db:
        await retries.set_aside(db, [a_retry(worker="many", event_id=f"{number:02}") for number in range(40)])
    found: list[str] = []

    async def take_all() -> None:
        while True:
            async with database.queue() as db:
                retry = await retries.take(db, "many", now=NOON, lease=LEASE)
            if retry is None:
                return
            found.append(retry.event_id)

    await asyncio.gather(*(take_all() for _ in range(6)))
    await database.close()
    assert sorted(found) == [f"{number:02}" for number in range(40)]


async def test_a_taker_whose_transaction_fails_has_taken_nothing(database: Database) -> None:
    class Killed(Exception):
        """The process, say."""

    async with database.queue() as db:
        await retries.set_aside(db, [a_retry(worker="failing")])
    with pytest.raises(Killed):
        async with database.queue() as db:
            await _take_and(db, Killed())
    async with database.queue() as db:
        assert [retry.attempts for retry in await rows(db, "failing")] == [0]


async def _take_and(db: Write, error: Exception) -> None:
    assert await retries.take(db, "failing", now=NOON, lease=LEASE)
    raise error


async def test_a_failure_is_due_later_and_has_counted(db: Write) -> None:
    await retries.set_aside(db, [a_retry()])
    retry = await taken(db)
    assert retry
    await retries.postpone(db, retry, due_at=LEASE, reason="ValueError: again")
    assert await rows(db) == [replace(retry, attempts=1, due_at=LEASE, reason="ValueError: again")]


async def test_what_was_not_its_fault_is_given_back_and_has_not_counted(db: Write) -> None:
    await retries.set_aside(db, [a_retry(attempts=2)])
    retry = await taken(db)
    assert retry
    await retries.give_back(db, retry, due_at=NOON, reason="Postgres is not answering")
    assert await rows(db) == [replace(retry, attempts=2, due_at=NOON, reason="Postgres is not answering")]


async def test_giving_back_more_often_than_taking_never_counts_below_zero(db: Write) -> None:
    retry = a_retry()
    await retries.set_aside(db, [retry])
    await retries.give_back(db, retry, due_at=NOON, reason="")
    assert [row.attempts for row in await rows(db)] == [0]


async def test_a_renewed_lease_changes_nothing_but_when_it_ends(db: Write) -> None:
    await retries.set_aside(db, [a_retry()])
    retry = await taken(db)
    assert retry
    await retries.renew(db, retry, lease=LEASE + SECOND)
    assert await rows(db) == [replace(retry, due_at=LEASE + SECOND)]


async def test_what_has_ended_is_cleared_for_its_worker_and_its_agent_only(db: Write) -> None:
    here = [a_retry(agent_id=agent, event_id=event) for agent in ("a", "b") for event in ("1", "2")]
    elsewhere = a_retry(agent_id="a", event_id="1", worker="censor_escalator")
    await retries.set_aside(db, [*here, elsewhere])
    await retries.clear(db, "deduplicator", [("a", "1"), ("b", "2"), ("c", "1")])
    await retries.clear(db, "deduplicator", [])
    assert {(row.agent_id, row.event_id) for row in await rows(db)} == {("a", "2"), ("b", "1")}
    assert await rows(db, "censor_escalator") == [elsewhere]


async def test_an_operator_sees_how_many_wait_and_why_the_oldest_does(db: Write) -> None:
    waits = [("x", 0, "later"), ("x", -9, "the oldest"), ("x", -1, "later"), ("y", 0, "alone")]
    await retries.set_aside(db, [a_retry(worker=worker, since=NOON + since * SECOND, reason=why) for worker, since, why in waits])
    found = await retries.waiting(db)
    assert (found["x"], found["y"]) == (Waiting(count=3, reason="the oldest"), Waiting(count=1, reason="alone"))


async def test_of_what_waits_that_which_waits_together_is_counted_apart(db: Write) -> None:
    rows = [("x", 0, "later", True), ("x", -9, "the first", True), ("x", -99, "it failed", False), ("y", 0, "it failed", False)]
    await retries.set_aside(
        db,
        [a_retry(worker=worker, since=NOON + since * SECOND, reason=why, together=together) for worker, since, why, together in rows],
    )
    assert await retries.waiting_together(db) == {"x": Waiting(count=2, reason="the first")}


# ── outbox ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def unpublished(db: Write, before: timedelta = timedelta(days=1), limit: int = 99) -> list[Letter]:
    return await outbox.unpublished(db, before=NOON + before, limit=limit)


async def unanswered(db: Write, before: timedelta = timedelta(days=1), limit: int = 99) -> list[Letter]:
    return await outbox.unanswered(db, before=NOON + before, limit=limit)


async def put(db: Write, letters: Sequence[Letter], at: timedelta = timedelta(0)) -> None:
    await outbox.insert(db, letters, now=NOON + at)


async def test_a_letter_is_kept_as_it_is_and_once(db: Write) -> None:
    letter = a_letter(event_id="1", body=b"\x00\xff")
    await put(db, [letter])
    await put(db, [replace(letter, body=b"another")])
    await put(db, [])
    assert await unpublished(db) == [letter]


async def test_an_event_id_may_stand_in_several_streams_and_for_several_agents(db: Write) -> None:
    letters = [
        a_letter(event_id="1", stream=stream, agent_id=agent) for stream in ("fact_stored", "fact_confirmed") for agent in ("a", "b")
    ]
    await put(db, letters)
    assert set(map(outbox.key, await unpublished(db))) == set(map(outbox.key, letters))


async def test_what_a_crash_left_is_found_oldest_first_once_it_is_old_enough(db: Write) -> None:
    old, older, young = a_letter(), a_letter(), a_letter()
    await put(db, [old], -5 * SECOND)
    await put(db, [older], -9 * SECOND)
    await put(db, [young])
    assert await unpublished(db, timedelta(0)) == [older, old]
    assert await unpublished(db, SECOND) == [older, old, young]
    assert await unpublished(db, limit=1) == [older]
    assert await outbox.count_unpublished(db) == 3


async def test_a_published_letter_is_kept_until_it_is_answered(db: Write) -> None:
    first, second, waiting = a_letter(), a_letter(), a_letter()
    await put(db, [first, second, waiting])
    await outbox.mark_published(db, [outbox.key(second)], now=NOON + SECOND)
    await outbox.mark_published(db, [outbox.key(first)], now=NOON + 2 * SECOND)
    await outbox.mark_published(db, [], now=NOON)
    assert await unpublished(db) == [waiting]
    assert await outbox.count_unpublished(db) == 1
    assert await unanswered(db) == [second, first]
    assert await unanswered(db, 2 * SECOND) == [second]
    assert await unanswered(db, SECOND) == []
    assert await unanswered(db, limit=1) == [second]


async def test_publishing_again_starts_the_wait_for_an_answer_anew(db: Write) -> None:
    letter = a_letter()
    await put(db, [letter])
    for seconds in (1, 60):
        await outbox.mark_published(db, [outbox.key(letter)], now=NOON + seconds * SECOND)
    assert await unanswered(db, 59 * SECOND) == []
    assert await unanswered(db, 61 * SECOND) == [letter]


async def test_what_has_arrived_is_deleted_and_nothing_else(db: Write) -> None:
    letters = [
        a_letter(event_id="1", stream=stream, agent_id=agent) for stream in ("fact_stored", "fact_confirmed") for agent in ("a", "b")
    ]
    await put(db, letters)
    await outbox.delete(db, [outbox.key(letters[0]), outbox.key(letters[3]), ("c", "fact_stored", "1")])
    await outbox.delete(db, [])
    assert set(map(outbox.key, await unpublished(db))) == {outbox.key(letters[1]), outbox.key(letters[2])}


# ── several at once ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_who_takes_the_same_rows_in_another_order_locks_nobody_out(database: Database) -> None:
    letters = [a_letter(event_id=f"{number:04}") for number in range(2_000)]
    waiting = [a_retry(worker="ordered", event_id=letter.event_id, together=True, due_at=LEASE) for letter in letters]

    async def one(way: int) -> None:
        order = slice(None, None, -1 if way % 2 else 1)
        async with database.queue() as db:
            await retries.set_aside(db, waiting[order])
        async with database.queue() as db:
            await retries.due_again(db, waiting[order], lease=LEASE, due_at=LEASE)
        async with database.write([letters[0].agent_id]) as db:
            await outbox.insert(db, letters[order], now=NOON)
        async with database.queue() as db:
            await outbox.mark_published(db, [outbox.key(letter) for letter in letters[order]], now=NOON)
        async with database.queue() as db:
            await retries.clear(db, "ordered", [(one.agent_id, one.event_id) for one in waiting[order]])
        async with database.queue() as db:
            await outbox.delete(db, [outbox.key(letter) for letter in letters[order]])

    await asyncio.gather(*map(one, range(4)))
    async with database.overview() as db:
        assert await outbox.count_unpublished(db) == 0
        left = await db.execute(
            text("SELECT (SELECT count(*) FROM bus.outbox), (SELECT count(*) FROM bus.retries WHERE worker = 'ordered')")
        )
        assert tuple(left.one()) == (0, 0)
