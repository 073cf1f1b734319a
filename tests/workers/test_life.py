"""The five ways a delivery ends, in a page and alone, and what counts."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import structlog
from redis import exceptions
from redis.asyncio import Redis
from sqlalchemy import text
from structlog.testing import capture_logs

import workers
from events import FactLearned
from nous import clock
from nous.errors import Misconfigured, Outage, Refused
from store import database as door
from store import receipts, retries
from store.database import Database, Write
from store.retries import Retry
from tests.conftest import repository, until, until_set
from tests.factories import a_fact_learned
from workers.runtime import record, streams
from workers.runtime.alone import DIED, Alone
from workers.runtime.life import Life
from workers.runtime.patience import repeating
from workers.runtime.streams import Entry
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, RetryLater, Skip, Worker

GROUP = "actor"


class Actor:
    """A worker that does what the test says: `ends` per content, or `raises`; Postgres ends a page that is longer than `longest_page`.

    Each event takes `statements`, which are so many seconds long.
    """

    def __init__(self, kit: Kit, redis: Redis) -> None:
        self.ends: dict[str, Ending] = {}
        self.raises: dict[str, Exception] = {}
        self.longest_page = 0
        self.statements: tuple[float, ...] = ()
        self.thinks: Callable[[Sequence[FactLearned]], Any] | None = None
        self.pages: list[list[str]] = []
        self.life = Life(Worker(on=FactLearned, think=self._think, write=self._writing(), outcomes=("acted",)), kit, redis, "by-hand")
        self.alone = Alone(self.life)

    async def _think(self, events: Sequence[FactLearned], kit: Kit) -> Sequence[None]:
        if self.thinks is not None:
            await self.thinks(events)
        return [None] * len(events)

    async def taken_over(self) -> list[list[Entry]]:
        """The pages of what nobody has touched for the claim time, once there is any."""
        pages: list[list[Entry]] = []

        async def taken() -> bool:
            return await self.alone.take_over(1_000, pages.extend)

        await until(taken, what="idle entries")
        return pages

    def _writing(self) -> Any:
        async def act(db: Write, jobs: Sequence[Job[FactLearned, None]], kit: Kit) -> Sequence[Ending]:
            """Do what the test says."""
            self.pages.append([job.event.content for job in jobs])
            if self.longest_page and len(jobs) > self.longest_page:
                await db.execute(text("SET LOCAL statement_timeout = '20ms'"))
                await db.execute(text("SELECT pg_sleep(30)"))
            for seconds in self.statements * len(jobs):
                await db.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})
            for job in jobs:
                if job.event.content in self.raises:
                    raise self.raises[job.event.content]
            return [self.ends.get(job.event.content, Done("acted")) for job in jobs]

        act.__module__ = f"workers.{GROUP}"
        return act

    async def publish(self, *contents: str) -> list[Entry]:
        """Publish and read, as the group would."""
        for content in contents:
            event = a_fact_learned(content=content, event_id=content, agent_id="agent-1")
            await self.life.redis.xadd("fact_learned", {"data": event.model_dump_json()})
        await streams.ensure_group(self.life.redis, "fact_learned", GROUP)
        ((_, read),) = await self.life.redis.xreadgroup(GROUP, "by-hand", {"fact_learned": ">"}, count=1000)
        return [Entry(entry_id.decode(), fields) for entry_id, fields in read]

    async def rows(self) -> list[Retry]:
        async with self.life.kit.database.queue() as db:
            return [Retry(**row._mapping) for row in await db.execute(text("SELECT * FROM bus.retries ORDER BY event_id"))]

    async def endings(self) -> dict[str, str]:
        async with self.life.kit.database.read(["agent-1"]) as db:
            return {one.event_id: one.ending for one in await receipts.of_agent(db, "agent-1", GROUP)}

    async def pending(self) -> int:
        return (await streams.group_state(self.life.redis, "fact_learned", GROUP)).pending


@pytest.fixture
def actor(kit: Kit, redis: Redis) -> Actor:
    return Actor(kit, redis)


async def test_done_and_skip_settle_give_up_parks_and_retry_later_waits_uncounted(actor: Actor) -> None:
    actor.ends = {"skip": Skip("nothing to do"), "give up": GiveUp("never"), "later": RetryLater(timedelta(hours=1), "the mind is away")}
    await actor.life.work(await actor.publish("done", "skip", "give up", "later"))
    assert await actor.endings() == {"done": "done", "skip": "skip", "give up": "parked"}
    (row,) = await actor.rows()
    assert (row.event_id, row.attempts, row.reason) == ("later", 0, "the mind is away")
    assert await actor.life.redis.xlen("fact_learned.parked") == 1
    assert await actor.pending() == 0, "what waits blocks nobody"


async def test_one_that_asks_for_later_again_and_again_is_never_parked(actor: Actor) -> None:
    actor.ends = {"later": RetryLater(timedelta(0), "not yet")}
    await actor.life.work(await actor.publish("later"))
    for _ in range(actor.life.kit.settings.max_attempts * 3):
        assert await actor.alone.work_one()
    assert [row.attempts for row in await actor.rows()] == [0]
    actor.ends = {}
    assert await actor.alone.work_one()
    assert await actor.endings() == {"later": "done"}
    assert await actor.rows() == []


async def test_one_that_waits_for_what_may_never_come_is_looked_at_as_often_as_a_failure_and_then_parked(actor: Actor) -> None:
    wait = RetryLater(timedelta(0), "its other half is missing", together=True, exactly=True, counted=True)
    actor.ends = {"later": wait, "last": wait}
    await actor.life.work(await actor.publish("later", "last"))
    for attempts in range(actor.life.kit.settings.max_attempts):
        assert [row.attempts for row in await actor.rows()] == [attempts, attempts]
        assert await actor.alone.work_together()
    assert [len(page) for page in actor.pages] == [2, 2, 2, 2], "in pages, as it came"
    assert await actor.rows() == []
    assert await actor.endings() == {"later": "parked", "last": "parked"}
    parked = [fields for _, fields in await actor.life.redis.xrange("fact_learned.parked")]
    assert {one[b"reason"] for one in parked} == {b"its other half is missing (after 3 attempts)"}
    assert {one[b"attempts"] for one in parked} == {b"3"}


async def test_one_that_was_worked_alone_and_then_waits_for_what_may_never_come_is_parked_too(actor: Actor) -> None:
    actor.raises = {"later": ValueError("cannot")}
    await actor.life.work(await actor.publish("later"))
    actor.raises = {}
    actor.ends = {"later": RetryLater(timedelta(0), "its other half is missing", together=True, exactly=True, counted=True)}
    assert await actor.alone.work_one()
    for _ in range(2):
        assert await actor.alone.work_together()
    assert await actor.endings() == {"later": "parked"}
    assert await actor.rows() == []


@pytest.mark.parametrize("fails_in", ["think", "write"])
async def test_a_failing_page_is_worked_in_halves_and_only_the_one_at_fault_is_set_aside(actor: Actor, fails_in: str) -> None:
    names = [f"event {number}" for number in range(20)]
    bad = {"event 7", "event 12"}
    thought: list[int] = []

    async def think(events: Sequence[FactLearned]) -> None:
        thought.append(len(events))
        if bad & {event.content for event in events}:
            raise ValueError("cannot")

    if fails_in == "think":
        actor.thinks = think
    else:
        actor.raises = {name: ValueError("cannot") for name in bad}
    await actor.life.work(await actor.publish(*names))
    assert [(row.event_id, row.attempts, row.reason) for row in await actor.rows()] == [
        ("event 12", 0, "ValueError: cannot"),
        ("event 7", 0, "ValueError: cannot"),
    ]
    assert await actor.endings() == {name: "done" for name in names if name not in bad}
    tried = thought if fails_in == "think" else [len(page) for page in actor.pages]
    assert len(tried) < 20, "far fewer than one by one"
    assert await actor.alone.work_one()
    assert sorted(row.attempts for row in await actor.rows()) == [0, 1]


async def test_a_page_that_postgres_ends_for_its_length_gets_through_in_parts(actor: Actor) -> None:
    names = [f"event {number}" for number in range(10)]
    actor.longest_page = 3
    await actor.life.work(await actor.publish(*names))
    assert await actor.endings() == dict.fromkeys(names, "done")
    assert await actor.rows() == []
    assert await actor.pending() == 0


@pytest.mark.parametrize("statements", [(0.15,), (0.01,) * 15], ids=["in a statement", "between short ones"])
async def test_a_page_whose_transaction_postgres_ends_for_its_length_gets_through_in_parts(
    kit: Kit, database_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch, statements: tuple[float, ...]
) -> None:
    """By its own limit for transactions, which closes the connection: as it happens where each statement is fast and there are many."""
    monkeypatch.setattr(door, "TRANSACTION_TIMEOUT_MS", 600)
    hurried = Database(database_url, pool=1)
    actor = Actor(replace(kit, database=hurried), redis)
    actor.statements = statements
    names = [f"event {number}" for number in range(12)]
    with capture_logs() as logs:
        await actor.life.work(await actor.publish(*names))
    assert await actor.endings() == dict.fromkeys(names, "done")
    assert (len(actor.pages[0]), min(map(len, actor.pages)) < 6) == (12, True)
    assert (await actor.rows(), await actor.pending()) == ([], 0)
    assert [one for one in logs if "not answering" in str(one)] == [], "nothing was away"
    await hurried.close()


async def test_one_event_that_is_too_long_for_a_transaction_is_parked_in_the_end_and_holds_nobody_up(
    kit: Kit, database_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "TRANSACTION_TIMEOUT_MS", 300)
    hurried = Database(database_url, pool=1)
    actor = Actor(replace(kit, database=hurried), redis)
    actor.statements = (1.0,)
    await actor.life.work(await actor.publish("endless"))
    endless, actor.statements = actor.statements, ()
    await actor.life.work(await actor.publish("another"))
    assert await actor.endings() == {"another": "done"}
    actor.statements = endless
    await until(partial(_worked_until_parked, actor), what="its being parked")
    assert await actor.endings() == {"another": "done", "endless": "parked"}
    ((_, parked),) = await redis.xrange("fact_learned.parked")
    assert b"took longer than 0.3 s (after 3 attempts)" in parked[b"reason"]
    await hurried.close()


async def _worked_until_parked(actor: Actor) -> bool:
    await actor.alone.work_one()
    return not await actor.rows()


async def test_a_page_that_takes_too_long_is_not_tried_in_halves_which_would_take_as_long_each(actor: Actor, kit: Kit) -> None:
    actor.life.kit = replace(kit, settings=kit.settings.model_copy(update={"time_limit_s": 0.05}))
    tried: list[int] = []

    async def hang(events: Sequence[FactLearned]) -> None:
        tried.append(len(events))
        await asyncio.Event().wait()

    actor.thinks = hang
    await actor.life.work(await actor.publish("slow", "slower"))
    assert tried == [2]
    assert [row.event_id for row in await actor.rows()] == ["slow", "slower"]


async def test_the_wait_between_attempts_grows_and_after_the_last_it_is_parked_with_its_error(actor: Actor) -> None:
    actor.raises = {"bad": ValueError("cannot")}
    await actor.life.work(await actor.publish("bad"))

    async def is_parked() -> bool:
        await actor.alone.work_one()
        return (await actor.endings()).get("bad") == "parked"

    await until(is_parked, what="the parked receipt")
    assert len(actor.pages) == 1 + actor.life.kit.settings.max_attempts
    assert await actor.rows() == []
    waits = [actor.alone._backoff_s(attempt) for attempt in (1, 2, 3, 30)]
    settings = actor.life.kit.settings
    assert 0.75 * settings.retry_base_s <= waits[0] <= 1.25 * settings.retry_base_s
    assert waits[3] <= 1.25 * settings.retry_cap_s


@pytest.mark.parametrize(("reason", "tried"), [(DIED, 2), ("ValueError: cannot", 4)])
async def test_one_that_replica_after_replica_dies_of_is_parked_after_fewer_attempts(
    actor: Actor, kit: Kit, reason: str, tried: int
) -> None:
    actor.life.kit = replace(kit, settings=kit.settings.model_copy(update={"max_deaths": 2, "max_attempts": 4}))
    actor.alone = Alone(actor.life)
    deliveries, _ = record.opened(actor.life.worker, await actor.publish("bad"), now=clock.now())
    await actor.life.set_aside([(delivery, reason) for delivery in deliveries], since=0.0)
    for _ in range(tried):
        async with actor.life.kit.database.queue() as db:
            assert await retries.take(db, GROUP, now=clock.now(), lease=clock.now()) is not None, "and the replica that took it dies"
    await _when_due(actor.alone.work_one)
    assert actor.pages == [], "it was not tried once more"
    assert await actor.endings() == {"bad": "parked"}
    ((_, parked),) = await actor.life.redis.xrange("fact_learned.parked")
    assert parked[b"reason"].decode() == f"{reason} (after {tried} attempts)"


async def test_one_that_is_refused_for_good_is_parked_without_more_attempts(actor: Actor) -> None:
    actor.raises = {"bad": Refused("too long, now and later")}
    await actor.life.work(await actor.publish("bad"))
    assert await actor.alone.work_one()
    assert await actor.endings() == {"bad": "parked"}
    assert len(actor.pages) == 2


async def test_an_outage_during_a_lone_attempt_is_not_counted(actor: Actor) -> None:
    actor.raises = {"bad": ValueError("cannot")}
    await actor.life.work(await actor.publish("bad"))
    actor.raises = {"bad": Outage("the mind", "connection refused")}
    for _ in range(actor.life.kit.settings.max_attempts + 2):
        with pytest.raises(Outage):
            await _when_due(actor.alone.work_one)
    assert [row.attempts for row in await actor.rows()] == [0]
    assert await actor.endings() == {}


async def _when_due(work: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    await until(work, what="a due delivery")


async def cut_short(actor: Actor, work: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """Begin `work`, and cancel it while the worker thinks, as a stop does."""
    begun = asyncio.Event()

    async def hang(_: Sequence[FactLearned]) -> None:
        begun.set()
        await asyncio.Event().wait()

    actor.thinks = hang
    working = asyncio.create_task(_when_due(work))
    await until_set(begun, working)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


async def test_a_lone_attempt_that_is_cancelled_by_a_stop_is_given_back_uncounted(actor: Actor) -> None:
    actor.raises = {"slow": ValueError("set aside")}
    await actor.life.work(await actor.publish("slow"))
    await cut_short(actor, actor.alone.work_one)
    (row,) = await actor.rows()
    assert (row.attempts, row.reason) == (0, "its process was stopped")


async def test_a_thought_that_takes_too_long_is_given_up_on_and_counted_alone(actor: Actor, kit: Kit) -> None:
    actor.life.kit = replace(kit, settings=kit.settings.model_copy(update={"time_limit_s": 0.05}))

    async def hang(_: Sequence[FactLearned]) -> None:
        await asyncio.Event().wait()

    actor.thinks = hang
    await actor.life.work(await actor.publish("slow"))
    await _when_due(actor.alone.work_one)
    (row,) = await actor.rows()
    assert (row.attempts, "NOUS_TIME_LIMIT_S" in row.reason) == (1, True)


async def test_an_outcome_or_event_the_worker_did_not_promise_is_an_error_and_not_an_effect(actor: Actor) -> None:
    actor.ends = {"strange": Done("danced")}
    await actor.life.work(await actor.publish("strange"))
    (row,) = await actor.rows()
    assert "'danced', which is not in its list ('acted',)" in row.reason
    assert await actor.endings() == {}


async def test_a_malformed_entry_is_parked_once_however_long_its_page_waits(actor: Actor) -> None:
    await actor.life.redis.xadd("fact_learned", {"data": "no event"})
    entries = await actor.publish("good")
    asked = 0

    async def away(_: Sequence[FactLearned]) -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise Outage("the embedder", "connection refused")

    actor.thinks = away
    await actor.life.work(entries)
    assert asked == 3
    assert await actor.life.redis.xlen("fact_learned.parked") == 1
    assert await actor.pending() == 0


async def test_reading_from_the_beginning_parks_nothing_a_second_time(actor: Actor) -> None:
    await actor.life.redis.xadd("fact_learned", {"data": "no event"})
    entries = await actor.publish("good")
    await actor.life.work(entries)
    await actor.life.work(entries)
    assert await actor.life.redis.xlen("fact_learned.parked") == 1


async def test_an_entry_id_of_the_future_dates_nothing_later_than_the_readers_time_allows(actor: Actor) -> None:
    await actor.life.redis.xadd("fact_learned", {"data": "{}"}, id="9999999999999-0")
    (_, later) = await actor.publish("said today")
    ((delivery,), _) = record.opened(actor.life.worker, [later], now=clock.now())
    assert delivery.event.occurred_at <= clock.now() + timedelta(minutes=5)


async def test_what_dead_replicas_leave_is_worked_in_ever_smaller_pages_and_at_last_alone(actor: Actor, kit: Kit) -> None:
    actor.life.kit = replace(kit, settings=kit.settings.model_copy(update={"page": 128}))
    mine, *others = await actor.publish(*(f"event {number}" for number in range(21)))
    actor.life.in_flight[mine.entry_id] += 1
    for sizes in ([20], [16, 4], [2] * 10):
        pages = await actor.taken_over()
        assert [len(page) for page in pages] == sizes
        assert [entry for page in pages for entry in page] == others
        assert await actor.rows() == []
    await actor.life.work(others[1:])
    assert await actor.taken_over() == []
    assert [(row.event_id, row.reason) for row in await actor.rows()] == [("event 1", "its replica died while it was being worked")]
    assert await actor.pending() == 1, "its own"


async def test_what_is_worked_one_by_one_side_by_side_is_worked_alone_when_it_is_left_again(actor: Actor) -> None:
    actor.life.worker = replace(actor.life.worker, side_by_side=20)
    entries = await actor.publish("one", "another")
    assert await actor.taken_over() == [[entry] for entry in entries]
    assert await actor.taken_over() == []
    assert [row.event_id for row in await actor.rows()] == ["another", "one"]


async def test_what_a_stopping_replica_gives_back_is_taken_over_as_if_for_the_first_time(actor: Actor, kit: Kit) -> None:
    actor.life.kit = replace(kit, settings=kit.settings.model_copy(update={"page": 128}))
    entries = await actor.publish("one", "another")
    for _ in range(6):
        assert await actor.taken_over() == [entries], "as one page, however often"
        assert await streams.own_pending(actor.life.redis, GROUP, "by-hand", ["fact_learned"], count=10) == entries
        await streams.give_back(actor.life.redis, GROUP, "by-hand", ["fact_learned"])
    assert await actor.rows() == []


async def test_a_look_that_a_stop_cut_short_is_not_counted(actor: Actor) -> None:
    actor.ends = {"later": RetryLater(timedelta(0), "its other half is missing", together=True, exactly=True, counted=True)}
    await actor.life.work(await actor.publish("later"))
    await cut_short(actor, actor.alone.work_together)
    assert [row.attempts for row in await actor.rows()] == [0]


async def test_a_settled_event_is_never_parked_however_often_it_was_taken(actor: Actor) -> None:
    entries = await actor.publish("done")
    await actor.life.work(entries)
    row = Retry("actor", "agent-1", "done", "fact_learned", entries[0].entry_id, entries[0].fields[b"data"], 99, _now(), "?", _now())
    async with actor.life.kit.database.queue() as db:
        await retries.set_aside(db, [row])
    assert await actor.alone.work_one()
    assert await actor.endings() == {"done": "done"}
    assert await actor.life.redis.xlen("fact_learned.parked") == 0


def _now() -> Any:
    return clock.now()


async def test_a_heartbeat_that_fails_is_said_and_tried_again_and_never_fails_the_work() -> None:
    beats = 0

    async def renew() -> None:
        nonlocal beats
        beats += 1
        raise exceptions.ResponseError("NOGROUP no such group")

    async def beaten() -> bool:
        return beats >= 3

    with capture_logs() as lines:
        async with repeating(renew, every_s=0.01, log=workers_log()):
            await until(beaten, what="three heartbeats")
    assert {line["event"] for line in lines} == {"heartbeat.missed"}


def workers_log() -> Any:
    return structlog.get_logger()


@pytest.mark.parametrize("error", [exceptions.AuthenticationError("WRONGPASS"), exceptions.NoPermissionError("no XADD for you")])
async def test_a_login_redis_refuses_is_misconfigured_and_not_waited_for(error: Exception) -> None:
    with pytest.raises(Misconfigured, match="NOUS_REDIS_URL"):
        async with streams.reachable():
            raise error


@pytest.mark.parametrize("word", ["MISCONF", "OOM", "READONLY", "LOADING"])
async def test_a_redis_that_cannot_write_for_now_is_an_outage(word: str) -> None:
    with pytest.raises(Outage, match=word):
        async with streams.reachable():
            raise exceptions.ResponseError(f"{word} not now")


async def test_a_redis_that_is_full_is_an_outage_also_for_a_pipeline(redis: Redis) -> None:
    await redis.config_set("maxmemory", "1")
    try:
        with pytest.raises(Outage):
            await streams.append(redis, [("fact_stored", "a", b"{}")])
        with pytest.raises(Outage):
            await streams.park(redis, "fact_learned", "deduplicator", {"data": b"{}"}, None)
    finally:
        await redis.config_set("maxmemory", "0")


def test_every_worker_of_the_table_is_found_by_the_name_of_its_file() -> None:
    files = sorted(path.stem for path in (repository() / "workers").glob("[!_]*.py"))
    assert list(workers.table()) == [worker.name for worker in workers.table().values()] == files
    heard = [(stream, name) for stream, names in workers.consumers().items() for name in names]
    assert sorted(heard) == sorted((worker.on.stream, worker.name) for worker in workers.table().values())
    assert ("fact_learned", "deduplicator") in heard
