"""Parked deliveries: what waits for a person, seen from its receipts.

    parked ──reopen──▶ waits in bus.retries ─┬─ ends ──▶ done or skipped, and its receipt tells that it was parked
      ▲  │                 ▲                 └─ fails ─▶ parked again, and its receipt tells of both
      │  └──── drop ───────│───▶ skipped, outcome `dropped`
      └────────────────────┴──────────┘ reopened too

Parked is what has a parked receipt and does not wait in bus.retries: whatever a crash leaves half done is one or the other. What
happened before is in the evidence of the receipt that took its place, as `was_parked`, the earliest first (receipts.insert).
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from .database import Read, Write

HANDLE_LENGTH = 10
SHORTEST = 4  # beginning of a handle that is taken for one
DROPPED = "dropped"
MOST = 20  # looked at, of all that a name or its beginning fits


@dataclass(frozen=True, eq=False)
class Parked:
    """A delivery that is parked, or was; `waits`, it was reopened and is worked again by itself.

    Its evidence has `attempts`, `retried_at` since it was reopened, and `was_parked`: a list of {at, what, reason, attempts, retried_at}.
    """

    handle: str
    worker: str
    agent_id: str
    event_id: str
    stream: str
    entry_id: str
    ending: str
    outcome: str
    reason: str
    recorded_at: datetime
    seq: int
    evidence: Mapping[str, Any]
    waits: bool

    @property
    def key(self) -> tuple[str, str]:
        """(agent_id, event_id)."""
        return self.agent_id, self.event_id

    @property
    def is_parked(self) -> bool:
        """It waits for a person."""
        return self.ending == "parked" and not self.waits

    @property
    def is_dropped(self) -> bool:
        """A person decided that it is not wanted."""
        return self.ending == "skip" and self.outcome == DROPPED

    @property
    def attempts(self) -> int | None:
        """How often it had been worked when it was parked."""
        return self.evidence.get("attempts")

    @property
    def history(self) -> list[dict[str, Any]]:
        """How often it was parked or dropped before, the earliest first."""
        return list(self.evidence.get("was_parked", ()))


@dataclass(frozen=True)
class Wanted:
    """Which parked deliveries: all that fit everything that is not None. `reason` is part of it, in any case; `since` is within."""

    worker: str | None = None
    stream: str | None = None
    agent: str | None = None
    reason: str | None = None
    since: datetime | None = None


def handle(worker: str, key: tuple[str, str]) -> str:
    """What a person calls the delivery of this (agent_id, event_id) to this worker."""
    return hashlib.md5("\x1f".join((worker, *key)).encode(), usedforsecurity=False).hexdigest()[:HANDLE_LENGTH]


_WHOLE_HANDLE = "md5(r.worker || chr(31) || r.agent_id || chr(31) || r.event_id)"
_WAITS = "EXISTS (SELECT FROM bus.retries t WHERE t.worker = r.worker AND t.agent_id = r.agent_id AND t.event_id = r.event_id)"
_SELECT = (
    f"SELECT left({_WHOLE_HANDLE}, {HANDLE_LENGTH}) AS handle, r.worker, r.agent_id, r.event_id, r.stream, r.entry_id, r.ending, r.outcome,"
    f" coalesce(r.reason, '') AS reason, r.recorded_at, r.seq, r.evidence, {_WAITS} AS waits FROM bus.receipts r"
)
_IS_PARKED = f"r.ending = 'parked' AND NOT {_WAITS}"
_IS_DROPPED = f"r.ending = 'skip' AND r.outcome = '{DROPPED}'"
_FITS = (
    "(CAST(:worker AS text) IS NULL OR r.worker = :worker) AND (CAST(:stream AS text) IS NULL OR r.stream = :stream)"
    " AND (CAST(:agent AS text) IS NULL OR r.agent_id = :agent)"
    " AND (CAST(:reason AS text) IS NULL OR strpos(lower(r.reason), lower(:reason)) > 0)"
    " AND (CAST(:since AS timestamptz) IS NULL OR r.recorded_at >= :since)"
)
_NAMED = (
    f"(length(CAST(:written AS text)) >= {SHORTEST} AND starts_with({_WHOLE_HANDLE}, lower(CAST(:written AS text)))"
    " OR r.event_id = CAST(:written AS text))"
)
_TOLD_OF = f"(({_IS_DROPPED}) OR r.evidence -> 'was_parked' IS NOT NULL)"


async def listed(db: Read, wanted: Wanted, *, dropped: bool = False, limit: int | None = None) -> list[Parked]:
    """What is parked, or was dropped, the latest first; needs an overview."""
    rows = await db.execute(
        text(
            f"{_SELECT} WHERE {_IS_DROPPED if dropped else _IS_PARKED} AND {_FITS}"
            " ORDER BY r.recorded_at DESC, r.agent_id, r.event_id, r.worker LIMIT :limit"
        ),
        {**vars(wanted), "limit": limit},
    )
    return [_parked(row) for row in rows]


async def counts(db: Read, wanted: Wanted) -> list[tuple[str, str, int]]:
    """How many deliveries each worker has parked for each reason, most first; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT r.worker, coalesce(r.reason, '') AS reason, count(*) AS parked FROM bus.receipts r"
            f" WHERE {_IS_PARKED} AND {_FITS} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
        ),
        vars(wanted),
    )
    return [(row.worker, row.reason, row.parked) for row in rows]


async def named(db: Read, written: str, wanted: Wanted) -> list[Parked]:
    """Those that a person means by a handle, its beginning, or an event id: parked or reopened, else dropped or parked once; an overview.

    For the latter every receipt is looked at, or those of the agent that is wanted.
    """
    for kind in ("r.ending = 'parked'", _TOLD_OF):
        rows = await db.execute(
            text(f"{_SELECT} WHERE {kind} AND {_NAMED} AND {_FITS} ORDER BY r.recorded_at DESC, r.worker LIMIT :limit"),
            {**vars(wanted), "written": written, "limit": MOST},
        )
        if found := [_parked(row) for row in rows]:
            return found
    return []


async def unchanged(db: Write, ones: Collection[Parked]) -> list[Parked]:
    """Those of these about which nothing has happened since they were looked at; the session holds their agents' locks."""
    rows = await db.execute(
        text(
            "SELECT r.worker, r.agent_id, r.event_id, r.seq FROM unnest(CAST(:workers AS text[]), CAST(:agents AS text[]),"
            " CAST(:events AS text[]), CAST(:seqs AS bigint[])) AS q(worker, agent_id, event_id, seq) JOIN bus.receipts r"
            " ON r.agent_id = q.agent_id AND r.event_id = q.event_id AND r.worker = q.worker AND r.seq = q.seq"
            f" WHERE ({_IS_PARKED}) OR ({_IS_DROPPED})"
        ),
        _columns(ones),
    )
    found = {(row.worker, row.agent_id, row.event_id) for row in rows}
    return [one for one in ones if (one.worker, *one.key) in found]


async def reopen(db: Write, ones: Collection[Parked], *, now: datetime) -> None:
    """These are worked again: whatever they end in may take the place of their receipts, which say since when."""
    if ones:
        await db.execute(
            text(
                "UPDATE bus.receipts r SET ending = 'parked', evidence = r.evidence || jsonb_build_object('retried_at', CAST(:now AS text))"
                " FROM unnest(CAST(:workers AS text[]), CAST(:agents AS text[]), CAST(:events AS text[]), CAST(:seqs AS bigint[]))"
                " AS q(worker, agent_id, event_id, seq) WHERE r.agent_id = q.agent_id AND r.event_id = q.event_id"
                " AND r.worker = q.worker AND r.seq = q.seq"
            ),
            {**_columns(ones), "now": now.isoformat()},
        )


def _columns(ones: Collection[Parked]) -> dict[str, object]:
    return {
        "workers": [one.worker for one in ones],
        "agents": [one.agent_id for one in ones],
        "events": [one.event_id for one in ones],
        "seqs": [one.seq for one in ones],
    }


def _parked(row: Any) -> Parked:
    evidence = row.evidence
    return Parked(**{**row._mapping, "evidence": json.loads(evidence) if isinstance(evidence, str) else evidence})
