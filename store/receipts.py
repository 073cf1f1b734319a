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

from . import called, everybody, many
from .database import Read, Write

Ending = Literal["done", "skip", "parked"]
"""done and skip settle an event for good; parked waits for a person and is worked again when retried."""

Key = tuple[str, str]
"""(agent_id, event_id), for one worker."""

OPERATOR = "operator"
"""The worker named in the receipts of what people decide."""

PARKED_CLASSES = 20  # of a worker, that are counted apart
CLASS_LENGTH = 100  # characters of a reason that tell its class


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


async def insert(db: Write, new: Sequence[Receipt], *, after: Mapping[str, int] | None = None) -> None:
    """Add receipts, each with the next number of its agent; `after` is each agent's latest, where it is known. A parked one is replaced, a
    settled one never.

    What takes the place of a parked one tells of it in its evidence, as `was_parked`: a list of {at, what, reason, attempts,
    retried_at}, the earliest first. Parked once more as the same entry, with no retry in between, is the same parking.
    """
    if not new:
        return
    last = dict(await last_seq(db, {receipt.agent_id for receipt in new}) if after is None else after)
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


async def because_of(db: Read, agent: str, published: Collection[str]) -> list[Receipt]:
    """The receipts of what led to these events, each named as `stream:event_id`, in the order they were written."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND derived && CAST(:published AS text[]) ORDER BY seq"),
        {"agent": agent, "published": list(published)},
    )
    return [_receipt(row) for row in rows]


async def naming(db: Read, agent: str, subject: UUID, streams: Collection[str]) -> list[Receipt]:
    """Receipts of events of these streams that had no effect and whose reason names `subject`, in the order they were written."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM bus.receipts WHERE agent_id = :agent AND about IS NULL AND stream = ANY(CAST(:streams AS text[]))"
            " AND position(CAST(:subject AS text) IN reason) > 0 ORDER BY seq"
        ),
        {"agent": agent, "streams": list(streams), "subject": str(subject)},
    )
    return [_receipt(row) for row in rows]


async def events_named(db: Read, written: str, *, agent: str | None, limit: int) -> list[Key]:
    """The events that have a receipt and whose id is `written`, or, when there are none, begins so; every agent's when `agent` is None.

    Needs an overview.
    """
    columns = "DISTINCT agent_id, event_id"
    found = await called.rows(db, columns, "bus.receipts", written, agent=agent, order="agent_id, event_id", limit=limit)
    return [(row.agent_id, row.event_id) for row in found]


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


async def agents(db: Read) -> list[str]:
    """Everybody there is a receipt of; needs an overview. What names nobody is nobody's."""
    rows = await db.execute(text(everybody.in_("bus.receipts")))
    return [row.agent_id for row in rows if row.agent_id]


@dataclass(frozen=True, slots=True)
class Step:
    """A receipt in short, for doing the same again. `seen` and `model` are what its evidence says of them."""

    seq: int
    worker: str
    event_id: str
    stream: str
    entry_id: str
    ending: Ending
    outcome: str
    recorded_at: datetime
    derived: tuple[str, ...]
    seen: int | None
    model: str | None
    about: UUID | None = None

    @property
    def named(self) -> tuple[str, str]:
        """Its event, by stream and id."""
        return self.stream, self.event_id


async def steps(db: Read, agent: str) -> list[Step]:
    """All that happened to one agent's memory, in the order it did."""
    rows = await db.execute(
        text(
            "SELECT seq, worker, event_id, stream, entry_id, ending, outcome, recorded_at, derived, about,"
            " CAST(evidence ->> 'seen' AS bigint) AS seen, evidence ->> 'model' AS model"
            " FROM bus.receipts WHERE agent_id = :agent AND seq > 0 ORDER BY seq"
        ),
        {"agent": agent},
    )
    return [Step(**{**row._mapping, "derived": tuple(row.derived)}) for row in rows]


async def count(db: Read, agents: Collection[str]) -> int:
    """How many receipts there are of these agents; needs an overview."""
    counted = await db.execute(
        text("SELECT count(*) FROM bus.receipts WHERE agent_id = ANY(CAST(:agents AS text[]))"), {"agents": list(agents)}
    )
    return int(counted.scalar_one())


async def parked_counts(db: Read) -> dict[str, int]:
    """How many events each worker has parked and is not working again; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT r.worker, count(*) AS parked FROM bus.receipts r WHERE r.ending = 'parked' AND NOT EXISTS (SELECT FROM bus.retries t"
            " WHERE t.worker = r.worker AND t.agent_id = r.agent_id AND t.event_id = r.event_id) GROUP BY r.worker"
        )
    )
    return {row.worker: row.parked for row in rows}


_VALUES = (
    r"(?<!\w)'[^']*\.\.\. [(][0-9,]+ characters[)]"  # what is quoted, and cut
    r"""|(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|"(?:[^"\\]|\\.)*"|“[^”]*”"""  # what is quoted whole
    r"|[^\s;:,()]*[0-9](?:[.,:]?[^\s;:,()])*"  # ids, numbers, times
)


async def parked_classes(db: Read) -> dict[tuple[str, str], int]:
    """How many events each worker has parked, by (worker, class of reasons); needs an overview.

    The class is the beginning of the reason, up to its first colon, semicolon or bracket, with … for each value in it. Of each worker
    the PARKED_CLASSES largest classes, and the rest as "other".
    """
    rows = await db.execute(
        text(
            "SELECT worker, class_, count(*) AS parked FROM (SELECT worker,"
            " left(regexp_replace(regexp_replace(coalesce(reason, ''), :values, '…', 'g'), '\\s*[;:(].*$', ''), :length) AS class_"
            " FROM bus.receipts r WHERE ending = 'parked' AND NOT EXISTS (SELECT FROM bus.retries t WHERE t.worker = r.worker"
            " AND t.agent_id = r.agent_id AND t.event_id = r.event_id)) p GROUP BY worker, class_ ORDER BY count(*) DESC, class_"
        ),
        {"values": _VALUES, "length": CLASS_LENGTH},
    )
    found: dict[tuple[str, str], int] = {}
    known: dict[str, int] = {}
    for row in rows:
        known[row.worker] = known.get(row.worker, 0) + 1
        key = (row.worker, row.class_ if known[row.worker] <= PARKED_CLASSES and row.class_.strip("… ") else "other")
        found[key] = found.get(key, 0) + row.parked
    return found


_NAMES = many.columns(Receipt)
_COLUMNS = ", ".join(_NAMES)
_PARKINGS_KEPT = 50
_WAS_PARKED = (
    "coalesce(bus.receipts.evidence -> 'was_parked', '[]') || CASE WHEN excluded.ending = 'parked'"
    " AND excluded.entry_id = bus.receipts.entry_id AND bus.receipts.evidence -> 'retried_at' IS NULL THEN '[]'"
    " ELSE jsonb_build_array(jsonb_build_object('at', bus.receipts.recorded_at, 'what', bus.receipts.outcome,"
    " 'reason', bus.receipts.reason, 'attempts', bus.receipts.evidence -> 'attempts',"
    " 'retried_at', bus.receipts.evidence -> 'retried_at')) END"
)
_WITH_WHAT_WAS_PARKED = (
    "excluded.evidence || jsonb_strip_nulls(jsonb_build_object('was_parked',"
    f" nullif(jsonb_path_query_array({_WAS_PARKED}, '$[last - {_PARKINGS_KEPT - 1} to last]'), '[]')))"
)
_INSERT = text(
    many.inserting("bus.receipts", _NAMES)
    + " ON CONFLICT (agent_id, event_id, worker) DO UPDATE SET seq = excluded.seq, stream = excluded.stream, entry_id = excluded.entry_id,"
    " ending = excluded.ending, outcome = excluded.outcome, reason = excluded.reason, about = excluded.about,"
    " occurred_at = excluded.occurred_at, recorded_at = excluded.recorded_at, derived = excluded.derived,"
    f" evidence = {_WITH_WHAT_WAS_PARKED}"
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


async def last_seq(db: Read, agents: Collection[str]) -> dict[str, int]:
    """The number of the latest receipt of each of these agents that has one: what has happened to it so far."""
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
