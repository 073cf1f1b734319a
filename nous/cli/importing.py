"""`nous import`: the events of an export into this archive, and with `--publish` the roots to their streams, to be worked.

file  ──▶ read once, to its end ──▶ a line that does not do: nothing is taken
      └─▶ read again ──▶ kept, a batch at a time: what is there already, and what was forgotten, stays as it is ──▶ published
pipe  ──▶ read once: what came before a line that does not do is kept
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import events
import workers
from events import CATALOGUE, MalformedEvent
from nous.errors import UserMistake
from nous.settings import Settings
from store import archive
from store.archive import Archived
from store.database import Database
from workers.runtime import streams

from . import jsonl, lines, place, screen

BATCH = 500
NO_ENTRY = "0-0"


@dataclass
class Sums:
    """What was read, kept and sent; `forgotten` was refused, `nameless` and `unheard` (by any worker) are kept and not sent."""

    events: int = 0
    roots: int = 0
    new: int = 0
    forgotten: int = 0
    published: int = 0
    nameless: int = 0
    unheard: int = 0


async def run(settings: Settings, file: str, *, publishes: bool, is_json: bool) -> None:
    """Keep the events of a file; with `publishes`, send the roots too. Raises UserMistake naming the line that does not do."""
    if file != lines.STANDARD_INPUT:
        _check(file)
    sums = Sums()
    async with place.database(settings) as database:
        try:
            rows = jsonl.read(file)
            while batch := list(islice(rows, BATCH)):
                await _take(settings, database, batch, sums, publishes=publishes)
        except UserMistake as error:
            raise UserMistake(f"{error}; {_taken(sums)}") from None
    if is_json:
        screen.emit(vars(sums))
        return
    known = sums.events - sums.new - sums.forgotten
    print(f"read {screen.plural(sums.events, 'event')}: {sums.new:,} new to this archive, {known:,} known{_told(sums)}")
    if publishes:
        print(f"published {screen.plural(sums.published, 'root event')}; when they are worked: {place.command()} wait")
        if sums.nameless:
            print(f"not published: {sums.nameless:,} that can be read as no event and would be parked anew each time; the archive has them")
        if sums.unheard:
            print(
                f"not published: {sums.unheard:,} of what people decided by command, which no worker hears of; the archive has them, and"
                f" {place.command()} replay --into NAME makes a memory with them"
            )
    else:
        print("no memory is changed by that; --publish sends the root events to be worked")


def _check(file: str) -> None:
    try:
        for _ in jsonl.read(file):
            pass
    except UserMistake as error:
        raise UserMistake(f"{error}; nothing was taken") from None


def _taken(sums: Sums) -> str:
    if not sums.events:
        return "nothing was taken"
    return f"{screen.plural(sums.events, 'event')} before it came in whole and stay; mend the line and import all of it again"


def _told(sums: Sums) -> str:
    return f", {sums.forgotten:,} had been forgotten and stay so" if sums.forgotten else ""


async def _take(settings: Settings, database: Database, batch: Sequence[tuple[Archived, bool]], sums: Sums, *, publishes: bool) -> None:
    rows = [_as_published(row) if publishes and is_root else row for row, is_root in batch]
    roots = {(row.agent_id, row.stream, row.event_id) for row, is_root in batch if is_root}
    async with database.notes({row.agent_id for row in rows}) as db:
        kept = await archive.unforgotten(db, rows)
        sums.new += await archive.insert(db, kept)
    sums.events += len(rows)
    sums.roots += sum(is_root for _, is_root in batch)
    sums.forgotten += len(rows) - len(kept)
    if publishes:
        asked = [row for row in kept if (row.agent_id, row.stream, row.event_id) in roots]
        wanted = [row for row in asked if row.stream in workers.consumers()]
        sent = [(row.stream, row.agent_id, row.body) for row in wanted if _is_the_same_again(row)]
        async with place.redis(settings) as redis:
            await streams.append(redis, sent)
        sums.published += len(sent)
        sums.nameless += len(wanted) - len(sent)
        sums.unheard += len(asked) - len(wanted)


def _is_the_same_again(row: Archived) -> bool:
    """Whether it has one name however often it is sent; that of a body that says nothing readable follows from its entry."""
    kind, fields = CATALOGUE[row.stream], {b"data": row.body}
    return events.identity(kind, fields, row.entry_id) == events.identity(kind, fields, NO_ENTRY)


def _as_published(row: Archived) -> Archived:
    """The event with the id and the time that followed from its entry, which will be another now; one that says both is as it came."""
    try:
        event = events.decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at)
    except MalformedEvent:
        return row
    said = json.loads(row.body.decode("utf-8-sig", "surrogatepass"))
    if said.get("event_id") is not None and said.get("occurred_at") is not None:
        return row
    body = json.dumps({**said, "event_id": event.event_id, "occurred_at": event.occurred_at.isoformat()}, ensure_ascii=False).encode()
    return replace(row, body=body, digest=archive.digest(body))
