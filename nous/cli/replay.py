"""`nous replay`: recorded events through the real workers, into a store of their own beside the live one.

live store ──read only──▶ a database beside it, made and brought to shape ──▶ each agent replayed ──▶ what to look at next
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass

from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import providers
from events import CATALOGUE
from nous.errors import UserMistake
from nous.replaying import replay, standing
from nous.replaying.recorded import RecordedEmbedder, RecordedMind
from nous.replaying.replay import Order
from nous.replaying.tally import Made, Tally
from nous.replaying.wanted import Wanted
from nous.settings import Settings
from providers.embedder import Embedder
from providers.mind import Mind, Task
from store import archive, embedders, receipts, replays, spending, upkeep_runs
from store.archive import Archived
from store.database import Database, Read
from store.migrate import migrate
from workers.runtime.calibrated import calibrated
from workers.runtime.worker import Kit

from . import place, screen
from .jsonl import read_roots

SIDE_BY_SIDE = 4  # agents
TOLD_AT_MOST = 10
ARCHIVE, STREAMS = "archive", "streams"
OTHERS = "ended otherwise than live, whether or not the stores came to differ by it"
PLACES = ("HOME", "DATABASE_URL", "REDIS_URL")
"""Settings that say where the live store is; a replay stands beside it."""

Roots = Mapping[str, Sequence[Archived]]


@dataclass(frozen=True)
class Asked:
    """What a person asked for. `sets` are settings to change; `source` is the archive, the live streams, or a file of `nous export`."""

    wanted: Wanted
    agent: str | None
    into: str
    order: Order
    asks: bool
    steps: bool
    sets: Sequence[str]
    source: str


async def run(settings: Settings, asked: Asked, *, is_json: bool) -> bool:
    """Replay; whether every event that is needed was there and settled. Raises UserMistake."""
    for stream in asked.wanted.streams:
        if stream not in CATALOGUE:
            raise UserMistake(f"there is no stream {stream!r}{screen.meant(stream, CATALOGUE)}")
    changed, live_url = with_changes(settings, asked.sets), place.database_url(settings)
    replays.url_of(live_url, asked.into)
    tally, began = Tally(), time.monotonic()
    async with place.database(settings, pool=SIDE_BY_SIDE) as live:
        if changed.embedder == settings.embedder:
            await _hold_to_its_embedder(live, settings)
        changed = await calibrated(live, changed)
        roots = await _given_roots(settings, live, asked.source)
        agents = await _agents(live, asked, roots)
        async with _made(live_url, asked.into, changed) as (fresh, embedder):
            await _replay(live, fresh, changed, asked, embedder, agents, roots, tally)
    _tell(asked, tally, len(agents), time.monotonic() - began, is_json=is_json)
    return tally.is_whole


def with_changes(settings: Settings, sets: Sequence[str]) -> Settings:
    """The settings with these NAME=VALUE instead. Raises UserMistake."""
    changes: dict[str, str] = {}
    for one in sets:
        name, separator, value = one.partition("=")
        name = name.strip().upper().removeprefix("NOUS_")
        if name in PLACES:
            raise UserMistake(f"--set {name} does not do: it says where the live store is, and a replay is made beside that")
        if not separator or name.lower() not in Settings.model_fields:
            known = [known.upper() for known in Settings.model_fields]
            raise UserMistake(f"--set {one!r} does not do; write NAME=VALUE with the name of a setting{screen.meant(name, known)}")
        changes[name.lower()] = value
    try:
        return Settings(**{**{name: getattr(settings, name) for name in settings.model_fields_set}, **changes})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise UserMistake(f"--set {str(first['loc'][0]).upper()}={first['input']} does not do: {screen.plainly(first['msg'])}") from None


# ── what is replayed ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _given_roots(settings: Settings, live: Database, source: str) -> Roots | None:
    """The root events of the source; None when they are the archive's."""
    if source == ARCHIVE:
        return None
    if source == STREAMS:
        async with place.redis(settings) as redis:
            return await standing.roots(live, redis)
    return read_roots(source)


async def _agents(live: Database, asked: Asked, roots: Roots | None) -> list[str]:
    """Whom it is about. Raises UserMistake for an event that nobody knows."""
    named = {*asked.wanted.event_ids, *([asked.wanted.before] if asked.wanted.before else [])}
    async with live.overview() as db:
        if roots is None:
            there = {agent: {row.event_id for row in rows} for agent, rows in (await _naming(db, named)).items()} if named else {}
            everybody = sorted(there) if named else await archive.agents(db)
        else:
            there = {agent: {row.event_id for row in rows} for agent, rows in roots.items()}
            everybody = sorted(agent for agent, known in there.items() if known & named or not named)
    for event in named:
        if not any(event in known for agent, known in there.items() if asked.agent in (None, agent)):
            whose = f" of agent {asked.agent!r}" if asked.agent else ""
            raise UserMistake(f"there is no event {event!r}{whose} in {_where(asked.source)}; an id is given whole")
    found = [agent for agent in everybody if agent and asked.agent in (None, agent)]
    if not found:
        whose = f" of agent {asked.agent!r}" if asked.agent else " to replay"
        raise UserMistake(f"there is nothing{whose} in {_where(asked.source)}")
    return found


async def _naming(db: Read, named: set[str]) -> dict[str, list[Archived]]:
    found: dict[str, list[Archived]] = {}
    for event in sorted(named):
        for row in await archive.named(db, event, agent=None, limit=1_000):
            if row.event_id == event:
                found.setdefault(row.agent_id, []).append(row)
    return found


def _where(source: str) -> str:
    return {ARCHIVE: "the archive", STREAMS: "the streams"}.get(source, source)


async def _hold_to_its_embedder(live: Database, settings: Settings) -> None:
    """Raises Misconfigured when the store's vectors are another embedder's, and nobody asked for that with --set."""
    embedder = providers.unfitted(settings)
    async with live.overview() as db:
        embedders.require(await embedders.active(db), name=embedder.name, dimension=embedder.dimension)
    await embedder.close()


# ── the stores, and what works on them ────────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _made(live: str, name: str, settings: Settings) -> AsyncIterator[tuple[Database, Embedder]]:
    """A store of its own, brought to shape, and the embedder; one whose replay fails is dropped again."""
    embedder = providers.embedder(settings)
    url = await replays.create(live, name)
    try:
        await migrate(url, embedder=embedder.name, dimension=embedder.dimension)
        fresh = Database(url, pool=SIDE_BY_SIDE)
        try:
            yield fresh, embedder
        finally:
            await fresh.close()
        await replays.finish(live, name)
    except BaseException:
        await asyncio.shield(replays.give_up(live, name))
        raise
    finally:
        await embedder.close()


async def _replay(
    live: Database,
    fresh: Database,
    settings: Settings,
    asked: Asked,
    embedder: Embedder,
    agents: Sequence[str],
    roots: Roots | None,
    tally: Tally,
) -> None:
    """Every agent, a few side by side, with a bar on a terminal."""
    async with live.overview() as db:
        since = await upkeep_runs.counted_since(db)
        active, models = await embedders.active(db), await spending.last_models(db)
        decisions = await receipts.count(db, agents)
    async with fresh.switching() as db:
        await upkeep_runs.count_from(db, since)
    async with fresh.read(()) as db:
        registered = await embedders.active(db)
    mind, turns = providers.mind(settings), asyncio.Semaphore(SIDE_BY_SIDE)
    with _bar(decisions, is_hidden=asked.steps) as advance:

        def on_made(made: Made) -> None:
            advance()
            if asked.steps:
                _print_made(made)

        async def one(agent: str) -> None:
            table = active.table if active.name == embedder.name else None
            kit = Kit(
                database=fresh,
                embedder=RecordedEmbedder(embedder, live, table, agent, tally),
                registered=registered,
                settings=settings,
                mind=RecordedMind(_last_asked(models, mind), tally, real=mind if asked.asks else None),
            )
            given = None if roots is None else roots.get(agent, ())
            async with turns:
                await replay.run(agent, live, kit, asked.wanted, tally, order=asked.order, roots=given, on_made=on_made)

        try:
            async with asyncio.TaskGroup() as group:
                for agent in agents:
                    group.create_task(one(agent))
        except* Exception as errors:
            raise _first(errors) from None
        finally:
            await mind.close()


def _first(errors: BaseExceptionGroup[Exception]) -> Exception:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, Exception)  # noqa: S101 - a group of exceptions holds exceptions
    return found


def _last_asked(models: Mapping[str, str], real: Mind) -> dict[Task, str]:
    def last(prefix: str, task: Task) -> str:
        return next((model for worker, model in models.items() if worker.startswith(prefix)), real.model(task))

    return {"relation": last("supersession", "relation"), "writing": last("episode", "writing")}


# ── what a person is told ─────────────────────────────────────────────────────────────────────────────────────────────────


def _print_made(made: Made) -> None:
    live = "" if made.live in (None, made.outcome) else f"  (live: {made.live})"
    reason = f"  {screen.shown(made.reason)}" if made.reason else ""
    print(f"{screen.shown(made.agent_id)}  {made.worker}  {screen.shown(made.event_id)}  {made.outcome}{live}{reason}", flush=True)


def _tell(asked: Asked, tally: Tally, agents: int, seconds: float, *, is_json: bool) -> None:
    if is_json:
        screen.emit({"into": asked.into, "agents": agents, "seconds": round(seconds, 3), **asdict(tally), "unasked": list(tally.unasked)})
        return
    done = f"{screen.plural(tally.fed, 'root event')} fed, {screen.plural(tally.receipts, 'decision')} made"
    print(f"replayed {screen.plural(agents, 'agent')} into {asked.into}: {done} in {seconds:.1f} s")
    for count, noun, what in (
        (tally.extra, "event", "followed here and not live"),
        (tally.missing, "event", "followed live and not here"),
        (tally.embedded, "text", "embedded anew, for no vector of it was kept"),
    ):
        if count:
            print(f"  {screen.plural(count, noun)} {what}")
    taken = "asked now" if asked.asks else "not asked: facts stay apart, conversations stay unread; with --ask the mind is asked"
    for title, listed in (
        (OTHERS, tally.others),
        (f"never asked before, and {taken}", list(tally.unasked)),
        ("had an effect live and not in the archive, so they are left out", tally.absent),
        ("not settled", tally.waiting),
        ("could not be done again", tally.failed),
    ):
        _list(title, listed)
    print(f"what differs: {place.command()} diff {asked.into}")
    print(f"when you are done with it: {place.command()} replays drop {asked.into}")


def _list(title: str, listed: Sequence[str]) -> None:
    if listed:
        print(f"  {len(listed):,} {title}:")
        for one in listed[:TOLD_AT_MOST]:
            print(f"    {screen.shown(one)}")
    if len(listed) > TOLD_AT_MOST:
        print(f"    and {len(listed) - TOLD_AT_MOST:,} more; --json has all")


@contextmanager
def _bar(decisions: int, *, is_hidden: bool) -> Iterator[Callable[[], None]]:
    """How many decisions of so many are made, on a terminal; gives what to call at each."""
    console = screen.err()
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TextColumn("decisions"))
    with Progress(*columns, console=console, transient=True, disable=is_hidden or not console.is_terminal) as bar:
        task = bar.add_task("", total=decisions)
        yield lambda: bar.advance(task)
