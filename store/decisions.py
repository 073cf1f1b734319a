"""Decisions: choices between alternatives, with their reasons and what came of them. One that looks like noise is kept and marked."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from .database import Read, Write


@dataclass(frozen=True)
class Decision:
    """One row of brain.decisions. `noise` says why it looks like no decision, if it does; `brief` is its line in recall."""

    agent_id: str
    decision_id: UUID
    description: str
    confidence: float
    brief: str
    decided_at: datetime
    created_at: datetime
    recorded_at: datetime
    recorded_by: str
    context: str | None = None
    reasons: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    category: str | None = None
    stakes: str | None = None
    outcome: str = "pending"
    outcome_note: str | None = None
    pattern: str | None = None
    session_id: str | None = None
    noise: str | None = None
    reviewed_at: datetime | None = None
    reviewed_by: str | None = None


_NAMES = tuple(Decision.__dataclass_fields__)
_COLUMNS = ", ".join(_NAMES)
_CHANGING = tuple(name for name in _NAMES if name not in ("agent_id", "decision_id", "created_at"))


async def get(db: Read, agent: str, decision: UUID) -> Decision | None:
    """The agent's decision; None when it has none of that id, whoever else may."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM brain.decisions WHERE agent_id = :agent AND decision_id = :decision"),
        {"agent": agent, "decision": decision},
    )
    row = rows.one_or_none()
    return _decision(row) if row else None


async def put(db: Write, decision: Decision) -> None:
    """Write a decision down as it is now."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in _CHANGING)
    await db.execute(
        text(
            f"INSERT INTO brain.decisions ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)})"
            f" ON CONFLICT (agent_id, decision_id) DO UPDATE SET {changes}"
        ),
        {**vars(decision), "reasons": list(decision.reasons), "alternatives": list(decision.alternatives)},
    )


async def between(db: Read, agent: str, first: datetime, last: datetime, *, session_id: str | None = None) -> list[Decision]:
    """The agent's decisions of a stretch of time, in order; those made in another session are left out when `session_id` is given."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM brain.decisions WHERE agent_id = :agent AND decided_at BETWEEN :first AND :last"
            " AND (CAST(:session AS text) IS NULL OR session_id IS NULL OR session_id = :session) ORDER BY decided_at, decision_id"
        ),
        {"agent": agent, "first": first, "last": last, "session": session_id},
    )
    return [_decision(row) for row in rows]


async def listed(db: Read, *, agent: str | None, noise: bool | None = None, limit: int | None = None) -> list[Decision]:
    """Decisions for a person to read, the latest first; with `noise` those that look like noise, or those that do not.

    Every agent's when `agent` is None (and the session is an overview).
    """
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM brain.decisions WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " AND (CAST(:noise AS boolean) IS NULL OR (noise IS NOT NULL) = :noise)"
            " ORDER BY decided_at DESC, agent_id, decision_id LIMIT :limit"
        ),
        {"agent": agent, "noise": noise, "limit": limit},
    )
    return [_decision(row) for row in rows]


def _decision(row: Any) -> Decision:
    return Decision(**{**row._mapping, "reasons": tuple(row.reasons), "alternatives": tuple(row.alternatives)})
