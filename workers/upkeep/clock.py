"""The clock of upkeep: in each period, each task once, whoever looks first and however many look.

tick ─▶ for each task: has its period been begun? ─┬─ yes ─▶ nothing
                                                  └─ no ──▶ the agents with something due ─▶ its row and a maintenance_due for each,
                                                            committed together

A period that nobody saw begin (a machine was off) is not made up for one by one: what is due goes by age, so the next run catches up once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from events import MaintenanceDue, derived
from nous import clock
from nous.errors import Contended
from nous.settings import Settings
from store import outbox, upkeep_runs
from store.database import Database

from . import Task, tasks

log = structlog.get_logger()


@dataclass(frozen=True)
class Begun:
    """A task that was begun now, and for how many agents."""

    task: str
    period: str
    agents: int


async def tick(database: Database, settings: Settings) -> list[Begun]:
    """Begin every task whose period has begun and that nobody has begun yet; one that cannot be begun keeps no other. Raises Outage."""
    now = clock.now()
    async with database.queue() as db:
        known = await upkeep_runs.begun(db, {(task.name, task.period(now)) for task in tasks().values()})
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
    """Begin a task for the agents that have something due, or for these; None if somebody else has begun this period of it."""
    if agents is None:
        async with database.overview() as db:
            agents = await task.agents(db, now, settings)
    events = [_event(task, period, agent, now) for agent in sorted(set(agents))]
    async with database.queue() as db:
        if not await upkeep_runs.begin(db, task.name, period, agents=len(events), now=now):
            return None
        await outbox.insert(db, [outbox.letter(event) for event in events], now=now)
    log.info("upkeep.begun", task=task.name, period=period, agents=len(events))
    return Begun(task.name, period, len(events))


def _event(task: Task, period: str, agent: str, now: datetime) -> MaintenanceDue:
    return MaintenanceDue(
        event_id=derived("maintenance", agent, task.name, period), agent_id=agent, occurred_at=now, task=task.name, period=period
    )
