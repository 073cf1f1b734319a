"""`nous publish`: events onto their stream, from a file of any size, from a pipe, or one typed as key=value.

    bytes as they come ──▶ lines ──▶ decoded as a worker would ──▶ given an event_id ──▶ 500 in one round trip ──▶ entry ids
                                           └──▶ rejected: its line number and why, on standard error; the rest is sent

What is sent is the line as it was written, unknown fields too. A file can be published again after any interruption: the events that
arrived before have their ids again, and one effect.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

import events
import workers
from events import Event, MalformedEvent
from nous.errors import Outage, UserMistake
from nous.settings import Settings
from workers.runtime import streams, traces

from . import lines, place, screen
from .key_value import typed
from .lines import Line
from .ready import Ready, ready
from .tally import REJECTS_TOLD, Ids, Json, Sums, Tally

BATCH = 500
LAST_BATCH_S = 5.0  # what is on its way when Ctrl-C comes has so long to arrive, so that it is counted
NAMES_LOOKED_AT = 1_000  # of unknown fields, each once
MISSPELT = 0.8  # so alike is a slip of the finger, not another name

BY_COMMAND = {
    "agent_forgotten": "nous agent forget",
    "censor_added": "nous censor add",
    "censor_relaxed": "nous censor relax",
    "episode_restored": "nous episode restore",
    "episode_thawed": "nous episode thaw",
    "fact_forgotten": "nous fact forget",
    "fact_joined": "nous fact merge",
    "fact_pinned": "nous fact pin",
    "fact_reinstated": "nous fact restore",
    "fact_restored": "nous fact restore",
    "fact_retired": "nous fact retire",
    "fact_split": "nous fact split",
    "fact_unpinned": "nous fact unpin",
    "procedure_restored": "nous procedure restore",
}

ALSO_BY_WORKERS = {"fact_learned"}
"""What agents publish and workers too: a fact, told or taken from an episode."""

Append = Callable[[Sequence[Ready]], Coroutine[None, None, list[str]]]
"""Sends events, and gives their entry ids in order."""

# ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def publish_file(settings: Settings, event: str, file: str, *, is_json: bool, with_ids: bool) -> bool:
    """Publish every line of `file` (`-` is standard input); whether none was rejected."""
    kind = _kind(event)
    with lines.opened(file) as descriptor, _progress(file) as advance:
        printer = Json() if is_json else Ids() if with_ids else Sums()
        tally = Tally(kind.stream)
        try:
            asyncio.run(_send_all(settings, kind, lines.pages(descriptor), tally, printer, advance))
        except (Outage, KeyboardInterrupt, asyncio.CancelledError) as stopped:
            _end(tally, printer)
            _say_how_far(tally)
            if isinstance(stopped, asyncio.CancelledError):
                raise KeyboardInterrupt from None
            raise
    _end(tally, printer)
    _note_if_unheard(kind)
    return not tally.rejected


def publish_one(settings: Settings, event: str, pairs: Iterable[str], *, is_json: bool) -> None:
    """Publish one event written as key=value. Raises UserMistake saying what does not fit."""
    kind = _kind(event)
    one = typed(kind, pairs)
    (entry_id,) = asyncio.run(_send(settings, kind, [one]))
    told = {"event_id": one.event_id, "entry_id": entry_id, **one.made}
    if is_json:
        screen.emit({"stream": kind.stream, **told})
        return
    print(f"sent to {kind.stream}")
    for name, value in told.items():
        print(f"  {name:9} {value}{'  (follows from agent_id and content)' if name in one.made else ''}")
    _note_if_unheard(kind)


# ── sending ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _send_all(
    settings: Settings,
    kind: type[Event],
    pages: AsyncIterator[list[Line]],
    tally: Tally,
    printer: Sums,
    advance: Callable[[int, int], None],
) -> None:
    spelling = Spelling(kind)
    with _cancelled_by_ctrl_c():
        async with _connected(settings, kind) as append:
            async for page in pages:
                fit = _accepted(kind, page, tally, printer)
                while batch := list(islice(fit, BATCH)):
                    entry_ids, is_interrupted = await _whole(append(batch))
                    for one, entry_id in zip(batch, entry_ids, strict=True):
                        spelling.look_at(one.line, one.fields)
                        tally.count(one, entry_id)
                        printer.sent(one, entry_id)
                    if is_interrupted:
                        raise asyncio.CancelledError
                advance(sum(line.size for line in page), tally.sent)


@contextmanager
def _cancelled_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C cancels the block whenever it comes: the handler of asyncio.run is not called when that is just before the loop waits."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is None or threading.current_thread() is not threading.main_thread():  # only the main thread hears of signals
        yield
        return
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _send(settings: Settings, kind: type[Event], batch: Sequence[Ready]) -> list[str]:
    async with _connected(settings, kind) as append:
        return await append(batch)


async def _whole(sending: Coroutine[None, None, list[str]]) -> tuple[list[str], bool]:
    """The entry ids of a batch, and whether Ctrl-C came meanwhile."""
    task = asyncio.create_task(sending)
    try:
        return await asyncio.shield(task), False
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAST_BATCH_S)
        if not task.done():
            task.cancel()
            raise
        return task.result(), True


def _accepted(kind: type[Event], page: Iterable[Line], tally: Tally, printer: Sums) -> Iterator[Ready]:
    for line in page:
        if not line.body.strip():
            continue
        try:
            yield ready(kind, line)
        except MalformedEvent as error:
            reason = screen.unprefixed(str(error))
            tally.reject(line.number, reason)
            printer.rejected(line.number, reason)


class Spelling:
    """Unknown fields are allowed and sent; one that looks like a known one, which is missing, is warned about once."""

    def __init__(self, kind: type[Event]) -> None:
        self.kind = kind
        self.seen: set[str] = set(kind.model_fields)

    def look_at(self, line: int, fields: Collection[str]) -> None:
        """Warn about the fields of a line."""
        for name in fields:
            if name in self.seen or len(self.seen) > NAMES_LOOKED_AT:
                continue
            self.seen.add(name)
            absent = [known for known in self.kind.model_fields if known not in fields]
            for known in get_close_matches(name.lower(), absent, n=1, cutoff=MISSPELT):
                word = screen.shown(name)
                print(f"warning: line {line}: {self.kind.stream} has no field {word!r}; sent as it is, is it {known}?", file=sys.stderr)


@asynccontextmanager
async def _connected(settings: Settings, kind: type[Event]) -> AsyncIterator[Append]:
    """How to send to the stream of `kind`, for the block."""
    async with traces.exported(), streams.connect(place.redis_url(settings), partitions=settings.stream_partitions) as redis:
        yield lambda batch: streams.append(redis, [(kind.stream, one.agent_id, _traced(kind, one)) for one in batch])


def _traced(kind: type[Event], one: Ready) -> bytes:
    """Its body, in a trace of its own when traces are switched on."""
    return traces.published(kind.stream, one.agent_id, one.event_id, one.body)


# ── what a person is told ─────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _progress(file: str) -> Iterator[Callable[[int, int], None]]:
    """A bar by bytes on a terminal, and nothing elsewhere; gives the function that moves it."""
    console = screen.err()
    if not console.is_terminal:
        yield lambda _size, _sent: None
        return
    size = Path(file).stat().st_size if file != lines.STANDARD_INPUT and Path(file).is_file() else None
    columns = (BarColumn(bar_width=None), DownloadColumn(), TextColumn("{task.fields[sent]} sent"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        task = progress.add_task("", total=size, sent="0")
        yield lambda read, sent: progress.update(task, advance=read, sent=f"{sent:,}")


def _end(tally: Tally, printer: Sums) -> None:
    if tally.rejected > REJECTS_TOLD:
        print(f"and {tally.rejected - REJECTS_TOLD:,} more like these; --json lists them all", file=sys.stderr)
    printer.end(tally)


def _say_how_far(tally: Tally) -> None:
    print(
        f"stopped after {screen.plural(tally.sent, 'event')}; publish the file again, what arrived has its effect only once",
        file=sys.stderr,
    )


def _note_if_unheard(kind: type[Event]) -> None:
    if kind.stream not in workers.consumers():
        print(f"note: no worker listens on {kind.stream}; it is kept in its stream", file=sys.stderr)


def _kind(event: str) -> type[Event]:
    """The event of that name, if it is one for agents to publish. Raises UserMistake."""
    published = {kind.stream: worker.name for worker in workers.table().values() for kind in worker.publishes}
    by_worker = {stream: name for stream, name in published.items() if stream not in ALSO_BY_WORKERS}
    for_agents = [name for name in events.CATALOGUE if name not in by_worker and name not in BY_COMMAND]
    kind = events.CATALOGUE.get(event)
    if kind is None:
        raise UserMistake(f"there is no event {event!r}{screen.meant(event, for_agents)}; agents publish {screen.listed(for_agents)}")
    if event not in for_agents:
        who = f"the command {BY_COMMAND[event]}" if event in BY_COMMAND else f"the worker {by_worker[event]}"
        raise UserMistake(f"{event} says what has been done, and only {who} publishes it; agents publish {screen.listed(for_agents)}")
    return kind
