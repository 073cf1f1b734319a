"""By time: root events alone, each settled with all that follows from it before the next, as if nobody had ever had to wait.

    archive ─▶ what workers made is left out ─▶ by the events' own time, or as they arrived ─▶ each to its end, then the next

What differs from the live store then, the order of arrival alone had made.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime

from events import CATALOGUE, MalformedEvent, decode
from nous import clock, people
from store import archive
from store.archive import Archived
from store.database import Database
from workers import consumers
from workers.runtime.record import Delivery

from .schedule import Named
from .tally import Tally
from .wanted import Wanted
from .working import Working


def occurred(row: Archived) -> datetime:
    """When it happened, as it says itself; when it arrived, if it says nothing readable."""
    try:
        return decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at).occurred_at
    except MalformedEvent:
        return row.arrived_at


def arrived(row: Archived) -> datetime:
    """When it arrived."""
    return row.arrived_at


async def roots(live: Database, agent: str, made: frozenset[Named]) -> AsyncIterator[Archived]:
    """The root events of an agent's archive: of several under one id the first."""
    seen: set[Named] = set()
    async for page in archive.of_agent(live, agent):
        for row in page:
            if (named := (row.stream, row.event_id)) not in made and named not in seen:
                seen.add(named)
                yield row


async def run(working: Working, rows: Sequence[Archived], wanted: Wanted, tally: Tally, *, when: Callable[[Archived], datetime]) -> None:
    """Work those of these that are wanted. Raises Outage, Contended and Misconfigured."""
    for row in sorted(rows, key=lambda one: (when(one), one.event_id)):
        if row.event_id == wanted.before:
            break
        if wanted.takes(row):
            tally.fed += 1
            with clock.held(row.arrived_at):
                await _settle(working, row)
                await working.work_next()
                await working.work_late()
    await working.finish()


async def _settle(working: Working, row: Archived) -> None:
    try:
        event = decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at)
    except MalformedEvent as error:
        for name in consumers().get(row.stream, ()):
            await working.park_malformed(name, row.event_id, row.entry_id, error)
        return
    if type(event) in people.APPLIED:
        await working.decide(event)
    else:
        working.hear(Delivery(event, row.entry_id, row.body))
