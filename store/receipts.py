"""Receipts: what became of each event for each worker, written in the transaction of the effect.

No receipt, no effect; one receipt, one effect.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import text

from . import many
from .database import Read, Write

Ending = Literal["done", "skip", "parked"]
"""done and skip settle an event for good; parked waits for a person and is worked again when retried."""

Key = tuple[str, str]
"""(agent_id, event_id), for one worker."""

OPERATOR = "operator"
"""The worker named in the receipts of what people decide."""


@dataclass(frozen=True)
class Receipt:
    """One row of bus.receipts: the story of one event at one worker."""

    worker: str
    agent_id: str
    event_id: str
    stream: str
    entry_id: str
    ending: Ending
    outcome: str
    reason: str | None
    about: UUID | None
    occurred_at: datetime | None
    recorded_at: datetime
    evidence: Mapping[str, Any] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    seq: int = 0


async def settled(db: Read, worker: str, keys: Collection[Key]) -> set[Key]:
    """Those of `keys` that this worker has done or skipped already."""
    return await _with_ending(db, worker, keys, ("done", "skip"))


async def answered(db: Read, worker: str, keys: Collection[Key]) -> set[Key]:
    """Those of `keys` that this worker has a receipt for, parked ones included."""
    return await _with_ending(db, worker, keys, ("done", "skip", "parked"))


async def is_parked(db: Read, worker: str, key: Key, entry_id: str) -> bool:
    """Whether this worker has parked the event already, as this very stream entry."""
    row = await db.execute(
        text(
            "SELECT 1 FROM bus.receipts WHERE agent_id = :agent AND event_id = :event AND worker = :worker"
            " AND ending = 'parked' AND entry_id = :entry"
        ),
        {"agent": key[0], "event": key[1], "worker": worker, "entry": entry_id},
    )
    return row.one_or_none() is not None


async def insert(db: Write, new: Sequence[Receipt]) -> None:
    """Add receipts, each with the next number of its agent. A parked one is replaced, a settled one never."""
    if not new:
        return
    last = await _last_seq(db, {receipt.agent_id for receipt in new})
    rows = []
    for receipt in new:
        last[receipt.agent_id] = last.get(receipt.agent_id, 0) + 1
        rows.append({**vars(receipt), "seq": last[receipt.agent_id]})
    await db.execute(_INSERT, many.packed(rows))


async def about(db: Read, agent: str, subject: UUID) -> list[Receipt]:
    """Every receipt of what happened to one fact or censor, in the order it was written."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND about = :about ORDER BY seq"),
        {"agent": agent, "about": subject},
    )
    return [_receipt(row) for row in rows]


async def concerning(db: Read, agent: str, facts: Collection[UUID]) -> list[Receipt]:
    """Every receipt of what happened to these facts of one agent, in the order it was written.

    Those about one of them, those of an event that changed one, and those of a person's decision about one and another.
    """
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND (about = ANY(CAST(:facts AS uuid[]))"
            " OR event_id IN (SELECT v.recorded_by FROM heart.fact_versions v"
            "   WHERE v.agent_id = :agent AND v.fact_id = ANY(CAST(:facts AS uuid[]))) AND jsonb_path_exists("
            "   evidence, '$.changed[*] ? (@.fact_id == $facts[*])', jsonb_build_object('facts', CAST(:written AS jsonb)))"
            " OR evidence ->> 'other' = ANY(SELECT jsonb_array_elements_text(CAST(:written AS jsonb)))) ORDER BY seq"
        ),
        {"agent": agent, "facts": list(facts), "written": json.dumps([str(one) for one in facts])},
    )
    return [_receipt(row) for row in rows]


async def of_events(db: Read, agents: Collection[str], event_ids: Collection[str]) -> list[Receipt]:
    """Every receipt of these events of these agents, in the order it was written."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = ANY(CAST(:agents AS text[]))"
            " AND event_id = ANY(CAST(:events AS text[])) ORDER BY agent_id, seq"
        ),
        {"agents": list(agents), "events": list(event_ids)},
    )
    return [_receipt(row) for row in rows]


async def beside(db: Read, agent: str, fact: UUID, *, limit: int) -> list[Receipt]:
    """Receipts of what was stored as another fact although this one stood near it (at or above CHECK_SIMILARITY), in order."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND outcome = 'stored' AND about <> :fact"
            " AND jsonb_path_exists(evidence, '$.candidates[*] ? (@.fact_id == $fact && @.similarity >= $.check_similarity)',"
            " jsonb_build_object('fact', CAST(:written AS text))) ORDER BY seq LIMIT :limit"
        ),
        {"agent": agent, "fact": fact, "written": str(fact), "limit": limit},
    )
    return [_receipt(row) for row in rows]


async def of_agent(db: Read, agent: str, worker: str) -> list[Receipt]:
    """Every receipt of one agent at one worker, in the order they were written."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND worker = :worker ORDER BY seq"),
        {"agent": agent, "worker": worker},
    )
    return [_receipt(row) for row in rows]


async def parked_counts(db: Read) -> dict[str, int]:
    """How many events each worker has parked; needs an overview."""
    rows = await db.execute(text("SELECT worker, count(*) AS parked FROM bus.receipts WHERE ending = 'parked' GROUP BY worker"))
    return {row.worker: row.parked for row in rows}


_NAMES = many.columns(Receipt)
_COLUMNS = ", ".join(_NAMES)
_INSERT = text(
    many.inserting("bus.receipts", _NAMES)
    + " ON CONFLICT (agent_id, event_id, worker) DO UPDATE SET seq = excluded.seq, stream = excluded.stream, entry_id = excluded.entry_id,"
    " ending = excluded.ending, outcome = excluded.outcome, reason = excluded.reason, about = excluded.about,"
    " occurred_at = excluded.occurred_at, recorded_at = excluded.recorded_at, evidence = excluded.evidence, derived = excluded.derived"
    " WHERE bus.receipts.ending = 'parked'"
)


async def _with_ending(db: Read, worker: str, keys: Collection[Key], endings: Sequence[Ending]) -> set[Key]:
    if not keys:
        return set()
    rows = await db.execute(
        text(
            "SELECT r.agent_id, r.event_id FROM unnest(CAST(:agents AS text[]), CAST(:events AS text[])) AS q(agent_id, event_id)"
            " CROSS JOIN LATERAL (SELECT * FROM bus.receipts r WHERE r.agent_id = q.agent_id AND r.event_id = q.event_id"
            "  AND r.worker = :worker AND r.ending = ANY(CAST(:endings AS text[])) OFFSET 0) r"
        ),
        {
            "worker": worker,
            "endings": list(endings),
            "agents": [agent for agent, _ in keys],
            "events": [event for _, event in keys],
        },
    )
    return {(row.agent_id, row.event_id) for row in rows}


async def _last_seq(db: Write, agents: Collection[str]) -> dict[str, int]:
    rows = await db.execute(
        text(
            "SELECT a.agent_id, r.seq FROM unnest(CAST(:agents AS text[])) AS a(agent_id)"
            " CROSS JOIN LATERAL (SELECT seq FROM bus.receipts r WHERE r.agent_id = a.agent_id AND r.seq > 0 ORDER BY seq DESC LIMIT 1) r"
        ),
        {"agents": list(agents)},
    )
    return {row.agent_id: row.seq for row in rows}


def _receipt(row: Any) -> Receipt:
    fields = dict(row._mapping)
    evidence = fields["evidence"]
    return Receipt(
        **{**fields, "evidence": json.loads(evidence) if isinstance(evidence, str) else evidence, "derived": tuple(fields["derived"])}
    )
