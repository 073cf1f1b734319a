"""Facts: what an agent remembers, one row each, and the words for changing them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous.text import normalise

from .database import Read, Write


@dataclass(frozen=True)
class Fact:
    """One row of heart.facts. Times are aware UTC; `valid_*` is the world's time, `created_at` ours."""

    agent_id: str
    fact_id: UUID
    content: str
    content_hash: bytes
    subject: str | None
    attribute: str | None
    provenance: str
    confidence: float
    source: str | None
    active: bool
    superseded_by: UUID | None
    merged_into: UUID | None
    valid_from: datetime
    valid_to: datetime | None
    claimed_at: datetime
    claimed_by: str
    confirmation_count: int
    last_confirmed: datetime | None
    created_at: datetime


Key = tuple[str, UUID]
"""(agent_id, fact_id): no agent can take another's id."""

_COLUMNS = ", ".join(f"f.{name}" for name in Fact.__dataclass_fields__)


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Fact]:
    """The facts of these keys; a key that is not there is left out."""
    if not keys:
        return {}
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[])) AS q(agent_id, fact_id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts f WHERE f.agent_id = q.agent_id AND f.fact_id = q.fact_id OFFSET 0) f"
        ),
        _pairs(keys),
    )
    return {(row.agent_id, row.fact_id): _fact(row) for row in rows}


async def insert(db: Write, new: Sequence[Fact]) -> None:
    """Add rows."""
    if not new:
        return
    await db.execute(
        text(
            "INSERT INTO heart.facts (agent_id, fact_id, content, content_hash, subject, subject_key, attribute, provenance, confidence,"
            " source, active, superseded_by, merged_into, valid_from, valid_to, claimed_at, claimed_by, confirmation_count,"
            " last_confirmed, created_at)"
            " VALUES (:agent_id, :fact_id, :content, :content_hash, :subject, :subject_key, :attribute, :provenance, :confidence,"
            " :source, :active, :superseded_by, :merged_into, :valid_from, :valid_to, :claimed_at, :claimed_by, :confirmation_count,"
            " :last_confirmed, :created_at)"
        ),
        [
            {
                "agent_id": fact.agent_id,
                "fact_id": fact.fact_id,
                "content": fact.content,
                "content_hash": fact.content_hash,
                "subject": fact.subject,
                "subject_key": subject_key(fact.subject),
                "attribute": fact.attribute,
                "provenance": fact.provenance,
                "confidence": fact.confidence,
                "source": fact.source,
                "active": fact.active,
                "superseded_by": fact.superseded_by,
                "merged_into": fact.merged_into,
                "valid_from": fact.valid_from,
                "valid_to": fact.valid_to,
                "claimed_at": fact.claimed_at,
                "claimed_by": fact.claimed_by,
                "confirmation_count": fact.confirmation_count,
                "last_confirmed": fact.last_confirmed,
                "created_at": fact.created_at,
            }
            for fact in new
        ],
    )


async def confirm(db: Write, changed: Sequence[Fact]) -> None:
    """Write what a confirmation changes: trust, counts and times, never the wording."""
    if not changed:
        return
    await db.execute(
        text(
            "UPDATE heart.facts SET provenance = :provenance, confidence = :confidence, valid_from = :valid_from,"
            " claimed_at = :claimed_at, claimed_by = :claimed_by, confirmation_count = :confirmation_count,"
            " last_confirmed = :last_confirmed WHERE agent_id = :agent_id AND fact_id = :fact_id"
        ),
        [
            {
                "agent_id": fact.agent_id,
                "fact_id": fact.fact_id,
                "provenance": fact.provenance,
                "confidence": fact.confidence,
                "valid_from": fact.valid_from,
                "claimed_at": fact.claimed_at,
                "claimed_by": fact.claimed_by,
                "confirmation_count": fact.confirmation_count,
                "last_confirmed": fact.last_confirmed,
            }
            for fact in changed
        ],
    )


async def listed(db: Read, *, agent: str | None, inactive: bool, limit: int | None) -> list[Fact]:
    """Facts for a person to read, oldest first; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.facts f WHERE (CAST(:agent AS text) IS NULL OR f.agent_id = :agent)"
            " AND (f.active OR :inactive) ORDER BY f.agent_id, f.valid_from, f.fact_id LIMIT :limit"
        ),
        {"agent": agent, "inactive": inactive, "limit": limit},
    )
    return [_fact(row) for row in rows]


def subject_key(subject: str | None) -> str | None:
    """A subject folded for comparing; None when there is none."""
    return (normalise(subject) or None) if subject else None


def _fact(row: Any) -> Fact:
    return Fact(**row._mapping)


def _pairs(keys: Collection[Key]) -> dict[str, object]:
    return {"agents": [agent for agent, _ in keys], "facts": [fact for _, fact in keys]}
