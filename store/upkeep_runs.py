"""Runs of upkeep: which period of which task was begun, when, and for how many agents. Of no agent, so none of its words are here."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from .database import Read, Switch, Write

USAGE = "usage"
"""Since when it is counted how often memories are found."""


@dataclass(frozen=True)
class Run:
    """One task in one period."""

    task: str
    period: str
    agents: int
    begun_at: datetime


async def begin(db: Write, task: str, period: str, *, agents: int, now: datetime) -> bool:
    """Whether it is ours to do: False when it was begun before, or by somebody at this moment, who is waited for."""
    done = await db.execute(
        text("INSERT INTO bus.upkeep_runs (task, period, agents, begun_at) VALUES (:task, :period, :agents, :now) ON CONFLICT DO NOTHING"),
        {"task": task, "period": period, "agents": agents, "now": now},
    )
    return bool(done.rowcount)  # type: ignore[attr-defined]  # an INSERT gives a CursorResult


async def begun(db: Read, wanted: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Which of these (task, period) were begun."""
    rows = await db.execute(
        text(
            "SELECT task, period FROM bus.upkeep_runs JOIN"
            " unnest(CAST(:tasks AS text[]), CAST(:periods AS text[])) AS q(task, period) USING (task, period)"
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
