"""Tombstones: which events were erased, and which agents. Ids and times, never words; an agent is a hash of its name.

    erased ─▶ a row here ─▶ what arrives under it is refused: by the archive, by every worker, by the reading of an episode

A tombstone of an event holds for ever. One of an agent holds for what was published up to then, and for what follows from that; what
the agent says later is a new memory.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from . import many
from .database import Erase, Read

STRAGGLING = timedelta(minutes=5)  # a worker that had committed before publishes within seconds what followed


@dataclass(frozen=True, slots=True)
class Tombstone:
    """One row of bus.forgotten; of a whole agent, `agent_id` is its key, and event and stream are empty."""

    agent_id: str
    event_id: str
    stream: str
    forgotten_by: str
    forgotten_at: datetime


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event that is about to have an effect, or to be archived: `at` is when it was published."""

    agent_id: str
    event_id: str
    stream: str
    at: datetime
    caused_by: str | None = None


_NAMES = many.columns(Tombstone)
_INSERT = text(
    many.inserting("bus.forgotten", _NAMES) + " ON CONFLICT (agent_id, event_id, stream) DO UPDATE SET"
    " forgotten_at = greatest(bus.forgotten.forgotten_at, excluded.forgotten_at)"
)


def agent_key(agent: str) -> str:
    """What stays of a forgotten agent's name: SHA-256 of it. Who can guess the name can tell that it was forgotten."""
    return f"forgotten:{hashlib.sha256(agent.encode()).hexdigest()}"


async def insert(db: Erase, rows: Sequence[Tombstone]) -> None:
    """Add tombstones."""
    if rows:
        await db.execute(_INSERT, many.packed({name: getattr(row, name) for name in _NAMES} for row in rows))


async def events(db: Read, agent: str, stream: str, event_ids: Collection[str]) -> set[str]:
    """Those of these events of one agent that were erased."""
    if not event_ids:
        return set()
    rows = await db.execute(
        text("SELECT event_id FROM bus.forgotten WHERE agent_id = :agent AND stream = :stream AND event_id = ANY(CAST(:events AS text[]))"),
        {"agent": agent, "stream": stream, "events": list(event_ids)},
    )
    return {row.event_id for row in rows}


async def agents(db: Read, names: Collection[str]) -> dict[str, datetime]:
    """Those of these agents that were forgotten whole, and when."""
    keys = {agent_key(name): name for name in names}
    rows = await db.execute(
        text("SELECT agent_id, forgotten_at FROM bus.forgotten WHERE event_id = '' AND agent_id = ANY(CAST(:keys AS text[]))"),
        {"keys": list(keys)},
    )
    return {keys[row.agent_id]: row.forgotten_at for row in rows}


async def refused(db: Read, arrivals: Collection[Arrival]) -> set[Arrival]:
    """Those of these that were erased, are an agent's that was forgotten after they were published, or follow from such a one."""
    if not arrivals:
        return set()
    rows = await db.execute(
        text(
            "SELECT q.agent_id, q.event_id, q.stream"
            " FROM unnest(CAST(:agents AS text[]), CAST(:events AS text[]), CAST(:streams AS text[])) AS q(agent_id, event_id, stream)"
            " JOIN bus.forgotten f ON f.agent_id = q.agent_id AND f.event_id = q.event_id AND f.stream = q.stream"
        ),
        {
            "agents": [one.agent_id for one in arrivals],
            "events": [one.event_id for one in arrivals],
            "streams": [one.stream for one in arrivals],
        },
    )
    erased = {(row.agent_id, row.event_id, row.stream) for row in rows}
    found = {one for one in arrivals if (one.agent_id, one.event_id, one.stream) in erased}
    gone = await agents(db, {one.agent_id for one in arrivals})
    before = {one for one in arrivals if one.agent_id in gone and one.at <= gone[one.agent_id]}
    after = [one for one in arrivals if one.agent_id in gone and one.caused_by and one.at <= gone[one.agent_id] + STRAGGLING]
    return found | before | await _orphans(db, [one for one in after if one not in before])


async def _orphans(db: Read, arrivals: Sequence[Arrival]) -> set[Arrival]:
    """Those whose cause has no receipt: it went with its agent."""
    if not arrivals:
        return set()
    rows = await db.execute(
        text(
            "SELECT DISTINCT agent_id, event_id FROM bus.receipts WHERE agent_id = ANY(CAST(:agents AS text[]))"
            " AND event_id = ANY(CAST(:events AS text[]))"
        ),
        {"agents": [one.agent_id for one in arrivals], "events": [one.caused_by for one in arrivals]},
    )
    there = {(row.agent_id, row.event_id) for row in rows}
    return {one for one in arrivals if (one.agent_id, one.caused_by) not in there}
