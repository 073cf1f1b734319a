"""`nous export`, `nous import`: the archive as JSON lines, an event a line, raw as it came.

    {"stream": ..., "agent_id": ..., "event_id": ..., "entry_id": ..., "arrived_at": ..., "is_root": true, "body": "..."}

`body` is the text as it came; `body_base64` stands instead of it when that is no UTF-8. `is_root` is false of what workers made: it
comes about again when the roots are worked. An import keeps events, and changes no memory; `--publish` sends the roots as well.
"""

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import events
from events import CATALOGUE, MalformedEvent
from nous import clock
from nous.errors import UserMistake
from nous.replaying import schedule
from nous.settings import Settings
from store import archive, receipts
from store.archive import Archived
from store.database import Database
from workers.runtime import streams

from . import place, screen

BATCH = 500
Recorded = dict[str, list[Archived]]
"""Root events of a file, by their agents, in the order of the lines."""


@dataclass
class Sums:
    """What was moved."""

    events: int = 0
    roots: int = 0
    new: int = 0
    published: int = 0


async def export(
    settings: Settings, file: str, *, agent: str | None, since: datetime | None, until: datetime | None, is_json: bool
) -> None:
    """Write the archive, agent by agent in the order of arrival; `-` is standard output."""
    sums = Sums()
    async with place.database(settings) as database:
        async with database.overview() as db:
            agents = [agent] if agent is not None else await archive.agents(db)
        with _opened(file, "w") as out:
            for one in agents:
                await _export(database, one, out, sums, since, until)
    if file == "-":
        return
    if is_json:
        screen.emit(vars(sums))
    else:
        print(f"exported {screen.plural(sums.events, 'event')} of {screen.plural(len(agents), 'agent')} to {file}")


async def _export(database: Database, agent: str, out: IO[str], sums: Sums, since: datetime | None, until: datetime | None) -> None:
    async with database.read([agent]) as db:
        made = schedule.derived(await receipts.steps(db, agent))
    async for page in archive.of_agent(database, agent, since=since, until=until):
        for row in page:
            is_root = (row.stream, row.event_id) not in made
            out.write(json.dumps(_line(row, is_root=is_root), ensure_ascii=False) + "\n")
            sums.events += 1
            sums.roots += is_root


async def import_(settings: Settings, file: str, *, publishes: bool, is_json: bool) -> None:
    """Keep the events of a file; with `publishes`, send the roots to their streams too. Raises UserMistake naming the line."""
    sums = Sums()
    async with place.database(settings) as database:
        with _opened(file, "r") as lines:
            batch: list[tuple[Archived, bool]] = []
            for number, line in enumerate(lines, 1):
                if line.strip():
                    batch.append(_parsed(line, number))
                if len(batch) == BATCH:
                    await _keep(settings, database, batch, sums, publishes=publishes)
                    batch = []
            await _keep(settings, database, batch, sums, publishes=publishes)
    if is_json:
        screen.emit(vars(sums))
        return
    sent = f", {screen.plural(sums.published, 'root event')} published" if publishes else "; no memory is changed until they are published"
    print(f"imported {screen.plural(sums.events, 'event')}, {sums.new:,} of them new to this archive{sent}")


async def _keep(settings: Settings, database: Database, batch: Sequence[tuple[Archived, bool]], sums: Sums, *, publishes: bool) -> None:
    if not batch:
        return
    async with database.notes({row.agent_id for row, _ in batch}) as db:
        sums.new += await archive.insert(db, [row for row, _ in batch])
    sums.events += len(batch)
    roots = [row for row, is_root in batch if is_root]
    sums.roots += len(roots)
    if publishes:
        async with place.redis(settings) as redis:
            await streams.append(redis, [(row.stream, _dated(row)) for row in roots])
        sums.published += len(roots)


def _dated(row: Archived) -> bytes:
    """The body with the id and the time that followed from its entry, which will be another now."""
    try:
        event = events.decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at)
    except MalformedEvent:
        return row.body
    said = json.loads(row.body.decode("utf-8-sig", "surrogatepass"))
    return json.dumps({**said, "event_id": event.event_id, "occurred_at": event.occurred_at.isoformat()}).encode()


def read_recorded(file: str) -> Recorded:
    """The root events of an exported file, by their agents. Raises UserMistake."""
    found: Recorded = {}
    with _opened(file, "r") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                row, is_root = _parsed(line, number)
                if is_root:
                    found.setdefault(row.agent_id, []).append(row)
    return found


def _line(row: Archived, *, is_root: bool) -> dict[str, Any]:
    told = {
        "stream": row.stream,
        "agent_id": row.agent_id,
        "event_id": row.event_id,
        "entry_id": row.entry_id,
        "arrived_at": row.arrived_at.astimezone(UTC).isoformat(),
        "is_root": is_root,
    }
    try:
        return {**told, "body": row.body.decode()}
    except UnicodeDecodeError:
        return {**told, "body_base64": base64.b64encode(row.body).decode()}


def _parsed(line: str, number: int) -> tuple[Archived, bool]:
    try:
        said = json.loads(line)
        body = base64.b64decode(said["body_base64"], validate=True) if "body_base64" in said else str(said["body"]).encode()
        stream, agent, event_id, entry_id = (str(said[name]) for name in ("stream", "agent_id", "event_id", "entry_id"))
        arrived_at = datetime.fromisoformat(said["arrived_at"])
        if stream not in CATALOGUE:
            raise ValueError(f"there is no stream {stream!r}")
        if arrived_at.tzinfo is None:
            raise ValueError(f"arrived_at {said['arrived_at']} has no time zone")
        events.entry_time(entry_id)
    except (ValueError, TypeError, KeyError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise UserMistake(
            f"line {number} is no event of an export: {why}; nothing of it was taken. Events of your own are sent with: nous publish"
        ) from None
    row = Archived(agent, event_id, stream, archive.digest(body), body, entry_id, arrived_at.astimezone(UTC), clock.now())
    return row, bool(said.get("is_root", True))


@contextmanager
def _opened(file: str, mode: str) -> Iterator[IO[str]]:
    if file == "-":
        yield sys.stdout if mode == "w" else sys.stdin
        return
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(Path(file).open(mode, encoding="utf-8", errors="surrogatepass"))
        except OSError as error:
            raise UserMistake(f"{file} cannot be {'written' if mode == 'w' else 'read'}: {error.strerror}") from None
        yield opened
