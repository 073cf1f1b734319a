"""The clock of upkeep: in each period, each task once, whoever looks first and however many look.

tick ─▶ for each task: was everybody told of its period? ─┬─ yes ─▶ nothing
                                                         └─ no ──▶ the agents with something due, in the order of their ids
               ┌──────────────────────────────────────────────────────────┘
               └─▶ a page of them that were not told: a maintenance_due for each and how far it got, committed together ─▶ the next page

Whoever dies between two pages leaves a run that anybody goes on with at the next tick, behind the last agent that was told. A period that
nobody saw begin (a machine was off) is not made up for one by one: what is due goes by age, so the next run catches up once.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from events import MaintenanceDue, derived
from nous import clock
from nous.errors import Contended
from nous.settings import Settings
from store import outbox, upkeep_runs
from store.database import Database
from store.upkeep_runs import Underway

from . import Task, tasks

log = structlog.get_logger()

PAGE = 1_000
"""Agents that are told in one transaction; half a megabyte of letters."""


@dataclass(frozen=True)
class Begun:
    """A task that was begun now, and for how many agents."""

    task: str
    period: str
    agents: int


async def tick(database: Database, settings: Settings) -> list[Begun]:
    """Tell of every task whose period has begun, unless everybody was told; one that cannot be begun keeps no other. Raises Outage."""
    now = clock.now()
    async with database.queue() as db:
        known = await upkeep_runs.told(db, {(task.name, task.period(now)) for task in tasks().values()})
    due = [task for task in tasks().values() if (task.name, task.period(now)) not in known]
    begun = []
    for task in due:
        try:
            begun.append(await begin(database, settings, task, task.period(now), now=now))
        except Contended as error:
            log.warning("upkeep.delayed", task=task.name, reason=str(error), next="tried again by itself")
    return [one for one in begun if one is not None]


async def begin(
    database: Database, settings: Settings, task: Task, period: str, *, now: datetime, agents: Iterable[str] | None = None
) -> Begun | None:
    """Tell the agents that have something due, or these, of a task; None if somebody else told the last of them."""
    if agents is None:
        async with database.overview() as db:
            agents = await task.agents(db, now, settings)
    wanted = sorted(set(agents))
    while isinstance(got := await _told(database, task, period, wanted, now=now), Underway):
        pass
    return got


async def _told(database: Database, task: Task, period: str, wanted: Sequence[str], *, now: datetime) -> Underway | Begun | None:
    """Tell the next page of these, in the order of their ids: how far it got, Begun with the last, None if somebody else told it."""
    async with database.queue() as db:
        run = await upkeep_runs.underway(db, task.name, period, now=now)
        if run is None:
            return None
        left = wanted[bisect_right(wanted, run.told_up_to or "") :]
        page = left[:PAGE]
        await outbox.insert(db, [outbox.letter(_event(task, period, agent, run.begun_at)) for agent in page], now=now)
        got = replace(run, agents=run.agents + len(page), told_up_to=page[-1] if len(left) > PAGE else None)
        await upkeep_runs.tell(db, task.name, period, got)
    if got.told_up_to is not None:
        return got
    log.info("upkeep.begun", task=task.name, period=period, agents=got.agents)
    return Begun(task.name, period, got.agents)


def _event(task: Task, period: str, agent: str, now: datetime) -> MaintenanceDue:
    return MaintenanceDue(
        event_id=derived("maintenance", agent, task.name, period), agent_id=agent, occurred_at=now, task=task.name, period=period
    )
