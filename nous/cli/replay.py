"""`nous replay`, `nous replays`: recorded events through the real workers, into a store of their own beside the live one.

live store ──read only──▶ a database beside it, made and brought to shape ──▶ each agent replayed ──▶ what to look at next
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import providers
from events import CATALOGUE
from nous.errors import UserMistake
from nous.replaying.recorded import RecordedEmbedder, RecordedMind
from nous.replaying.replay import Made, Order, Replay, Tally, Wanted
from nous.settings import Settings
from providers.mind import Mind, Task
from store import archive, embedders, replays, spending
from store.database import Database
from store.migrate import migrate
from workers.runtime.worker import Kit

from . import place, screen
from .jsonl import Recorded, read_recorded

SIDE_BY_SIDE = 4  # agents
TOLD_AT_MOST = 10


@dataclass(frozen=True)
class Asked:
    """What a person asked for. `sets` are settings to change, `source` the archive (None), or a file of `nous export`."""

    wanted: Wanted
    agent: str | None
    into: str
    order: Order
    asks: bool
    steps: bool
    sets: Sequence[str]
    source: str | None


async def run(settings: Settings, asked: Asked, *, is_json: bool) -> bool:
    """Replay; whether every event that is needed was there and settled."""
    for stream in asked.wanted.streams:
        if stream not in CATALOGUE:
            raise UserMistake(f"there is no stream {stream!r}{screen.meant(stream, CATALOGUE)}")
    changed, live_url = with_changes(settings, asked.sets), place.database_url(settings)
    recorded = read_recorded(asked.source) if asked.source else None
    tally, began = Tally(), time.monotonic()
    async with place.database(settings, pool=SIDE_BY_SIDE) as live:
        agents = await _agents(live, asked, recorded)
        async with _made(live_url, asked.into, changed) as (url, embedder):
            fresh = Database(url, pool=SIDE_BY_SIDE)
            try:
                one = await _replaying(live, fresh, changed, asked, embedder, tally, printed=_print_made if asked.steps else None)
                await _each(agents, one, recorded, asked.order)
            finally:
                await fresh.close()
    _tell(asked, tally, len(agents), time.monotonic() - began, is_json=is_json)
    return not (tally.absent or tally.waiting or tally.failed)


def with_changes(settings: Settings, sets: Sequence[str]) -> Settings:
    """The settings with these KEY=VALUE instead. Raises UserMistake."""
    changes: dict[str, str] = {}
    for one in sets:
        name, separator, value = one.partition("=")
        key = name.strip().lower().removeprefix("nous_")
        if not separator or key not in Settings.model_fields:
            known = [known.upper() for known in Settings.model_fields]
            raise UserMistake(f"--set {one!r} does not do; write NAME=VALUE with the name of a setting{screen.meant(name.upper(), known)}")
        changes[key] = value
    try:
        return Settings(**{**{name: getattr(settings, name) for name in ("home", "database_url", "redis_url")}, **changes})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UserMistake(f"--set {str(first['loc'][0]).upper()}={first['input']} does not do: {screen.plainly(first['msg'])}") from None


async def list_replays(settings: Settings, *, is_json: bool) -> None:
    """Print the replay stores beside the live one."""
    found = await replays.listed(place.database_url(settings))
    if is_json:
        screen.emit([{"name": name, "bytes": size} for name, size in found])
        return
    if not found:
        print(f"No replays. Make one: {place.command()} replay --into try1")
        return
    table = screen.table("replay", "megabytes", right=("megabytes",))
    for name, size in found:
        table.add_row(name, f"{size / 1e6:,.0f}")
    screen.out().print(table)


async def drop(settings: Settings, name: str) -> None:
    """Drop a replay store."""
    await replays.drop(place.database_url(settings), name)
    print(f"dropped the replay {name}")


# ── the stores, and what works on them ────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _made(live: str, name: str, settings: Settings) -> AsyncIterator[tuple[str, Any]]:
    """A store of its own, brought to shape, and the embedder; one whose replay fails is dropped again."""
    embedder = providers.embedder(settings)
    url = await replays.create(live, name)
    try:
        await migrate(url, embedder=embedder.name, dimension=embedder.dimension)
        yield url, embedder
    except BaseException:
        await asyncio.shield(replays.drop(live, name))
        raise
    finally:
        await embedder.close()


async def _replaying(
    live: Database,
    fresh: Database,
    settings: Settings,
    asked: Asked,
    embedder: Any,
    tally: Tally,
    *,
    printed: Callable[[Made], None] | None,
) -> Callable[[str], Replay]:
    async with live.overview() as db:
        active, models = await embedders.active(db), await spending.last_models(db)
    async with fresh.read(()) as db:
        registered = await embedders.active(db)
    real = providers.mind(settings)
    names = _last_asked(models, real)

    def make(agent: str) -> Replay:
        table = active.table if active.name == embedder.name else None
        kit = Kit(
            database=fresh,
            embedder=RecordedEmbedder(embedder, live, table, agent, tally),
            registered=registered,
            settings=settings,
            mind=RecordedMind(names, tally, real=real if asked.asks else None),
        )
        return Replay(agent, live, kit, asked.wanted, tally, on_made=printed or (lambda _: None))

    return make


def _last_asked(models: dict[str, str], real: Mind) -> dict[Task, str]:
    def last(prefix: str, task: Task) -> str:
        return next((model for worker, model in models.items() if worker.startswith(prefix)), real.model(task))

    return {"relation": last("supersession", "relation"), "writing": last("episode", "writing")}


async def _agents(live: Database, asked: Asked, recorded: Recorded | None) -> list[str]:
    if asked.agent is not None:
        return [asked.agent]
    if recorded is not None:
        return sorted(recorded)
    async with live.overview() as db:
        if asked.wanted.before is not None:
            return [row.agent_id for row in await archive.within(db, asked.wanted.before, asked.wanted.before, agent=None, limit=1)]
        return [agent for agent in await archive.agents(db) if agent]


async def _each(agents: Sequence[str], make: Callable[[str], Replay], recorded: Recorded | None, order: Order) -> None:
    """Every agent, a few side by side, with a bar on a terminal."""
    turns = asyncio.Semaphore(SIDE_BY_SIDE)
    console = screen.err()
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(agents))

        async def one(agent: str) -> None:
            async with turns:
                await make(agent).run(order, recorded.get(agent, ()) if recorded is not None else None)
            bar.advance(task)

        async with asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(one(agent))


# ── what a person is told ─────────────────────────────────────────────────────────────────────────────────────────────────


def _print_made(made: Made) -> None:
    whose = f"{screen.shown(made.agent_id)}  {made.worker}  {screen.shown(made.event_id)}"
    live = "" if made.live in (None, made.outcome) else f"  (live: {made.live})"
    print(f"{whose}  {made.outcome}{live}{f'  {screen.shown(made.reason)}' if made.reason else ''}", flush=True)


def _tell(asked: Asked, tally: Tally, agents: int, seconds: float, *, is_json: bool) -> None:
    if is_json:
        screen.emit({"into": asked.into, "agents": agents, "seconds": round(seconds, 3), **asdict(tally)})
        return
    made = f"{screen.plural(tally.fed, 'root event')}, {screen.plural(tally.receipts, 'decision')}"
    speed = f"{seconds:.1f} s ({tally.receipts / seconds:,.0f} a second)"
    print(f"replayed {screen.plural(agents, 'agent')} into {asked.into}: {made} in {speed}")
    notes = [
        (tally.otherwise, "decided otherwise than live"),
        (tally.extra, "followed that did not live"),
        (tally.embedded, "embedded anew, their vectors were not recorded"),
    ]
    for count, what in notes:
        if count:
            print(f"  {count:,} {what}")
    for title, listed in (
        ("never asked before, and taken as unsure (--ask asks)", tally.unasked),
        ("needed, and not in the archive", tally.absent),
        ("did not settle", tally.waiting),
        ("failed", tally.failed),
    ):
        if listed:
            print(f"  {len(listed):,} {title}:")
            for one in listed[:TOLD_AT_MOST]:
                print(f"    {screen.shown(one)}")
    print(f"next: {place.command()} diff {asked.into}, then: {place.command()} replays drop {asked.into}")
