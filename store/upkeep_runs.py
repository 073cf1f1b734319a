"""Runs of upkeep: which period of which task was begun, when, and how many agents were told. Of no agent, so none of its words are here.

begun ─▶ told up to an agent, page by page ─▶ told_up_to is NULL: everybody
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from .database import Read, Switch, Write

USAGE = "usage"
"""Since when it is counted how often memories are found."""


@dataclass(frozen=True)
class Run:
    """One task in one period; `agents` were told so far."""

    task: str
    period: str
    agents: int
    begun_at: datetime


@dataclass(frozen=True)
class Underway:
    """How far a run got: the agent that was told last, by their ids ("" before the first, None after the last), and how many were."""

    told_up_to: str | None
    agents: int
    begun_at: datetime


async def underway(db: Write, task: str, period: str, *, now: datetime) -> Underway | None:
    """The run of this task in this period, begun `now` if nobody has; None once everybody is told.

    It is ours until the transaction ends: whoever else wants to go on with it waits, and goes on behind it.
    """
    key = {"task": task, "period": period}
    await db.execute(
        text(
            "INSERT INTO bus.upkeep_runs (task, period, agents, begun_at, told_up_to) VALUES (:task, :period, 0, :now, '')"
            " ON CONFLICT DO NOTHING"
        ),
        {**key, "now": now},
    )
    found = await db.execute(
        text("SELECT told_up_to, agents, begun_at FROM bus.upkeep_runs WHERE task = :task AND period = :period FOR UPDATE"), key
    )
    run = Underway(**found.one()._mapping)
    return run if run.told_up_to is not None else None


async def tell(db: Write, task: str, period: str, got: Underway) -> None:
    """Write down how far it got."""
    await db.execute(
        text("UPDATE bus.upkeep_runs SET agents = :agents, told_up_to = :told_up_to WHERE task = :task AND period = :period"),
        {"task": task, "period": period, "agents": got.agents, "told_up_to": got.told_up_to},
    )


async def told(db: Read, wanted: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Of which of these (task, period) everybody was told."""
    rows = await db.execute(
        text(
            "SELECT task, period FROM bus.upkeep_runs JOIN"
            " unnest(CAST(:tasks AS text[]), CAST(:periods AS text[])) AS q(task, period) USING (task, period) WHERE told_up_to IS NULL"
        ),
        {"tasks": [task for task, _ in wanted], "periods": [period for _, period in wanted]},
    )
    return {(row.task, row.period) for row in rows}


async def latest(db: Read) -> list[Run]:
    """The run of each task that was begun last."""
    rows = await db.execute(
        text("SELECT DISTINCT ON (task) task, period, agents, begun_at FROM bus.upkeep_runs ORDER BY task, begun_at DESC")
    )
    return [Run(row.task, row.period, row.agents, row.begun_at) for row in rows]


async def counted_since(db: Read) -> datetime:
    """Since when it is counted how often memories are found: what was not found before that says nothing."""
    at: datetime = (await db.execute(text("SELECT at FROM bus.since WHERE what = :what"), {"what": USAGE})).scalar_one()
    return at


async def count_from(db: Switch, at: datetime) -> None:
    """Let use be counted from another moment on: in a store beside another, from the one of that."""
    await db.execute(text("UPDATE bus.since SET at = :at WHERE what = :what"), {"what": USAGE, "at": at})
