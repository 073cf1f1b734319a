"""Upkeep, task by task: what of an agent's memory is due, and the event that says so. One module a task, each with a `task`.

    the clock (clock.py) ─▶ which agents have something due ─▶ maintenance_due for each, once in a period
    upkeep_planner       ─▶ a page of what is due ─▶ an event for each memory, and maintenance_due for the next page
    the task's worker    ─▶ looks again under its agent's lock, and does it

What is due is told by data and by the moment of the event, never by the clock on the wall, so that a replay plans the same.
"""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import UUID

from events import Event, MaintenanceDue
from events.upkeep import UpkeepTask
from nous.settings import Settings
from store.database import Read

FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Due:
    """A memory that is due: what would be done with it and why, in words, and the event that gets it done. None is looked at only."""

    memory_id: UUID
    would: str
    why: str
    event: Event


@dataclass(frozen=True)
class Page:
    """What is due of one agent, and what to look at behind it: None when this is the last page."""

    due: Sequence[Due]
    further: MaintenanceDue | None


@dataclass(frozen=True)
class Task:
    """One kind of upkeep. `agents` needs an overview; `due` gives a page, by id, behind `after`, as of `cause.occurred_at`.

    `waiting` says of what is old enough and still not due why that is so; it needs an overview. `decided_by` names the settings that decide
    what is due and what becomes of it.
    """

    name: UpkeepTask
    does: str
    every: timedelta
    agents: Callable[[Read, datetime, Settings], Awaitable[list[str]]]
    due: Callable[[Read, MaintenanceDue, Settings, int], Awaitable[Sequence[Due]]]
    decided_by: tuple[str, ...]
    is_dry: Callable[[Settings], bool] = lambda settings: False  # noqa: ARG005
    waiting: Callable[[Read, str | None, datetime, Settings], Awaitable[Sequence[str]]] | None = None

    async def page(self, db: Read, cause: MaintenanceDue, settings: Settings, *, limit: int) -> Page:
        """So many of the memories of an agent that are due, behind `cause.after`."""
        due = await self.due(db, cause, settings, limit)
        if len(due) < limit:
            return Page(due, None)
        after = due[-1].memory_id
        return Page(due, MaintenanceDue.following(cause, of=str(after), task=cause.task, period=cause.period, after=after))

    def period(self, now: datetime) -> str:
        """The period that `now` (aware) lies in, by the day it began; weeks begin on Monday, in UTC."""
        began = FIRST_MONDAY + (now - FIRST_MONDAY) // self.every * self.every
        return f"{began:%Y-%m-%d}"


@cache
def tasks() -> dict[UpkeepTask, Task]:
    """Every task by its name, in alphabetical order."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    found = (module.task for module in modules if hasattr(module, "task"))
    return {task.name: task for task in sorted(found, key=lambda one: one.name)}
