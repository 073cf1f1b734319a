"""Audits that were made, and verdicts on merges: what is kept of looking after a store, without a word of what it remembers.

nous audit ──put──▶ a row more ──listed──▶ nous audit --history
nous audit merges ──judge──▶ is it one fact, by a person ──judged──▶ nous calibrate --thresholds
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from .database import Read, Write

EVERYBODY = ""
"""The agent of an audit of all agents."""


@dataclass(frozen=True)
class Audit:
    """One look: of which agent, when, whether nothing was above its limit, and every figure by its name."""

    agent_id: str
    taken_at: datetime
    healthy: bool
    figures: Mapping[str, Any]


async def put(db: Write, audit: Audit) -> None:
    """Keep it."""
    await db.execute(
        text(
            "INSERT INTO bus.audits (agent_id, taken_at, healthy, figures) VALUES (:agent_id, :taken_at, :healthy, CAST(:figures AS jsonb))"
        ),
        {**vars(audit), "figures": json.dumps(dict(audit.figures))},
    )


async def listed(db: Read, *, agent: str, limit: int) -> list[Audit]:
    """The latest audits of this agent, or of EVERYBODY, the latest first; needs an overview or a session for it."""
    rows = await db.execute(
        text(
            "SELECT agent_id, taken_at, healthy, figures::text AS figures FROM bus.audits WHERE agent_id = :agent"
            " ORDER BY version DESC LIMIT :limit"
        ),
        {"agent": agent, "limit": limit},
    )
    return [Audit(row.agent_id, row.taken_at, row.healthy, json.loads(row.figures)) for row in rows]


# ── merges ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Merge:
    """A wording that became part of a fact: by a row that was merged into it, or by a claim that was confirmed in other words.

    `part_id` is what `nous fact split` takes. `similarity` is the cosine of the two; None where one has no vector in use. `is_one` is what
    a person said of it at `judged_at`; None where nobody did.
    """

    agent_id: str
    part_id: UUID
    whole_id: UUID
    part: str
    whole: str
    how: str
    similarity: float | None
    claimed_at: datetime
    began_at: datetime
    is_one: bool | None = None
    judged_at: datetime | None = None


@dataclass(frozen=True)
class JudgedMerge:
    """A merge as its two wordings, and whether a person says that they are one fact."""

    part: str
    whole: str
    is_one: bool


_WHOLE = "coalesce(w.own_content, w.content)"  # the words it was first told in; empty where it was forgotten
_MERGED = (
    "SELECT f.agent_id, f.fact_id AS part_id, f.merged_into AS whole_id, coalesce(f.own_content, f.content) AS part,"
    f" {_WHOLE} AS whole, 'merged' AS how, NULL::float AS similarity, f.claimed_at, w.valid_from AS began_at"
    " FROM heart.facts f JOIN heart.facts w ON w.agent_id = f.agent_id AND w.fact_id = f.merged_into"
    " WHERE f.merged_into IS NOT NULL AND f.forgotten_at IS NULL AND w.forgotten_at IS NULL"
)
_CONFIRMED = (
    "SELECT m.agent_id, m.mention_id, m.fact_id, m.content,"
    f" {_WHOLE}, 'confirmed', m.similarity, m.occurred_at, w.valid_from"
    " FROM heart.fact_mentions m JOIN heart.facts w ON w.agent_id = m.agent_id AND w.fact_id = m.fact_id"
    " WHERE m.outcome = 'confirmed' AND m.similarity < 1 AND m.content <> '' AND w.forgotten_at IS NULL"
    " AND m.content_hash <> w.content_hash"
)


async def merges(db: Read, table: str, *, agent: str | None, limit: int, is_judged: bool = False) -> list[Merge]:
    """So many merges that no person has judged, of all in an order of chance that stays the same; needs an overview.

    With `is_judged` those that a person has, the latest first. `table` holds the vectors in use. Every merge is looked at to draw from,
    none is kept but those given.
    """
    order = "judged_at DESC NULLS LAST, hashtextextended({of}.part_id::text, 0), {of}.agent_id"
    rows = await db.execute(
        text(
            f"WITH drawn AS (SELECT q.*, v.is_one, v.judged_at FROM ({_MERGED} UNION ALL {_CONFIRMED}) q"
            "  LEFT JOIN heart.merge_verdicts v ON v.agent_id = q.agent_id AND v.part_id = q.part_id AND v.whole_id = q.whole_id"
            "  WHERE (CAST(:agent AS text) IS NULL OR q.agent_id = :agent) AND (v.part_id IS NOT NULL) = :is_judged"
            f"  ORDER BY {order.format(of='q')} LIMIT :limit)"
            " SELECT d.agent_id, d.part_id, d.whole_id, d.part, d.whole, d.how, d.is_one, d.judged_at,"
            " coalesce(d.similarity, 1 - (p.vector <=> w.vector)) AS similarity, d.claimed_at, d.began_at FROM drawn d"
            f" LEFT JOIN {table} p ON p.agent_id = d.agent_id AND p.fact_id = d.part_id"
            f" LEFT JOIN {table} w ON w.agent_id = d.agent_id AND w.fact_id = d.whole_id"
            f" ORDER BY {order.format(of='d')}"
        ),
        {"agent": agent, "limit": limit, "is_judged": is_judged},
    )
    return [Merge(**row._mapping) for row in rows]


async def judge(db: Write, merge: Merge, *, is_one: bool, now: datetime) -> None:
    """Keep what a person says of a merge; said again, the later holds."""
    await db.execute(
        text(
            "INSERT INTO heart.merge_verdicts (agent_id, part_id, whole_id, is_one, judged_at)"
            " VALUES (:agent, :part, :whole, :is_one, :now)"
            " ON CONFLICT (agent_id, part_id, whole_id) DO UPDATE SET is_one = excluded.is_one, judged_at = excluded.judged_at"
        ),
        {"agent": merge.agent_id, "part": merge.part_id, "whole": merge.whole_id, "is_one": is_one, "now": now},
    )


async def judged(db: Read, *, agent: str | None) -> list[JudgedMerge]:
    """Every merge that a person judged and whose words are still there, in the order judged; needs an overview."""
    its = "one.agent_id = v.agent_id"
    rows = await db.execute(
        text(
            f"SELECT coalesce(p.wording, m.content) AS part, {_WHOLE} AS whole, v.is_one FROM heart.merge_verdicts v"
            " JOIN heart.facts w ON w.agent_id = v.agent_id AND w.fact_id = v.whole_id AND w.forgotten_at IS NULL"
            " LEFT JOIN LATERAL (SELECT coalesce(one.own_content, one.content) AS wording FROM heart.facts one"
            f"  WHERE {its} AND one.fact_id = v.part_id AND one.forgotten_at IS NULL) p ON true"
            " LEFT JOIN LATERAL (SELECT one.content FROM heart.fact_mentions one"
            f"  WHERE {its} AND one.mention_id = v.part_id AND one.content <> '' ORDER BY one.occurred_at LIMIT 1) m ON true"
            " WHERE (CAST(:agent AS text) IS NULL OR v.agent_id = :agent) AND coalesce(p.wording, m.content) IS NOT NULL"
            " ORDER BY v.judged_at, v.part_id"
        ),
        {"agent": agent},
    )
    return [JudgedMerge(row.part, row.whole, row.is_one) for row in rows]
