"""Censors: warnings and blocks, and the counts that harden them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import many
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


Key = tuple[str, UUID]
"""(agent_id, censor_id): no agent can take another's id."""

_NAMES = many.columns(Censor)
_COLUMNS = ", ".join(_NAMES)
_BY_KEY = text(many.reading("heart.censors", _NAMES, key="censor_id"))
_CHANGING = ("severity", "activation_count", "counted_from", "false_positive_count", "last_activated", "relaxed_at", "relaxed_reason")
_UPDATE = text(
    f"UPDATE heart.censors c SET {', '.join(f'{name} = q.{name}' for name in _CHANGING)} FROM {many.these('heart.censors')}"
    " WHERE c.agent_id = q.agent_id AND c.censor_id = q.censor_id"
)


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Censor]:
    """The censors of these keys; a key that is not there is left out."""
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "ids"))
    return {(one.agent_id, one.censor_id): one for one in map(_censor, rows)}


async def get(db: Read, agent: str, censor: UUID) -> Censor | None:
    """The agent's censor; None when it has none of that id, whoever else may."""
    return (await by_key(db, [(agent, censor)])).get((agent, censor))


async def insert(db: Write, censor: Censor) -> bool:
    """Add a censor; False when the agent has one of that id already."""
    added = await db.execute(
        text(
            f"INSERT INTO heart.censors ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in _NAMES)}) ON CONFLICT DO NOTHING RETURNING 1"
        ),
        vars(censor),
    )
    return added.one_or_none() is not None


async def update(db: Write, changed: Sequence[Censor]) -> None:
    """Write the severity, counts and times of these."""
    if changed:
        await db.execute(_UPDATE, many.packed(map(vars, changed)))


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
