"""The outbox: derived events, committed with the effect they tell of, kept until Redis has them and every consumer its receipt."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from events import Event, encode

from . import many
from .database import Read, Write


@dataclass(frozen=True)
class Letter:
    """One event waiting to be published: its stream and its encoded body."""

    agent_id: str
    event_id: str
    stream: str
    body: bytes


Key = tuple[str, str, str]
"""(agent_id, stream, event_id)."""

_KEY = ("agent_id", "stream", "event_id")
_INSERT = text(many.inserting("bus.outbox", (*many.columns(Letter), "created_at"), order=_KEY) + " ON CONFLICT DO NOTHING")


def letter(event: Event) -> Letter:
    """The letter that tells of an event."""
    return Letter(agent_id=event.agent_id, event_id=event.event_id, stream=event.stream, body=encode(event))


def key(letter: Letter) -> Key:
    """The letter's key."""
    return (letter.agent_id, letter.stream, letter.event_id)


async def insert(db: Write, letters: Sequence[Letter], *, now: datetime) -> None:
    """Add letters; one that is there already stays as it is."""
    if letters:
        await db.execute(_INSERT, many.packed({**vars(letter), "created_at": now} for letter in letters))


async def unpublished(db: Read, *, before: datetime, limit: int) -> list[Letter]:
    """Letters committed before `before` that were never published: what a crash left, or who had no broker at hand."""
    return await _letters(db, "published_at IS NULL AND created_at < :before ORDER BY created_at", before, limit)


async def unanswered(db: Read, *, before: datetime, limit: int) -> list[Letter]:
    """Letters published before `before` that are still kept: a consumer has not answered for them yet."""
    return await _letters(db, "published_at < :before ORDER BY published_at", before, limit)


async def of_events(db: Read, agent: str, event_ids: Collection[str]) -> list[Letter]:
    """The letters of these events of one agent that are still kept."""
    rows = await db.execute(
        text(
            "SELECT agent_id, event_id, stream, body FROM bus.outbox WHERE agent_id = :agent"
            " AND event_id = ANY(CAST(:events AS text[])) ORDER BY created_at, stream"
        ),
        {"agent": agent, "events": list(event_ids)},
    )
    return [_letter(row) for row in rows]


async def mark_published(db: Write, keys: Collection[Key], *, now: datetime) -> None:
    """Keep these until their consumers have answered."""
    await _each(db, keys, "UPDATE bus.outbox o SET published_at = :now FROM", {"now": now})


async def delete(db: Write, keys: Collection[Key]) -> None:
    """These have arrived."""
    await _each(db, keys, "DELETE FROM bus.outbox o USING", {})


async def count_unpublished(db: Read) -> int:
    """How many letters Redis does not have yet."""
    return int((await db.execute(text("SELECT count(*) FROM bus.outbox WHERE published_at IS NULL"))).scalar_one())


async def _letters(db: Read, which: str, before: datetime, limit: int) -> list[Letter]:
    rows = await db.execute(
        text(f"SELECT agent_id, event_id, stream, body FROM bus.outbox WHERE {which} LIMIT :limit"), {"before": before, "limit": limit}
    )
    return [_letter(row) for row in rows]


async def _each(db: Write, keys: Collection[Key], change: str, values: dict[str, object]) -> None:
    if keys:
        agents, streams, events = zip(*keys, strict=True)
        given = "unnest(CAST(:agents AS text[]), CAST(:streams AS text[]), CAST(:events AS text[])) AS q(agent_id, stream, event_id)"
        these = many.in_order("bus.outbox", given, key=_KEY)
        await db.execute(
            text(f"{change} {these} WHERE o.agent_id = q.agent_id AND o.stream = q.stream AND o.event_id = q.event_id"),
            {"agents": list(agents), "streams": list(streams), "events": list(events), **values},
        )


def _letter(row: Any) -> Letter:
    return Letter(**row._mapping)
