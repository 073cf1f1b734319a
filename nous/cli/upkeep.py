"""`nous upkeep run | status`: memory is looked after when its time has come, by whoever runs this; and what was begun.

run             what is due in this period and was not begun ─▶ maintenance_due for each agent ─▶ the workers
run --now       again, whatever the clock says
run --dry-run   the same looked at: each memory, what would be done and why, by which settings; nothing is changed
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.progress import Progress, SpinnerColumn, TextColumn

from events import MaintenanceDue
from events.upkeep import UpkeepTask
from nous import clock
from nous.errors import UserMistake
from nous.settings import Settings
from store import upkeep_runs
from store.database import Database
from workers.upkeep import Due, Task, tasks
from workers.upkeep.clock import Begun, begin, tick

from . import named, place, screen, unheard

SHOWN = 20
"""Memories of each task that a dry run tells on a terminal; all are counted, and --json has all."""

AT_ONCE = 1_000


async def run(settings: Settings, *, names: Sequence[str], agent: str | None, is_now: bool, is_json: bool) -> None:
    """Begin what is due. Raises UserMistake for a task or an agent that is none."""
    chosen = _chosen(names)
    if agent is not None:
        named.valid(agent)
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, agent)
        if not is_now and agent is None and len(chosen) == len(tasks()):
            begun = await tick(database, settings)
        else:
            begun = [one for task in chosen if (one := await _by_hand(database, settings, task, agent, is_now=is_now))]
    if is_json:
        screen.emit([asdict(one) for one in begun])
        return
    for one in begun:
        whose = f"{screen.plural(one.agents, 'agent')} with something due" if agent is None else f"agent {screen.shown(agent)}"
        print(f"{one.task}: begun for {whose}")
    waiting = [task.name for task in chosen if task.name not in {one.task for one in begun}]
    if waiting:
        print(f"{', '.join(waiting)}: begun already in this period; again now: {place.command()} upkeep run --now")


async def look(settings: Settings, *, names: Sequence[str], agent: str | None, is_json: bool) -> None:
    """Print what would be done and why. Raises UserMistake for a task or an agent that is none."""
    chosen, counts = _chosen(names), dict.fromkeys(tasks(), 0)
    if agent is not None:
        named.valid(agent)
    found: list[dict[str, Any]] = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=screen.err(), transient=True) as progress:
        bar = progress.add_task("looking")
        async with place.database(settings) as database:
            async with database.overview() as db:
                await unheard.refuse(db, agent)
                waiting = {task.name: await task.waiting(db, agent, clock.now(), settings) for task in chosen if task.waiting}
            async for task, whose, due in _due(database, settings, chosen, agent):
                counts[task.name] += len(due)
                progress.update(bar, description=f"{task.name}: {counts[task.name]:,} due")
                room = len(due) if is_json else max(SHOWN - sum(one["task"] == task.name for one in found), 0)
                found += [_as_data(task, whose, one) for one in due[:room]]
    if is_json:
        screen.emit({"settings": {task.name: _decided_by(task, settings) for task in chosen}, "due": found, "waiting": waiting})
        return
    if found:
        made = screen.table("task", "agent", "memory", "would be", "why")
        for one in found:
            made.add_row(one["task"], screen.said(one["agent_id"]), str(one["id"])[:8], screen.said(one["would"]), screen.said(one["why"]))
        screen.print_list(made)
    for task in chosen:
        dry = "; its settings change nothing (a dry run)" if counts[task.name] and task.is_dry(settings) else ""
        screen.say(f"{task.name}: {counts[task.name]:,} due{dry}, by {' '.join(map('='.join, _decided_by(task, settings).items()))}")
        for sentence in waiting.get(task.name, ()):
            screen.say(sentence, indent=2)
    screen.say("These are the settings of this shell. Workers go by those of their own process, by which other memories may be due.")


async def status(settings: Settings, *, is_json: bool) -> None:
    """Print what was begun last, and what each task is for."""
    async with place.database(settings) as database, database.overview() as db:
        runs = {one.task: one for one in await upkeep_runs.latest(db)}
    if is_json:
        screen.emit([asdict(one) for one in runs.values()])
        return
    made = screen.table("task", "does", "every", "begun last", "agents", right=("agents",))
    for task in tasks().values():
        last = runs.get(task.name)
        every = "day" if task.every.days == 1 else f"{task.every.days} days"
        made.add_row(task.name, task.does, every, screen.moment(last.begun_at) if last else "never", str(last.agents) if last else "")
    screen.print_list(made)


def _chosen(names: Sequence[str]) -> list[Task]:
    known = tasks()
    return [known[_task(name)] for name in names] if names else list(known.values())


def _task(name: str) -> UpkeepTask:
    for known in tasks():
        if known == name:
            return known
    raise UserMistake(f"there is no task {name!r}{screen.meant(name, tasks())}; the tasks are {', '.join(tasks())}")


async def _by_hand(database: Database, settings: Settings, task: Task, agent: str | None, *, is_now: bool) -> Begun | None:
    now = clock.now()
    period = f"{now.isoformat()} by hand" if is_now or agent is not None else task.period(now)
    return await begin(database, settings, task, period, now=now, agents=None if agent is None else [agent])


async def _due(
    database: Database, settings: Settings, chosen: Sequence[Task], agent: str | None
) -> AsyncIterator[tuple[Task, str, Sequence[Due]]]:
    """Every page of what is due, as the planner would see it."""
    now = clock.now()
    for task in chosen:
        agents = [] if agent is None else [agent]
        if agent is None:
            async with database.overview() as db:
                agents = sorted(await task.agents(db, now, settings))
        for whose in agents:
            cause: MaintenanceDue | None = MaintenanceDue(event_id="look", agent_id=whose, occurred_at=now, task=task.name, period="look")
            while cause is not None:
                async with database.read([whose]) as db:
                    page = await task.page(db, cause, settings, limit=AT_ONCE)
                yield task, whose, page.due
                cause = page.further


def _decided_by(task: Task, settings: Settings) -> dict[str, str]:
    """The settings that decide what is due, as they are written in the environment."""
    values = settings.model_dump(mode="json", include=set(task.decided_by))
    return {f"NOUS_{name.upper()}": _written(values[name]) for name in task.decided_by}


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _as_data(task: Task, agent: str, one: Due) -> dict[str, Any]:
    return {"task": task.name, "agent_id": agent, "id": one.memory_id, "would": one.would, "why": one.why}
