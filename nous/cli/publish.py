"""`nous publish`: events onto their stream, from a file of any size, from a pipe, or one typed as key=value.

    bytes as they come ──▶ lines ──▶ decoded as a worker would ──▶ given an event_id ──▶ 500 in one round trip ──▶ entry ids
                                           └──▶ rejected: its line number and why, on standard error; the rest is sent

What is sent is the line as it was written, unknown fields too. A file can be published again after any interruption: the events that
arrived before have their ids again, and one effect.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import redis
from redis.exceptions import RedisError, ResponseError
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

import events
import workers
from events import MAX_BODY_BYTES, Event, MalformedEvent
from nous import clock, ids
from nous.errors import Outage, UserMistake
from nous.settings import Settings

from . import place, screen

BATCH = 500
READ_BYTES = 1 << 20
MADE_HERE = {"fact_learned": ("fact_id",)}  # what a person may leave out and is told afterwards


@dataclass(frozen=True)
class Line:
    """One line of a file; `body` is cut when the line is longer than any event, `size` never is."""

    number: int
    body: bytes
    size: int


@dataclass(frozen=True)
class Ready:
    """An event on its way: its line, its id, and the body to send."""

    line: int
    event_id: str
    body: bytes


@dataclass
class Tally:
    """What was sent and what was not, the first and the last of it."""

    sent: int = 0
    rejected: int = 0
    first: tuple[str, str] | None = None
    last: tuple[str, str] | None = None
    examples: list[dict[str, object]] = field(default_factory=list)


# ── the command ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def publish_file(settings: Settings, event: str, file: str, *, is_json: bool, with_ids: bool) -> bool:
    """Publish every line of `file` (`-` is standard input); whether none was rejected."""
    kind = _kind(event)
    with _opened(file) as lines, _connected(settings) as client, _progress(file) as advance:
        printer = _Json() if is_json else _Ids() if with_ids else _Sums()
        tally = Tally()
        try:
            _send_all(client, kind, lines, tally, printer, advance)
        except (Outage, KeyboardInterrupt):
            printer.end(kind, tally)
            _say_how_far(tally)
            raise
    printer.end(kind, tally)
    _note_if_unheard(kind)
    return not tally.rejected


def publish_one(settings: Settings, event: str, pairs: Iterable[str], *, is_json: bool) -> None:
    """Publish one event written as key=value. Raises UserMistake saying what does not fit."""
    kind = _kind(event)
    given = _fields(kind, pairs)
    made_here = {name: str(ids.new()) for name in MADE_HERE.get(kind.stream, ()) if name not in given}
    try:
        ready = _ready(kind, 1, _typed(kind, {**made_here, **given}))
    except MalformedEvent as error:
        raise UserMistake(f"{error}. {_its_fields(kind)}") from None
    with _connected(settings) as client:
        (entry_id,) = _append(client, kind.stream, [ready])
    if is_json:
        screen.emit({"stream": kind.stream, "event_id": ready.event_id, "entry_id": entry_id, **made_here})
        return
    print(f"sent to {kind.stream}")
    for name, value in {"event_id": ready.event_id, "entry_id": entry_id, **made_here}.items():
        print(f"  {name:9} {value}")
    _note_if_unheard(kind)


# ── from a file ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _send_all(
    client: redis.Redis,
    kind: type[Event],
    lines: Iterator[list[Line]],
    tally: Tally,
    printer: "_Sums",
    advance: Callable[[int, int], None],
) -> None:
    for page in lines:
        fit = _accepted(kind, page, tally)
        while batch := list(islice(fit, BATCH)):
            for ready, entry_id in zip(batch, _append(client, kind.stream, batch), strict=True):
                tally.sent += 1
                tally.last = (ready.event_id, entry_id)
                tally.first = tally.first or tally.last
                printer.sent(ready, entry_id)
        advance(sum(line.size for line in page), tally.sent)


def _accepted(kind: type[Event], page: list[Line], tally: Tally) -> Iterator[Ready]:
    for line in page:
        if not line.body.strip():
            continue
        try:
            if line.size > len(line.body):
                raise MalformedEvent(f"the line has {line.size:,} bytes and the limit is {MAX_BODY_BYTES:,}; split what you send")
            yield _ready(kind, line.number, line.body.strip())
        except MalformedEvent as error:
            tally.rejected += 1
            if len(tally.examples) < 1_000:
                tally.examples.append({"line": line.number, "reason": str(error)})
            print(f"line {line.number}: {screen.shown(str(error))}", file=sys.stderr)


def _ready(kind: type[Event], line: int, body: bytes) -> Ready:
    """The event as it will be sent, with an id. Raises MalformedEvent."""
    event = events.decode(kind, body, _entry_now())
    fields = json.loads(body)
    if fields.get("event_id") is not None:
        return Ready(line, event.event_id, body)
    event_id = str(ids.new()) if _is_new_each_time(kind) else event.event_id
    return Ready(line, event_id, json.dumps({**fields, "event_id": event_id}).encode())


def _entry_now() -> str:
    """The id of an entry that came in at this moment."""
    return f"{int(clock.now().timestamp() * 1000)}-0"


def _is_new_each_time(kind: type[Event]) -> bool:
    """Whether an event of this kind without an id counts as new whenever it is published."""
    return kind.derive_id.__func__ is Event.derive_id.__func__  # type: ignore[attr-defined]


def _pages(file: BinaryIO) -> Iterator[list[Line]]:
    """The lines that are there so far, again and again until the end: a slow pipe's lines do not wait for each other."""
    number, rest, rest_size = 0, b"", 0
    read = getattr(file, "read1", file.read)
    while chunk := read(READ_BYTES):
        *whole, last = chunk.split(b"\n")
        page = []
        for piece in whole:
            number += 1
            page.append(Line(number, _cut(rest + piece), rest_size + len(piece)))
            rest, rest_size = b"", 0
        rest, rest_size = _cut(rest + last), rest_size + len(last)
        yield page
    if rest:
        yield [Line(number + 1, rest, rest_size)]


def _cut(body: bytes) -> bytes:
    return body[: MAX_BODY_BYTES + 1]


@contextmanager
def _opened(file: str) -> Iterator[Iterator[list[Line]]]:
    if file == "-":
        yield _pages(sys.stdin.buffer)
        return
    try:
        opened = Path(file).open("rb")  # noqa: SIM115 - closed below; only opening it is guarded here
    except OSError as error:
        raise UserMistake(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from None
    with opened:
        yield _pages(opened)


@contextmanager
def _progress(file: str) -> Iterator[Callable[[int, int], None]]:
    """A bar by bytes on a terminal, and nothing elsewhere; gives the function that moves it."""
    console = screen.err()
    if not console.is_terminal:
        yield lambda _size, _sent: None
        return
    size = Path(file).stat().st_size if file != "-" and Path(file).is_file() else None
    columns = (BarColumn(bar_width=None), DownloadColumn(), TextColumn("{task.fields[sent]} sent"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        task = progress.add_task("", total=size, sent="0")
        yield lambda read, sent: progress.update(task, advance=read, sent=f"{sent:,}")


def _say_how_far(tally: Tally) -> None:
    print(
        f"stopped after {screen.plural(tally.sent, 'event')}; publish the file again, what arrived has its effect only once",
        file=sys.stderr,
    )


# ── from key=value ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fields(kind: type[Event], pairs: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserMistake(f"{pair!r} is not key=value; write for example content='The cat is called Mimi.'")
        if name not in kind.model_fields:
            raise UserMistake(f"{kind.stream} has no field {name!r}{_meant(name, kind.model_fields)}. {_its_fields(kind)}")
        if name in given:
            raise UserMistake(f"{name} is given twice")
        given[name] = value
    return given


def _typed(kind: type[Event], given: Mapping[str, str]) -> bytes:
    """The body with its numbers and booleans as such, as the event's types read them. Raises MalformedEvent."""
    event = events.decode(kind, json.dumps(given).encode(), _entry_now())
    return json.dumps(event.model_dump(mode="json", include=set(given))).encode()


def _its_fields(kind: type[Event]) -> str:
    made = MADE_HERE.get(kind.stream, ())
    own = {name: info for name, info in kind.model_fields.items() if name not in Event.model_fields}
    told = [f"{name}{' (required)' if info.is_required() and name not in made else ''}" for name, info in own.items()]
    return f"Its fields: agent_id (required), {', '.join(told)}, event_id, occurred_at"


# ── both ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _kind(event: str) -> type[Event]:
    kind = events.CATALOGUE.get(event)
    if kind is None:
        raise UserMistake(f"there is no event {event!r}{_meant(event, events.CATALOGUE)}; the events are {screen.listed(events.CATALOGUE)}")
    return kind


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _note_if_unheard(kind: type[Event]) -> None:
    if kind.stream not in workers.consumers():
        print(f"note: no worker listens on {kind.stream}; it is kept in its stream", file=sys.stderr)


@contextmanager
def _connected(settings: Settings) -> Iterator[redis.Redis]:
    """A client of the broker, for the block."""
    client = redis.Redis.from_url(place.redis_url(settings), socket_connect_timeout=5)
    try:
        yield client
    finally:
        client.close()


def _append(client: redis.Redis, stream: str, batch: Sequence[Ready]) -> list[str]:
    """The entry ids, in order; one round trip. Raises Outage, or UserMistake when Redis will never have them."""
    pipeline = client.pipeline(transaction=False)
    for ready in batch:
        pipeline.xadd(stream, {"data": ready.body})
    try:
        return [entry.decode() if isinstance(entry, bytes) else str(entry) for entry in pipeline.execute()]
    except RedisError as error:
        if isinstance(error, ResponseError) and str(error).startswith(("WRONGTYPE", "NOPERM")):
            raise UserMistake(f"Redis does not let this be published: {error}") from None
        raise Outage("Redis", str(error) or type(error).__name__) from None


class _Sums:
    """Counts at the end, and the first and the last id."""

    def sent(self, ready: Ready, entry_id: str) -> None:
        """Nothing."""

    def end(self, kind: type[Event], tally: Tally) -> None:
        """The sums."""
        rejected = f", {tally.rejected:,} rejected" if tally.rejected else ""
        print(f"{screen.plural(tally.sent, 'event')} sent to {kind.stream}{rejected}")
        if tally.first and tally.last and tally.first != tally.last:
            print(f"  first {tally.first[0]}  (entry {tally.first[1]})")
            print(f"  last  {tally.last[0]}  (entry {tally.last[1]})")
        elif tally.first:
            print(f"  event {tally.first[0]}  (entry {tally.first[1]})")


class _Ids(_Sums):
    """A line an event, as they are sent; the sums on standard error."""

    def sent(self, ready: Ready, entry_id: str) -> None:
        """Both ids."""
        print(ready.event_id, entry_id)

    def end(self, kind: type[Event], tally: Tally) -> None:
        """The sums."""
        rejected = f", {tally.rejected:,} rejected" if tally.rejected else ""
        print(f"{screen.plural(tally.sent, 'event')} sent to {kind.stream}{rejected}", file=sys.stderr)


class _Json(_Sums):
    """One JSON object, written as the events are sent: a file of any size fits."""

    def __init__(self) -> None:
        print('{"events": [', end="")
        self.separator = "\n"

    def sent(self, ready: Ready, entry_id: str) -> None:
        """One element."""
        one = screen.as_json({"line": ready.line, "event_id": ready.event_id, "entry_id": entry_id}, indent=None)
        print(self.separator, one, sep="", end="")
        self.separator = ",\n"

    def end(self, kind: type[Event], tally: Tally) -> None:
        """The rest of the object."""
        rest = {"stream": kind.stream, "sent": tally.sent, "rejected": tally.rejected, "rejects": tally.examples}
        print("],", screen.as_json(rest, indent=None)[1:])
