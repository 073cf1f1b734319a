"""The archive: every event of every stream, raw as it came. What is in it may be trimmed from its stream, and replayed.

An event said again in the same words is the row that is there; the same id with another body is a row of its own, so that nothing an
agent said is lost, and who looks an event up sees that it was said in two ways.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from . import called, everybody, forgotten, many
from .database import Database, Read, Write
from .forgotten import Arrival

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Archived:
    """One row of bus.events. `arrived_at` is the entry's own time; an event whose body says nothing readable of itself has the agent ''."""

    agent_id: str
    event_id: str
    stream: str
    digest: bytes
    body: bytes
    entry_id: str
    arrived_at: datetime
    archived_at: datetime


Key = tuple[str, str, str]
"""(agent_id, event_id, stream)."""

_NAMES = many.columns(Archived)
_COLUMNS = ", ".join(_NAMES)
_INSERT = text(many.inserting("bus.events", _NAMES, order=("agent_id", "event_id")) + " ON CONFLICT DO NOTHING")


def digest(body: bytes) -> bytes:
    """What tells one body from another: 128 bits."""
    return hashlib.blake2b(body, digest_size=16).digest()


async def insert(db: Write, rows: Sequence[Archived]) -> int:
    """Keep these, but for what was forgotten, and say how many were new."""
    rows = await unforgotten(db, rows) if rows else []
    if not rows:
        return 0
    kept = await db.execute(_INSERT, many.packed({name: getattr(row, name) for name in _NAMES} for row in rows))
    return int(kept.rowcount)  # type: ignore[attr-defined]  # an INSERT gives a CursorResult


async def unforgotten(db: Write, rows: Sequence[Archived]) -> list[Archived]:
    """These, but for what was forgotten."""
    gone = await forgotten.agents(db, {row.agent_id for row in rows})
    arrivals = [
        Arrival(row.agent_id, row.event_id, row.stream, row.arrived_at, _cause(row.body) if row.agent_id in gone else None) for row in rows
    ]
    refused = await forgotten.refused(db, arrivals)
    return [row for row, arrival in zip(rows, arrivals, strict=True) if arrival not in refused]


def _cause(body: bytes) -> str | None:
    """The event that this one says it follows from."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    cause = said.get("caused_by") if isinstance(said, dict) else None
    return cause if isinstance(cause, str) else None


async def of_event(db: Read, agent: str, event_id: str) -> list[Archived]:
    """Everything that came under this id for this agent, the first first."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM bus.events WHERE agent_id = :agent AND event_id = :event ORDER BY arrived_at, stream, entry_id"),
        {"agent": agent, "event": event_id},
    )
    return [_archived(row) for row in rows]


async def these(db: Read, agent: str, event_ids: Collection[str]) -> dict[Key, list[Archived]]:
    """What came under these ids of one agent, the first of each key first."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.events WHERE agent_id = :agent AND event_id = ANY(CAST(:events AS text[]))"
            " ORDER BY arrived_at, entry_id"
        ),
        {"agent": agent, "events": list(event_ids)},
    )
    found: dict[Key, list[Archived]] = {}
    for row in map(_archived, rows):
        found.setdefault((row.agent_id, row.event_id, row.stream), []).append(row)
    return found


async def held(db: Read, events: Collection[tuple[str, str]]) -> set[Key]:
    """What is archived under these (agent, event id)."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT e.agent_id, e.event_id, e.stream FROM unnest(CAST(:agents AS text[]), CAST(:events AS text[]))"
            " AS q(agent_id, event_id) JOIN bus.events e ON e.agent_id = q.agent_id AND e.event_id = q.event_id"
        ),
        many.apart(events, "agents", "events"),
    )
    return {(row.agent_id, row.event_id, row.stream) for row in rows}


async def named(db: Read, written: str, *, agent: str | None, limit: int) -> list[Archived]:
    """Events whose id is `written`, or, when there are none, begins so in any locale; every agent's when `agent` is None.

    Needs an overview.
    """
    found = await called.rows(db, _COLUMNS, "bus.events", written, agent=agent, order="agent_id, event_id, arrived_at", limit=limit)
    return [_archived(row) for row in found]


async def come_as(db: Read, entry_id: str, at: datetime, *, agent: str | None, limit: int) -> list[Archived]:
    """Events that came as this stream entry, whose own time is `at`; every agent's when `agent` is None; an overview."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.events WHERE arrived_at = :at AND entry_id = :entry"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY agent_id, event_id LIMIT :limit"
        ),
        {"at": at, "entry": entry_id, "agent": agent, "limit": limit},
    )
    return [_archived(row) for row in rows]


async def naming(db: Read, agent: str, subject: str, streams: Collection[str]) -> list[str]:
    """The ids of one agent's events of these streams whose body names `subject`, such as an id; it reads all of them."""
    rows = await db.execute(
        text(
            "SELECT event_id FROM bus.events WHERE agent_id = :agent AND stream = ANY(CAST(:streams AS text[]))"
            " AND position(convert_to(:subject, 'UTF8') IN body) > 0 GROUP BY event_id ORDER BY min(arrived_at), event_id"
        ),
        {"agent": agent, "subject": subject, "streams": list(streams)},
    )
    return [row.event_id for row in rows]


async def agents(db: Read) -> list[str]:
    """Everybody something was archived of, and '' if there is what names nobody; needs an overview."""
    rows = await db.execute(text(everybody.in_("bus.events")))
    return [row.agent_id for row in rows]


async def of_agent(
    database: Database, agent: str, *, streams: Collection[str] | None = None, since: datetime | None = None, until: datetime | None = None
) -> AsyncIterator[list[Archived]]:
    """One agent's events in the order they arrived, in pages; `since` is within, `until` is not. Raises Outage and Contended."""
    after: tuple[datetime | None, str, bytes, str] = (None, "", b"", "")
    while True:
        async with database.read([agent]) as db:
            rows = await db.execute(
                text(
                    f"SELECT {_COLUMNS} FROM bus.events WHERE agent_id = :agent"
                    " AND (CAST(:at AS timestamptz) IS NULL OR (arrived_at, event_id, digest, stream)"
                    "  > (:at, CAST(:event AS text), CAST(:digest AS bytea), CAST(:stream AS text)))"
                    " AND (CAST(:streams AS text[]) IS NULL OR stream = ANY(CAST(:streams AS text[])))"
                    " AND (CAST(:since AS timestamptz) IS NULL OR arrived_at >= :since)"
                    " AND (CAST(:until AS timestamptz) IS NULL OR arrived_at < :until)"
                    " ORDER BY arrived_at, event_id, digest, stream LIMIT :limit"
                ),
                {
                    "agent": agent,
                    "at": after[0],
                    "event": after[1],
                    "digest": after[2],
                    "stream": after[3],
                    "streams": list(streams) if streams is not None else None,
                    "since": since,
                    "until": until,
                    "limit": PAGE,
                },
            )
            page = [_archived(row) for row in rows]
        if page:
            yield page
        if len(page) < PAGE:
            return
        after = (page[-1].arrived_at, page[-1].event_id, page[-1].digest, page[-1].stream)


async def count(db: Read) -> int:
    """About how many events are archived, as Postgres' statistics have it; needs an overview."""
    counted = await db.execute(
        text(
            "SELECT coalesce(sum(greatest(c.reltuples, 0)), 0)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'bus.events'::regclass"
        )
    )
    return int(counted.scalar_one())


def _archived(row: Any) -> Archived:
    return Archived(**row._mapping)
