"""Censors: warnings and blocks, and the counts that harden them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from .database import Read, Write

DEFAULT_ESCALATION_THRESHOLD = 5


@dataclass(frozen=True)
class Censor:
    """One row of heart.censors. `counted_from` is the activation count at which a person last relaxed it: counting starts anew there."""

    agent_id: str
    censor_id: UUID
    trigger_pattern: str
    reason: str
    severity: str
    escalation_threshold: int
    activation_count: int
    counted_from: int
    false_positive_count: int
    last_activated: datetime | None
    relaxed_at: datetime | None
    relaxed_reason: str | None
    created_at: datetime


_NAMES = tuple(Censor.__dataclass_fields__)
_COLUMNS = ", ".join(_NAMES)


async def get(db: Read, agent: str, censor: UUID) -> Censor | None:
    """The agent's censor; None when it has none of that id, whoever else may."""
    row = (
        await db.execute(
            text(f"SELECT {_COLUMNS} FROM heart.censors WHERE agent_id = :agent AND censor_id = :censor"),
            {"agent": agent, "censor": censor},
        )
    ).one_or_none()
    return _censor(row) if row else None


async def insert(db: Write, censor: Censor) -> bool:
    """Add a censor; False when the agent has one of that id already."""
    added = await db.execute(
        text(
            f"INSERT INTO heart.censors ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)}) ON CONFLICT DO NOTHING RETURNING 1"
        ),
        vars(censor),
    )
    return added.one_or_none() is not None


async def update(db: Write, censor: Censor) -> None:
    """Write a censor's severity, counts and times."""
    await db.execute(
        text(
            "UPDATE heart.censors SET severity = :severity, activation_count = :activation_count, counted_from = :counted_from,"
            " false_positive_count = :false_positive_count, last_activated = :last_activated, relaxed_at = :relaxed_at,"
            " relaxed_reason = :relaxed_reason WHERE agent_id = :agent_id AND censor_id = :censor_id"
        ),
        vars(censor),
    )


async def listed(db: Read, *, agent: str | None) -> list[Censor]:
    """Censors for a person to read; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.censors WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " ORDER BY agent_id, created_at, censor_id"
        ),
        {"agent": agent},
    )
    return [_censor(row) for row in rows]


async def owners(db: Read, censor: UUID) -> list[str]:
    """The agents that have a censor of this id; needs an overview."""
    rows = await db.execute(text("SELECT agent_id FROM heart.censors WHERE censor_id = :censor ORDER BY 1"), {"censor": censor})
    return [row.agent_id for row in rows]


def _censor(row: Any) -> Censor:
    return Censor(**row._mapping)
