"""Facts that nobody asked for: old, active, never found for a question and never drawn on, and not pinned.

What became part of a fact counts for it: found, drawn on or pinned as that, it was found, drawn on or pinned.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import facts, many, usage
from .database import Read
from .facts import Fact, Key

_NAMES = many.columns(Fact)

_USED = "u.agent_id = {of}.agent_id AND u.kind = 'fact' AND u.memory_id = {of}.fact_id AND (u.retrieved > 0 OR u.referenced > 0)"
_OLD = (
    "heart.facts f JOIN unnest(CAST(:provenances AS text[]), CAST(:moments AS timestamptz[])) AS q(provenance, moment)"
    " ON q.provenance = f.provenance WHERE f.active AND f.pinned_at IS NULL AND CASE WHEN f.demoted_at IS NULL"
    " THEN greatest(f.claimed_at, f.created_at, f.reinstated_at) <= q.moment ELSE f.demoted_at <= :demoted END"
    f" AND NOT EXISTS (SELECT FROM heart.memory_usage u WHERE {_USED.format(of='f')})"
)
_PARTS = (
    "EXISTS (SELECT FROM heart.facts p WHERE p.agent_id = f.agent_id AND p.merged_into = f.fact_id AND (p.pinned_at IS NOT NULL"
    f" OR EXISTS (SELECT FROM heart.memory_usage u WHERE {_USED.format(of='p')})))"
)


@dataclass(frozen=True)
class Wanted:
    """Which are wanted, of these provenances only: those that were not heard since a moment, and those that were demoted by another.

    None is none of them.
    """

    heard_before: Mapping[str, datetime | None]
    demoted_before: datetime | None = None

    @property
    def _values(self) -> dict[str, Any]:
        return {
            "provenances": list(self.heard_before),
            "moments": list(self.heard_before.values()),
            "demoted": self.demoted_before,
        }


async def agents(db: Read, wanted: Wanted) -> list[str]:
    """Every agent that has one, or whose only ones were found as a part of them; needs an overview. Every fact is looked at."""
    rows = await db.execute(text(f"SELECT DISTINCT f.agent_id FROM {_OLD} ORDER BY 1"), wanted._values)
    return [row.agent_id for row in rows]


async def page(db: Read, agent: str, wanted: Wanted, *, after: UUID | None, limit: int) -> list[Fact]:
    """The agent's, by id, behind `after`."""
    columns = ", ".join(f"f.{name}" for name in _NAMES)
    rows = await db.execute(
        text(
            f"SELECT {columns} FROM {_OLD} AND f.agent_id = :agent AND (CAST(:after AS uuid) IS NULL OR f.fact_id > :after)"
            f" AND NOT {_PARTS} ORDER BY f.fact_id LIMIT :limit"
        ),
        {**wanted._values, "agent": agent, "after": after, "limit": limit},
    )
    return [Fact(*row) for row in rows]


@dataclass(frozen=True)
class Looked:
    """A fact as it is now: how often it was found or drawn on, and whether it or a part of it is pinned."""

    fact: Fact
    times_used: int
    is_pinned: bool


async def look(db: Read, key: Key) -> Looked | None:
    """The fact of this key; None when the agent has none."""
    agent, fact_id = key
    parts = await facts.by_key(db, [row for row, _ in await facts.parts(db, [key])])
    if key not in parts:
        return None
    used = (await usage.of(db, agent, [("fact", fact_id)])).get(("fact", fact_id))
    return Looked(parts[key], used.retrieved + used.referenced if used else 0, any(one.pinned_at for one in parts.values()))
