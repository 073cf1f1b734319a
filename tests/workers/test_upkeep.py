"""Upkeep begins on time, once, whoever looks; and names every memory that is due, page by page."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from redis.asyncio import Redis

from events import FactUnused, MaintenanceDue
from nous import clock
from nous.errors import Contended
from nous.settings import Settings
from store import outbox, upkeep_runs
from store.database import Database, Read, Write
from tests.factories import AGENT, NOON
from tests.workers.conftest import Bench
from workers import upkeep_planner
from workers.runtime.sweep import announce
from workers.runtime.worker import Kit
from workers.upkeep import Due, Task
from workers.upkeep import clock as upkeep_clock

WEEK = timedelta(days=7)


def a_task(*, due: int, agents: Sequence[str] = (AGENT,), is_dry: bool = False) -> Task:
    """Facts 1 to `due` are due, of every agent."""

    async def whose(db: Read, now: datetime, settings: Settings) -> list[str]:
        return list(agents)

    async def page(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> list[Due]:
        first = cause.after.int + 1 if cause.after else 1
        ids = [UUID(int=number) for number in range(first, due + 1)][:limit]
        events = [FactUnused.following(cause, of=str(one), fact_id=one, step="demote") for one in ids]
        return [Due(one, "demoted", "nobody asked", event) for one, event in zip(ids, events, strict=True)]

    return Task("facts", "demotes", WEEK, whose, page, (), lambda settings: is_dry)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[Task], Task]:
    """Make this the only task there is."""

    def make(task: Task) -> Task:
        for module in (upkeep_clock, upkeep_planner):
            monkeypatch.setattr(module, "tasks", lambda: {task.name: task})
        return task

    return make


async def told(database: Database, agent: str) -> list[MaintenanceDue]:
    """What of upkeep the outbox holds for an agent."""
    async with database.read([agent]) as db:
        rows = await outbox.unpublished(db, before=clock.later(clock.now(), timedelta(days=1)), limit=10_000)
    return [MaintenanceDue.model_validate_json(one.body) for one in rows if (one.agent_id, one.stream) == (agent, "maintenance_due")]


# ── the clock ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("moment", "period"),
    [
        ("2026-11-29T23:59:59+00:00", "2026-11-23"),
        ("2026-11-30T00:00:00+00:00", "2026-11-30"),
        ("2026-11-30T00:30:00+01:00", "2026-11-23"),
        ("2026-12-06T12:00:00+00:00", "2026-11-30"),
    ],
)
def test_a_week_begins_on_monday_in_utc(moment: str, period: str) -> None:
    assert a_task(due=0).period(datetime.fromisoformat(moment)) == period


async def test_a_period_is_begun_once_by_however_many_look_at_once(
    database: Database, database_url: str, only: Callable[[Task], Task]
) -> None:
    only(a_task(due=1, agents=["once-a", "once-b"]))
    other = Database(database_url, pool=1)
    with clock.held(datetime(2027, 1, 4, tzinfo=UTC)):
        looked = await asyncio.gather(*(upkeep_clock.tick(one, Settings()) for one in (database, other, database, other)))
        assert await upkeep_clock.tick(database, Settings()) == []
        letters = [await told(database, agent) for agent in ("once-a", "once-b")]
    await other.close()
    assert sum(map(len, looked)) == 1
    assert [len(one) for one in letters] == [1, 1]
    assert letters[0][0].period == "2027-01-04"


async def test_what_was_missed_is_caught_up_with_once(database: Database, only: Callable[[Task], Task]) -> None:
    only(a_task(due=1, agents=["missed"]))
    monday = datetime(2028, 1, 3, tzinfo=UTC)
    found = []
    for days in (0, 1, 6, 7 * 5, 7 * 5 + 1):  # a machine that was off for four weeks
        with clock.held(monday + timedelta(days=days)):
            found.append(len(await upkeep_clock.tick(database, Settings())))
    assert found == [1, 0, 0, 1, 0]


async def test_a_run_whose_letters_cannot_be_kept_was_not_begun(
    database: Database, only: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    only(a_task(due=1, agents=["broken"]))
    with clock.held(datetime(2029, 1, 1, tzinfo=UTC)):
        with monkeypatch.context() as broken:

            async def fail(*_: object, **__: object) -> None:
                raise ConnectionError("gone")

            broken.setattr(outbox, "insert", fail)
            with pytest.raises(ConnectionError):
                await upkeep_clock.tick(database, Settings())
        assert len(await upkeep_clock.tick(database, Settings())) == 1


async def test_agents_are_told_page_by_page_and_after_a_crash_in_between_the_rest_are_told_and_nobody_twice(
    database: Database, only: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [f"paged-{number}" for number in range(7)]
    only(a_task(due=1, agents=agents[::-1]))
    monkeypatch.setattr(upkeep_clock, "PAGE", 3)
    monday, insert = datetime(2032, 1, 5, tzinfo=UTC), outbox.insert
    with monkeypatch.context() as broken:

        async def dies_on_the_second(db: Write, letters: Sequence[outbox.Letter], *, now: datetime) -> None:
            await insert(db, letters, now=now)
            if letters[0].agent_id == agents[3]:
                raise ConnectionError("gone")

        broken.setattr(outbox, "insert", dies_on_the_second)
        with clock.held(monday), pytest.raises(ConnectionError):
            await upkeep_clock.tick(database, Settings())
    with clock.held(monday):
        assert [len(await told(database, agent)) for agent in agents] == [1, 1, 1, 0, 0, 0, 0]
    only(a_task(due=1, agents=agents[2:]))  # the first have had their upkeep by now
    with clock.held(monday + timedelta(days=1)):
        (begun,) = await upkeep_clock.tick(database, Settings())
        assert await upkeep_clock.tick(database, Settings()) == []
        letters = [await told(database, agent) for agent in agents]
    assert (begun.agents, [len(one) for one in letters]) == (7, [1] * 7)
    assert {(one.period, one.occurred_at) for of_one in letters for one in of_one} == {("2032-01-05", monday)}, "as of when it was begun"


async def test_replicas_that_tell_pages_at_once_tell_each_agent_once(
    database: Database, database_url: str, only: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [f"shared-{number:02}" for number in range(20)]
    only(a_task(due=1, agents=agents))
    monkeypatch.setattr(upkeep_clock, "PAGE", 2)
    other, inserted, insert = Database(database_url, pool=1), list[str](), outbox.insert

    async def noted(db: Write, letters: Sequence[outbox.Letter], *, now: datetime) -> None:
        inserted.extend(one.agent_id for one in letters)
        await insert(db, letters, now=now)

    monkeypatch.setattr(outbox, "insert", noted)
    with clock.held(datetime(2033, 1, 3, tzinfo=UTC)):
        looked = await asyncio.gather(*(upkeep_clock.tick(one, Settings()) for one in (database, other, database)))
    await other.close()
    assert [one.agents for ones in looked for one in ones] == [20]
    assert inserted == agents


async def test_a_task_that_cannot_be_begun_keeps_no_other(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(db: Read, now: datetime, settings: Settings) -> list[str]:
        raise Contended("Postgres", "the statement took too long")

    stuck, fine = replace(a_task(due=1), agents=fail), replace(a_task(due=1, agents=["fine"]), name="procedures")
    monkeypatch.setattr(upkeep_clock, "tasks", lambda: {"facts": stuck, "procedures": fine})
    with clock.held(datetime(2031, 1, 6, tzinfo=UTC)):
        assert [one.task for one in await upkeep_clock.tick(database, Settings())] == ["procedures"]
        assert await upkeep_clock.tick(database, Settings()) == [], "and the other one is still to be begun"
    async with database.overview() as db:
        runs = {one.task: one for one in await upkeep_runs.latest(db)}
    assert runs["procedures"].period == "2031-01-06"
    assert "facts" not in runs or runs["facts"].period != "2031-01-06"


# ── the planner ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def planned(bench: Bench, redis: Redis, first: MaintenanceDue) -> list[int]:
    """Work it and the pages behind it; how many events each page led to."""
    pages, read, next_ones = [], 0, [first]
    while next_ones:
        await bench.work(*next_ones)
        found = await bench.published("maintenance_due")
        next_ones = [MaintenanceDue.model_validate(one) for one in found[read:]]
        read = len(found)
        pages.append(len(await bench.published("fact_unused")))
    return pages


def due(period: str = "2026-03-02") -> MaintenanceDue:
    return MaintenanceDue(event_id=f"due-{period}", agent_id=AGENT, occurred_at=NOON, task="facts", period=period)


async def test_every_memory_that_is_due_is_named_once_page_by_page(
    bench: Callable[[str], Bench], redis: Redis, only: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    only(a_task(due=7))
    monkeypatch.setattr(upkeep_planner, "PAGE", 3)
    planner = bench("upkeep_planner")
    assert await planned(planner, redis, due()) == [3, 6, 7]
    named = await planner.published("fact_unused")
    assert [UUID(one["fact_id"]).int for one in named] == [1, 2, 3, 4, 5, 6, 7]
    assert {one["occurred_at"] for one in named} == {due().model_dump(mode="json")["occurred_at"]}
    assert await planner.outcomes(AGENT) == ["planned"] * 3
    await planner.work(due())
    assert len(await planner.published("fact_unused")) == 7, "a redelivery has no second effect"


async def test_a_dry_run_says_in_its_receipts_what_it_would_do_and_does_nothing(
    bench: Callable[[str], Bench], redis: Redis, only: Callable[[Task], Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    only(a_task(due=4, is_dry=True))
    monkeypatch.setattr(upkeep_planner, "PAGE", 3)
    planner = bench("upkeep_planner")
    assert await planned(planner, redis, due("2026-03-09")) == [0, 0]
    receipts = await planner.receipts(AGENT)
    assert [one.outcome for one in receipts] == ["looked", "looked"]
    assert [len(one.evidence["due"]) for one in receipts] == [3, 1]
    assert receipts[0].evidence["due"][str(UUID(int=1))] == "demoted: nobody asked"


async def test_where_nothing_is_due_nothing_is_done(bench: Callable[[str], Bench], only: Callable[[Task], Task]) -> None:
    only(a_task(due=0))
    planner = bench("upkeep_planner")
    await planner.work(due("2026-03-16"))
    assert await planner.outcomes(AGENT) == ["nothing_due"]


async def test_what_is_begun_reaches_the_planner(
    kit: Kit, redis: Redis, bench: Callable[[str], Bench], only: Callable[[Task], Task]
) -> None:
    only(a_task(due=2, agents=[AGENT]))
    with clock.held(datetime(2030, 1, 7, tzinfo=UTC)):
        await upkeep_clock.tick(kit.database, Settings())
        letters = await told(kit.database, AGENT)
    planner = bench("upkeep_planner")
    async with kit.database.read([AGENT]) as db:
        await announce(kit.database, redis, await outbox.of_events(db, AGENT, [one.event_id for one in letters]))
    (sent,) = await planner.published("maintenance_due")
    await planner.work(MaintenanceDue.model_validate(sent))
    assert len(await planner.published("fact_unused")) == 2
