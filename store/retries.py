"""Retries: deliveries that wait for another attempt, with their body.

A row here is acknowledged in the stream, so nothing stands behind it. What failed is worked alone; what waits for a mind, or for what it
overtook, waits `together`, and is worked in pages again when it is due.

A row belongs to whoever took it last: what an earlier taker says of it after its lease has run out changes nothing.

take ──▶ attempts + 1 and due again after the lease, committed before the work begins: a killed process has counted
  ├─▶ clear        it ended
  ├─▶ postpone     it failed: due later
  └─▶ give_back    it was not its fault (an outage, a contended lock): due again, the attempt not counted
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import text

from . import many
from .database import Read, Write


@dataclass(frozen=True)
class Retry:
    """One row of bus.retries. `attempts` counts how often it was taken, alone or together, the time under way included."""

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
    together: bool = False


@dataclass(frozen=True)
class Waiting:
    """How many deliveries of a worker wait, and the reason of the one that has waited longest."""

    count: int
    reason: str


_KEY = ("worker", "agent_id", "event_id")
_COLUMNS = ", ".join(Retry.__dataclass_fields__)
LONGEST_WAIT = timedelta(hours=1)
_SET_ASIDE = text(
    f"INSERT INTO bus.retries ({_COLUMNS}) VALUES ({', '.join(f':{name}' for name in Retry.__dataclass_fields__)})"
    " ON CONFLICT (worker, agent_id, event_id) DO UPDATE SET together = excluded.together, reason = excluded.reason,"
    " attempts = CASE WHEN excluded.together THEN bus.retries.attempts ELSE 0 END,"
    " due_at = CASE WHEN excluded.together THEN excluded.since + least(CAST(:longest AS interval),"
    " (excluded.due_at - excluded.since) * CASE WHEN :exactly THEN 1 ELSE power(2, least(bus.retries.attempts, 12)) END)"
    " ELSE excluded.due_at END"
    " WHERE bus.retries.together OR excluded.together"
)


async def set_aside(db: Write, rows: Sequence[Retry], *, exactly: bool = False) -> None:
    """Add rows. One that is there already stays as it is, unless it waits together: then it waits twice as long, or is worked alone.

    `exactly`, it waits no longer than is said.
    """
    if rows:
        await db.execute(
            _SET_ASIDE, [{**vars(row), "longest": LONGEST_WAIT, "exactly": exactly} for row in sorted(rows, key=attrgetter(*_KEY))]
        )


async def held(db: Read, worker: str, keys: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of these (agent_id, event_id) that wait here for another attempt: nobody need bring them again."""
    if not keys:
        return set()
    rows = await db.execute(
        text(
            "SELECT r.agent_id, r.event_id FROM unnest(CAST(:agents AS text[]), CAST(:events AS text[])) AS q(agent_id, event_id)"
            " JOIN bus.retries r ON r.worker = :worker AND r.agent_id = q.agent_id AND r.event_id = q.event_id"
        ),
        {"worker": worker, "agents": [agent for agent, _ in keys], "events": [event for _, event in keys]},
    )
    return {(row.agent_id, row.event_id) for row in rows}


async def of_events(db: Read, agent: str, event_ids: Collection[str]) -> list[Retry]:
    """What waits of these events of one agent, at whichever worker, the longest waiting first."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.retries WHERE agent_id = :agent AND event_id = ANY(CAST(:events AS text[])) ORDER BY since, worker"
        ),
        {"agent": agent, "events": list(event_ids)},
    )
    return [_retry(row) for row in rows]


async def due(db: Read, workers: Collection[str], *, now: datetime) -> set[tuple[str, bool]]:
    """Of which of these workers something is due: (worker, whether it waits together)."""
    rows = await db.execute(
        text(
            "SELECT w.worker, t.together FROM unnest(CAST(:workers AS text[])) AS w(worker), (VALUES (true), (false)) AS t(together)"
            " WHERE EXISTS (SELECT FROM bus.retries r WHERE r.worker = w.worker AND r.together = t.together AND r.due_at <= :now)"
        ),
        {"workers": list(workers), "now": now},
    )
    return {(row.worker, row.together) for row in rows}


async def take(db: Write, worker: str, *, now: datetime, lease: datetime) -> Retry | None:
    """The delivery that has been due longest, its attempt counted and leased until `lease`; None when none is due."""
    row = (
        await db.execute(
            text(
                "UPDATE bus.retries SET attempts = attempts + 1, due_at = :lease WHERE (worker, agent_id, event_id) ="
                " (SELECT worker, agent_id, event_id FROM bus.retries WHERE worker = :worker AND due_at <= :now AND NOT together"
                f" ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING {_COLUMNS}"
            ),
            {"worker": worker, "now": now, "lease": lease},
        )
    ).one_or_none()
    return _retry(row) if row else None


async def take_together(db: Write, worker: str, *, now: datetime, lease: datetime, limit: int) -> list[Retry]:
    """What waits together and is due, longest first, each try counted and leased until `lease`."""
    rows = await db.execute(
        text(
            "UPDATE bus.retries SET attempts = attempts + 1, due_at = :lease WHERE (worker, agent_id, event_id) IN"
            " (SELECT worker, agent_id, event_id FROM bus.retries WHERE worker = :worker AND due_at <= :now AND together"
            f" ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED) RETURNING {_COLUMNS}"
        ),
        {"worker": worker, "now": now, "lease": lease, "limit": limit},
    )
    return [_retry(row) for row in rows]


async def due_again(db: Write, taken: Collection[Retry], *, lease: datetime, due_at: datetime) -> None:
    """Those of these that are still under this lease are due at `due_at`, under the next lease."""
    await _under_lease(db, taken, "due_at = :due_at", lease, due_at)


async def let_go(db: Write, taken: Collection[Retry], *, lease: datetime, due_at: datetime) -> None:
    """Those of these that are still under this lease were not looked at: due again at `due_at`, the attempt not counted."""
    await _under_lease(db, taken, "due_at = :due_at, attempts = greatest(r.attempts - 1, 0)", lease, due_at)


async def _under_lease(db: Write, taken: Collection[Retry], change: str, lease: datetime, due_at: datetime) -> None:
    if taken:
        given = "unnest(CAST(:workers AS text[]), CAST(:agents AS text[]), CAST(:events AS text[])) AS q(worker, agent_id, event_id)"
        await db.execute(
            text(
                f"UPDATE bus.retries r SET {change} FROM {many.in_order('bus.retries', given, key=_KEY)} WHERE r.worker = q.worker"
                " AND r.agent_id = q.agent_id AND r.event_id = q.event_id AND r.together AND r.due_at = :lease"
            ),
            {
                "due_at": due_at,
                "lease": lease,
                "workers": [one.worker for one in taken],
                "agents": [one.agent_id for one in taken],
                "events": [one.event_id for one in taken],
            },
        )


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
    await _clear(db, worker, keys, "")


async def clear_together(db: Write, worker: str, keys: Collection[tuple[str, str]]) -> None:
    """Forget those of these that waited together: they have ended. What is worked alone is cleared by who works it."""
    await _clear(db, worker, keys, "AND r.together")


async def _clear(db: Write, worker: str, keys: Collection[tuple[str, str]], which: str) -> None:
    if keys:
        ended = "unnest(CAST(:agents AS text[]), CAST(:events AS text[])) AS e(agent_id, event_id)"
        given = f"(SELECT CAST(:worker AS text) AS worker, e.* FROM {ended}) AS q"
        await db.execute(
            text(
                f"DELETE FROM bus.retries r USING {many.in_order('bus.retries', given, key=_KEY)}"
                f" WHERE r.worker = q.worker AND r.agent_id = q.agent_id AND r.event_id = q.event_id {which}"
            ),
            {"worker": worker, "agents": [agent for agent, _ in keys], "events": [event for _, event in keys]},
        )


async def waiting(db: Read) -> dict[str, Waiting]:
    """What waits at each worker."""
    rows = await db.execute(
        text("SELECT worker, count(*) AS waiting, (array_agg(reason ORDER BY since))[1] AS reason FROM bus.retries GROUP BY worker")
    )
    return {row.worker: Waiting(count=row.waiting, reason=row.reason) for row in rows}


async def waiting_together(db: Read) -> dict[str, Waiting]:
    """Of what waits at each worker, that which waits together: for a mind, if it is a worker that asks one."""
    rows = await db.execute(
        text(
            "SELECT worker, count(*) AS waiting, (array_agg(reason ORDER BY since))[1] AS reason"
            " FROM bus.retries WHERE together GROUP BY worker ORDER BY min(since)"
        )
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
