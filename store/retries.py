"""Retries: deliveries that wait for another attempt, with their body.

A row here is acknowledged in the stream, so nothing stands behind it.

A row belongs to whoever took it last: what an earlier taker says of it after its lease has run out changes nothing.

take ──▶ attempts + 1 and due again after the lease, committed before the work begins: a killed process has counted
  ├─▶ clear        it ended
  ├─▶ postpone     it failed: due later
  └─▶ give_back    it was not its fault (an outage, a contended lock): due again, the attempt not counted
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from .database import Read, Write


@dataclass(frozen=True)
class Retry:
    """One row of bus.retries. `attempts` counts those made alone, the one under way included."""

    worker: str
    agent_id: str
    event_id: str
    stream: str
    entry_id: str
    body: bytes
    attempts: int
    due_at: datetime
    reason: str
    since: datetime


@dataclass(frozen=True)
class Waiting:
    """How many deliveries of a worker wait, and the reason of the one that has waited longest."""

    count: int
    reason: str


_COLUMNS = ", ".join(Retry.__dataclass_fields__)


async def set_aside(db: Write, rows: Sequence[Retry]) -> None:
    """Add rows; one that is there already stays as it is."""
    if rows:
        await db.execute(
            text(
                f"INSERT INTO bus.retries ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in Retry.__dataclass_fields__)})"
                " ON CONFLICT DO NOTHING"
            ),
            [vars(row) for row in rows],
        )


async def take(db: Write, worker: str, *, now: datetime, lease: datetime) -> Retry | None:
    """The delivery that has been due longest, its attempt counted and leased until `lease`; None when none is due."""
    row = (
        await db.execute(
            text(
                "UPDATE bus.retries SET attempts = attempts + 1, due_at = :lease WHERE (worker, agent_id, event_id) ="
                " (SELECT worker, agent_id, event_id FROM bus.retries WHERE worker = :worker AND due_at <= :now"
                f" ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING {_COLUMNS}"
            ),
            {"worker": worker, "now": now, "lease": lease},
        )
    ).one_or_none()
    return _retry(row) if row else None


async def postpone(db: Write, retry: Retry, *, due_at: datetime, reason: str) -> None:
    """It failed: due again at `due_at`, the attempt counted."""
    await _update(db, retry, due_at, reason, uncounted=0)


async def give_back(db: Write, retry: Retry, *, due_at: datetime, reason: str) -> None:
    """It was not worked through no fault of its own: due again at `due_at`, the attempt not counted."""
    await _update(db, retry, due_at, reason, uncounted=1)


async def renew(db: Write, retry: Retry, *, lease: datetime) -> None:
    """It is still being worked: leased until `lease`."""
    await _update(db, retry, lease, retry.reason, uncounted=0)


async def clear(db: Write, worker: str, keys: Collection[tuple[str, str]]) -> None:
    """Forget deliveries, by (agent_id, event_id), that have ended."""
    if keys:
        await db.execute(
            text(
                "DELETE FROM bus.retries r USING unnest(CAST(:agents AS text[]), CAST(:events AS text[])) AS q(agent_id, event_id)"
                " WHERE r.worker = :worker AND r.agent_id = q.agent_id AND r.event_id = q.event_id"
            ),
            {"worker": worker, "agents": [agent for agent, _ in keys], "events": [event for _, event in keys]},
        )


async def waiting(db: Read) -> dict[str, Waiting]:
    """What waits at each worker."""
    rows = await db.execute(
        text("SELECT worker, count(*) AS waiting, (array_agg(reason ORDER BY since))[1] AS reason FROM bus.retries GROUP BY worker")
    )
    return {row.worker: Waiting(count=row.waiting, reason=row.reason) for row in rows}


async def _update(db: Write, retry: Retry, due_at: datetime, reason: str, *, uncounted: int) -> None:
    await db.execute(
        text(
            "UPDATE bus.retries SET due_at = :due_at, reason = :reason, attempts = greatest(attempts - :uncounted, 0)"
            " WHERE worker = :worker AND agent_id = :agent AND event_id = :event AND attempts = :attempts"
        ),
        {
            "attempts": retry.attempts,
            "due_at": due_at,
            "reason": reason,
            "uncounted": uncounted,
            "worker": retry.worker,
            "agent": retry.agent_id,
            "event": retry.event_id,
        },
    )


def _retry(row: Any) -> Retry:
    return Retry(**row._mapping)
