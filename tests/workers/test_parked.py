"""What was parked is worked again by the worker that parked it, or dropped: once, with its id and history, wherever its body still is."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from events import Event, FactLearned, decode, encode
from store import archive, parked, receipts
from store.database import Database
from store.parked import Parked, Wanted
from store.receipts import Receipt
from tests.factories import a_fact_learned
from tests.workers.conftest import Bench
from workers.runtime import alone
from workers.runtime import parked as deliveries
from workers.runtime.parked import Outcome
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

AGENT = "agent-1"
STREAM = FactLearned.stream
PARKED = f"{STREAM}.parked"
ENVELOPE = b"\x89BIN\r\n\x1a\n" + bytes(6) + (18).to_bytes(4, "big")  # as FastStream writes it, without headers


class Ward:
    """A deduplicator with a bug that can be mended, and a person who looks after what it parks."""

    def __init__(self, deduplicator: Bench, database: Database, redis: Redis) -> None:
        self.bench = deduplicator
        self.database = database
        self.redis = redis
        self.sound = deduplicator.life.worker

    def break_(self, why: str = "a bug") -> None:
        async def think(events: Sequence[Event], kit: Kit) -> Sequence[Any]:
            raise ValueError(why)

        self.bench.life.worker = replace(self.sound, think=think)

    def mend(self) -> None:
        self.bench.life.worker = self.sound

    async def park(self, *events: FactLearned, why: str = "a bug") -> None:
        """Let these fail until they are parked, and mend the bug."""
        self.break_(why)
        await self.bench.work(*events)
        await self.bench.work_what_waits()
        self.mend()

    async def park_raw(self, body: bytes, *, entry_id: str = "1893456000000-900", field: bytes = b"data") -> Entry:
        entry = Entry(entry_id, {field: body})
        await self.bench.life.work([entry])
        return entry

    async def listed(self, **filters: Any) -> list[Parked]:
        async with self.database.overview() as db:
            return await parked.listed(db, Wanted(**filters))

    async def retry(self, ones: Sequence[Parked] | None = None) -> Outcome:
        found = await self.listed() if ones is None else ones
        return sum([one async for one in deliveries.retry(self.database, self.redis, found)], Outcome())

    async def drop(self, ones: Sequence[Parked] | None = None) -> Outcome:
        found = await self.listed() if ones is None else ones
        return sum([one async for one in deliveries.drop(self.database, self.redis, found, because="a test")], Outcome())

    async def forget_the_archive(self) -> None:
        async with self.database.erase([AGENT]) as db:
            await db.execute(text("DELETE FROM bus.events"))

    async def receipts(self, agent: str = AGENT) -> dict[str, Receipt]:
        return {one.event_id: one for one in await self.bench.receipts(agent)}

    async def counted(self) -> int:
        async with self.database.overview() as db:
            return sum((await receipts.parked_counts(db)).values())


@pytest.fixture
def ward(deduplicator: Bench, database: Database, redis: Redis) -> Ward:
    return Ward(deduplicator, database, redis)


def facts(*ids: str) -> list[FactLearned]:
    return [a_fact_learned(agent_id=AGENT, event_id=one) for one in ids]


async def test_a_mended_bug_and_a_retry_leave_nothing_behind_and_the_receipt_tells_that_it_was_parked(ward: Ward) -> None:
    await ward.park(*facts("1", "2", "3"))
    assert (await ward.counted(), await ward.redis.xlen(PARKED)) == (3, 3)
    outcome = await ward.retry()
    assert len(outcome.done) == 3
    assert (await ward.counted(), await ward.listed(), await ward.redis.xlen(PARKED)) == (0, [], 0)
    await ward.bench.work_what_waits()
    told = await ward.receipts()
    assert [told[one].outcome for one in ("1", "2", "3")] == ["stored"] * 3
    for one in told.values():
        (before,) = one.evidence["was_parked"]
        assert (before["what"], before["reason"], before["attempts"]) == ("parked", "ValueError: a bug (after 3 attempts)", 3)
        assert before["retried_at"] > before["at"]
    assert await ward.redis.exists(STREAM) == 0, "nothing is published again, so no other worker is troubled"


async def test_what_parks_again_tells_of_both_times(ward: Ward) -> None:
    await ward.park(*facts("1"), why="the first bug")
    await ward.retry()
    ward.break_("the second bug")
    await ward.bench.work_what_waits()
    (one,) = await ward.listed()
    assert one.reason == "ValueError: the second bug (after 3 attempts)"
    assert [past["reason"] for past in one.history] == ["ValueError: the first bug (after 3 attempts)"]
    assert await ward.redis.xlen(PARKED) == 1


async def test_what_its_worker_gives_up_again_is_one_more_time_and_not_two(ward: Ward) -> None:
    first = a_fact_learned(agent_id=AGENT, event_id="first")
    await ward.bench.work(first)
    await ward.bench.work(a_fact_learned(agent_id=AGENT, event_id="clash", fact_id=first.fact_id))
    for times in (0, 1, 2):
        (one,) = await ward.listed()
        assert len(one.history) == times
        await ward.retry([one])
        await ward.bench.work_what_waits()


async def test_two_people_at_once_have_one_effect(ward: Ward) -> None:
    await ward.park(*facts(*map(str, range(10))))
    seen = await ward.listed()
    one, other = await asyncio.gather(ward.retry(seen), ward.retry(seen))
    assert (len(one.done) + len(other.done), len(one.changed) + len(other.changed)) == (10, 10)
    await ward.bench.work_what_waits()
    assert len((await ward.retry(seen)).changed) == 10, "what was seen before it was settled is left alone"
    assert [one.confirmation_count for one in await ward.bench.facts()] == [0] * 10


async def test_one_retried_as_another_drops_it_is_either_worked_or_dropped(ward: Ward) -> None:
    await ward.park(*facts(*map(str, range(8))))
    seen = await ward.listed()
    retried, dropped = await asyncio.gather(ward.retry(seen), ward.drop(seen[::-1]))
    await ward.bench.work_what_waits()
    outcomes = [one.outcome for one in (await ward.receipts()).values()]
    assert outcomes.count("dropped") == len(dropped.done)
    assert outcomes.count("stored") == len([one for one in retried.done if one not in dropped.done])
    assert (len(outcomes), await ward.counted()) == (8, 0)


async def test_a_crash_before_the_entries_go_leaves_what_no_list_shows_and_tidy_removes(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ward.park(*facts("1"))
    await ward.redis.xadd(PARKED, (await ward.redis.xrange(PARKED))[0][1])  # a crash while it was parked had parked it twice
    with monkeypatch.context() as patched:

        async def crash(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr(deliveries.Entries, "remove", crash)
        with pytest.raises(KeyboardInterrupt):
            await ward.retry()
    assert (await ward.listed(), await ward.redis.xlen(PARKED)) == ([], 2)
    assert await deliveries.tidy(ward.database, ward.redis, STREAM) == 0, "what is not settled keeps its entries"
    await ward.bench.work_what_waits()
    assert await deliveries.tidy(ward.database, ward.redis, STREAM) == 2
    assert await ward.redis.xlen(PARKED) == 0


async def test_both_entries_of_what_was_parked_twice_go_with_its_retry(ward: Ward) -> None:
    await ward.park(*facts("1", "2"))
    for _, fields in await ward.redis.xrange(PARKED):
        await ward.redis.xadd(PARKED, fields)
    assert len((await ward.retry(await ward.listed(reason="BUG"))).done) == 2
    assert await ward.redis.xlen(PARKED) == 0


async def test_what_redis_lost_is_still_listed_and_worked_again_with_the_body_that_was_archived_with_its_receipt(ward: Ward) -> None:
    await ward.park(*facts("1"))
    await ward.redis.flushall()
    assert len((await ward.retry()).done) == 1
    await ward.bench.work_what_waits()
    assert (await ward.receipts())["1"].outcome == "stored"


async def test_what_was_never_archived_is_found_in_its_stream(ward: Ward) -> None:
    (event,) = facts("1")
    await ward.park(event)
    await ward.forget_the_archive()
    (one,) = await ward.listed()
    await ward.redis.flushall()
    await ward.redis.xadd(STREAM, {"data": encode(event)}, id=one.entry_id)
    assert len((await ward.retry()).done) == 1


@pytest.mark.parametrize("how", ["malformed", "given up", "worked alone"])
async def test_the_body_of_whatever_is_parked_is_in_the_archive_without_an_archivist(ward: Ward, how: str) -> None:
    """Redis may lose the entry, the parked one too, before an archivist has read it."""
    body = encode(a_fact_learned(agent_id=AGENT, event_id="1"))
    match how:
        case "malformed":
            body = body.replace(b'"confidence":0.5', b'"confidence":5')
            await ward.park_raw(body)
        case "given up":
            event = decode(FactLearned, body, "1893456000000-1")
            await ward.bench.work(a_fact_learned(agent_id=AGENT, event_id="first", fact_id=event.fact_id), event)
        case "worked alone":
            await ward.park(decode(FactLearned, body, "1893456000000-1"))
    (one,) = await ward.listed()
    async with ward.database.read([AGENT]) as db:
        (row,) = await archive.of_event(db, AGENT, one.event_id)
    assert (row.stream, row.entry_id, row.body) == (STREAM, one.entry_id, body)


async def test_what_has_no_body_anywhere_stays_parked_and_can_be_dropped(ward: Ward) -> None:
    await ward.park(*facts("1"))
    await ward.redis.flushall()
    await ward.forget_the_archive()
    outcome = await ward.retry()
    assert ([len(part) for part in (outcome.done, outcome.changed, outcome.bodiless)], await ward.counted()) == ([0, 0, 1], 1)
    assert len((await ward.drop()).done) == 1
    assert await ward.counted() == 0


async def test_a_body_that_a_newer_decoder_can_read_takes_its_own_name_and_the_old_one_is_settled(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_id = "x" * 200
    (event,) = facts("1")
    await ward.park_raw(encode(event).replace(b'"1"', f'"{long_id}"'.encode()))
    (one,) = await ward.listed()
    assert one.event_id != long_id[:128]

    def newer(kind: type[Event], body: bytes, entry_id: str, **more: Any) -> Event:
        return decode(kind, body.replace(long_id.encode(), b"short"), entry_id, **more)

    monkeypatch.setattr(alone, "decode", newer)
    await ward.retry()
    await ward.bench.work_what_waits()
    told = await ward.receipts()
    assert (told["short"].outcome, told[one.event_id].ending) == ("stored", "skip")
    assert told[one.event_id].reason == "it can be read now, and is event short of agent agent-1"
    assert [len(told[name].evidence["was_parked"]) for name in ("short", one.event_id)] == [1, 1]
    assert await ward.counted() == 0


async def test_what_said_nothing_readable_of_its_agent_is_retried_and_parks_again_with_both_times(ward: Ward) -> None:
    await ward.park_raw(b"no JSON at all")
    (one,) = await ward.listed(agent="")
    await ward.retry([one])
    await ward.bench.work_what_waits()
    (again,) = await ward.listed()
    assert (again.agent_id, again.event_id, len(again.history)) == ("", one.event_id, 1)


async def test_a_body_that_faststream_wrapped_is_worked_again_unwrapped(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    (event,) = facts("1")
    body = ENVELOPE + encode(event).replace(b'"confidence":0.5', b'"confidence":5')
    await ward.park_raw(body, field=b"__data__")
    monkeypatch.setattr(
        alone, "decode", lambda kind, body, *more, **named: decode(kind, body.replace(b'"confidence":5', b'"confidence":1'), *more, **named)
    )
    await ward.retry()
    await ward.bench.work_what_waits()
    assert (await ward.receipts())["1"].outcome == "stored"


async def test_what_is_dropped_is_settled_for_a_reason_and_its_body_is_in_the_archive(ward: Ward) -> None:
    (event,) = facts("1")
    await ward.park(event)
    await ward.drop()
    receipt = (await ward.receipts())["1"]
    assert (receipt.ending, receipt.outcome, receipt.reason) == ("skip", "dropped", "a test")
    assert [past["reason"] for past in receipt.evidence["was_parked"]] == ["ValueError: a bug (after 3 attempts)"]
    async with ward.database.read([AGENT]) as db:
        assert [row.body for row in await archive.of_event(db, AGENT, "1")] == [encode(event)]
    await ward.bench.work(event)
    assert (await ward.bench.facts(), await ward.counted(), await ward.redis.xlen(PARKED)) == ([], 0, 0)


async def test_what_was_dropped_can_be_retried_after_all(ward: Ward) -> None:
    await ward.park(*facts("1"))
    await ward.drop()
    async with ward.database.overview() as db:
        (one,) = await parked.listed(db, Wanted(), dropped=True)
    assert len((await ward.retry([one])).done) == 1
    await ward.bench.work_what_waits()
    receipt = (await ward.receipts())["1"]
    assert (receipt.outcome, [past["what"] for past in receipt.evidence["was_parked"]]) == ("stored", ["parked", "dropped"])


async def test_a_malformed_entry_that_was_dropped_is_not_parked_again_when_it_is_read_again(ward: Ward) -> None:
    entry = await ward.park_raw(b"no JSON at all")
    await ward.drop()
    await ward.bench.life.work([entry])
    assert (await ward.counted(), await ward.redis.xlen(PARKED)) == (0, 0)


async def test_another_worker_s_parking_of_the_same_event_is_its_own(ward: Ward, bench: Callable[[str], Bench]) -> None:
    await ward.park(*facts("1"))
    (mine,) = await ward.listed()
    other = replace(mine, worker="another")
    async with ward.database.write({AGENT}) as db:
        receipt = (await receipts.of_events(db, [AGENT], ["1"]))[0]
        await receipts.insert(db, [replace(receipt, worker="another")])
    assert len((await ward.retry([mine])).done) == 1
    assert [one.worker for one in await ward.listed()] == ["another"]
    assert parked.handle(other.worker, other.key) != mine.handle


async def test_the_name_in_the_log_is_the_name_in_the_list(ward: Ward) -> None:
    await ward.park(*facts("1", "kaffee ☕ ' \\"))
    await ward.park_raw(b"")
    found = await ward.listed()
    assert [one.handle for one in found] == [parked.handle(one.worker, one.key) for one in found]
    assert len({one.handle for one in found}) == 3
