"""What a person does with parked deliveries: work them again, by the worker that parked them alone, or drop them.

                  one transaction, under the agents' locks
    retry   ┌─ a row of bus.retries with the body, its attempts at 0 ─┐
            └─ the parked receipt reopened ───────────────────────────┴─▶ the entries of <stream>.parked go
    drop    ── the receipt: skipped, `dropped`, and why ────────────────▶ the entries of <stream>.parked go

Receipts say what is parked; the entries of `<stream>.parked` only hold bodies. A crash before they go leaves some that nobody needs, which
`tidy` removes. Where an entry is missing the body is in the archive, written there with the receipt (parking.py). Doing it twice, or two
people at once, is one effect: what has changed since it was looked at is left alone.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from redis.asyncio import Redis

from events import Event, MalformedEvent, body_of, kept_body
from nous import clock
from store import archive, parked, receipts, retries
from store.database import Database
from store.parked import DROPPED, Parked
from store.receipts import OPERATOR, Receipt
from store.retries import Retry

from . import streams
from .streams import Entry

AT_ONCE = 100
BYTES_AT_ONCE = 8 * 1024 * 1024

Delivery = tuple[str, str, str]
"""(worker, agent_id, event_id)."""


@dataclass(frozen=True)
class Body:
    """A body as it came, and where it was found."""

    content: bytes
    found_in: str


@dataclass(frozen=True)
class Outcome:
    """What became of those a person named: done, changed meanwhile and left alone, or without a body anywhere and so not worked again."""

    done: tuple[Parked, ...] = ()
    changed: tuple[Parked, ...] = ()
    bodiless: tuple[Parked, ...] = ()

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(self.done + other.done, self.changed + other.changed, self.bodiless + other.bodiless)

    def __len__(self) -> int:
        return len(self.done) + len(self.changed) + len(self.bodiless)


class Entries:
    """The entries of the parked streams, found by their delivery; a stream is read through once, when first asked about."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._found: dict[str, dict[Delivery, list[str]]] = {}

    async def of(self, one: Parked) -> list[str]:
        """The ids of its entries in the parked stream: none, one, or one too many after a crash. Raises Outage."""
        return (await self.of_stream(one.stream)).get((one.worker, *one.key), [])

    async def of_stream(self, stream: str) -> dict[Delivery, list[str]]:
        """Every entry id by its delivery. Raises Outage."""
        if stream not in self._found:
            self._found[stream] = await self._read_through(stream)
        return self._found[stream]

    async def remove(self, ones: Collection[Parked]) -> None:
        """The entries of these are not needed any more. Raises Outage."""
        gone: dict[str, list[str]] = {}
        for one in ones:
            gone.setdefault(one.stream, []).extend(await self.of(one))
        for stream, entry_ids in gone.items():
            await streams.unpark(self._redis, stream, entry_ids)

    async def body(self, one: Parked, db: Database) -> Body | None:
        """The body of a delivery, from wherever it still is. Raises Outage and Contended."""
        for is_parked, entry_id in [*((True, entry_id) for entry_id in await self.of(one)), (False, one.entry_id)]:
            if fields := await streams.at(self._redis, one.stream, entry_id, is_parked=is_parked):
                suffix = streams.PARKED_SUFFIX if is_parked else ""
                return Body(_unwrapped(kept_body(fields)), f"{one.stream}{suffix} {entry_id}")
        async with db.read([one.agent_id]) as session:
            kept = [row for row in await archive.of_event(session, *one.key) if row.stream == one.stream]
        for row in sorted(kept, key=lambda row: row.entry_id != one.entry_id):
            return Body(row.body, "the archive")
        return None

    async def _read_through(self, stream: str) -> dict[Delivery, list[str]]:
        found: dict[Delivery, list[str]] = {}
        async for page in streams.parked(self._redis, stream, at_once=AT_ONCE):
            for entry in page:
                worker, agent, event = (_text(entry, name) for name in (b"worker", b"agent_id", b"event_id"))
                found.setdefault((worker, agent, event), []).append(entry.entry_id)
        return found


async def retry(database: Database, redis: Redis, ones: Sequence[Parked]) -> AsyncIterator[Outcome]:
    """Let these be worked again, with their ids, by the workers that parked them; page by page. Raises Outage and Contended."""
    entries = Entries(redis)
    async for page in _pages(database, entries, ones):
        now = clock.now()
        async with database.write({one.agent_id for one in page}) as db:
            same = await parked.unchanged(db, page)
            rows = {one: _row(one, body, now) for one in same if (body := page[one])}
            await retries.set_aside(db, list(rows.values()))
            await parked.reopen(db, rows, now=now)
        await entries.remove(rows)
        yield Outcome(tuple(rows), tuple(one for one in page if one not in same), tuple(one for one in same if one not in rows))


async def drop(database: Database, redis: Redis, ones: Sequence[Parked], *, because: str) -> AsyncIterator[Outcome]:
    """These are not wanted: settled with the reason; page by page. Their bodies are in the archive. Raises Outage and Contended."""
    entries = Entries(redis)
    async for page in _pages(database, entries, ones):
        async with database.write({one.agent_id for one in page}) as db:
            same = [one for one in await parked.unchanged(db, list(page)) if one.is_parked]
            await receipts.insert(db, [_dropped(one, because) for one in same])
        await entries.remove(same)
        yield Outcome(tuple(same), tuple(one for one in page if one not in same))


async def renamed(database: Database, row: Retry, event: Event) -> None:
    """A body that can be read now says of itself that it is another event: it waits under that name, and the one it had is settled.

    Its new receipt tells that it was parked. Raises Outage and Contended.
    """
    agents = {row.agent_id, event.agent_id}
    async with database.write(agents) as db:
        old = [one for one in await receipts.of_events(db, [row.agent_id], [row.event_id]) if one.worker == row.worker]
        for one in old:
            if one.ending == "parked":
                await receipts.insert(db, [replace(one, agent_id=event.agent_id, event_id=event.event_id), _renamed(one, event)])
        await retries.set_aside(db, [replace(row, agent_id=event.agent_id, event_id=event.event_id, attempts=0, due_at=clock.now())])
        await retries.clear(db, row.worker, [(row.agent_id, row.event_id)])


async def tidy(database: Database, redis: Redis, stream: str) -> int:
    """Remove the entries of `<stream>.parked` whose delivery is settled, and say how many. Raises Outage and Contended."""
    found = await Entries(redis).of_stream(stream)
    by_worker: dict[str, list[receipts.Key]] = {}
    for worker, *key in found:
        by_worker.setdefault(worker, []).append((key[0], key[1]))
    gone: list[str] = []
    for worker, keys in by_worker.items():
        async with database.read({agent for agent, _ in keys}) as db:
            settled = await receipts.settled(db, worker, keys)
        gone += [entry_id for key in settled for entry_id in found[(worker, *key)]]
    await streams.unpark(redis, stream, gone)
    return len(gone)


async def _pages(database: Database, entries: Entries, ones: Sequence[Parked]) -> AsyncIterator[dict[Parked, Body | None]]:
    """These with their bodies, in pages that are no burden to hold."""
    page: dict[Parked, Body | None] = {}
    size = 0
    for one in ones:
        page[one] = body = await entries.body(one, database)
        size += len(body.content) if body else 0
        if len(page) == AT_ONCE or size > BYTES_AT_ONCE:
            yield page
            page, size = {}, 0
    if page:
        yield page


def _row(one: Parked, body: Body, now: datetime) -> Retry:
    """The delivery as one that was never attempted."""
    because = f"retried by a person; it was {one.outcome} because: {one.reason}"
    return Retry(one.worker, *one.key, one.stream, one.entry_id, body.content, attempts=0, due_at=now, reason=because, since=now)


def _dropped(one: Parked, because: str) -> Receipt:
    return Receipt(
        worker=one.worker,
        agent_id=one.agent_id,
        event_id=one.event_id,
        stream=one.stream,
        entry_id=one.entry_id,
        ending="skip",
        outcome=DROPPED,
        reason=because,
        about=None,
        occurred_at=None,
        recorded_at=clock.now(),
        evidence={"by": OPERATOR},
    )


def _renamed(old: Receipt, event: Event) -> Receipt:
    return replace(
        old,
        ending="skip",
        outcome="skipped",
        reason=f"it can be read now, and is event {event.event_id} of agent {event.agent_id}",
        recorded_at=clock.now(),
        evidence={"became": {"agent_id": event.agent_id, "event_id": event.event_id}},
    )


def _text(entry: Entry, name: bytes) -> str:
    return entry.fields.get(name, b"").decode(errors="replace")


def _unwrapped(body: bytes) -> bytes:
    """What a worker reads of it: a body that FastStream published is in an envelope."""
    try:
        return body_of({b"__data__": body})
    except MalformedEvent:
        return body
