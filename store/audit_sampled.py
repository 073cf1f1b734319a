"""Audit by a sample: what would take a look at every pair, or at every word, is looked at of facts drawn by chance, the same each time.

    sampled ─▶ facts drawn by a hash of their ids, from one week or from all time: one pass over the table, the few best kept
    twins   ─▶ for each of a page of them the nearest other true fact of the same agent, by exact cosine, and what is known of the two

An exact look at one fact takes time in proportion to its agent's facts: 1.5 ms of 1,000, 14 ms of 10,000 (docs/performance.md), so that
whoever asks goes page by page and stops when the time is over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from .database import Read
from .embedders import Registered


@dataclass(frozen=True)
class Drawn:
    """A fact that is true, as it was first told."""

    agent_id: str
    fact_id: UUID
    content: str
    subject: str | None


async def sampled(db: Read, *, agent: str | None, limit: int, since: datetime | None = None, until: datetime | None = None) -> list[Drawn]:
    """So many facts that are true, or fewer where there are fewer; those stored from `since` on and before `until`."""
    rows = await db.execute(
        text(
            "SELECT f.agent_id, f.fact_id, coalesce(f.own_content, f.content) AS content, f.subject FROM heart.facts f"
            " WHERE f.active AND f.forgotten_at IS NULL AND (CAST(:agent AS text) IS NULL OR f.agent_id = :agent)"
            "  AND (CAST(:since AS timestamptz) IS NULL OR f.created_at >= :since)"
            "  AND (CAST(:until AS timestamptz) IS NULL OR f.created_at < :until)"
            " ORDER BY hashtextextended(f.fact_id::text, 0), f.agent_id LIMIT :limit"
        ),
        {"agent": agent, "limit": limit, "since": since, "until": until},
    )
    return [Drawn(row.agent_id, row.fact_id, row.content, row.subject) for row in rows]


@dataclass(frozen=True)
class Twin:
    """Two facts that are true and as near as one: `known` is how the two were settled, "unsure", or "" when nobody was ever asked."""

    agent_id: str
    fact_id: UUID
    other_id: UUID
    content: str
    other: str
    is_about_another: bool
    is_later: bool
    similarity: float
    known: str


async def twins(db: Read, used: Registered, facts: Sequence[Drawn], *, floor: float) -> list[Twin]:
    """For each of these facts the nearest other one of its agent that is true, where that is at `floor` (cosine) or above."""
    if not facts:
        return []
    rows = await db.execute(
        text(
            "SELECT f.agent_id, f.fact_id, o.fact_id AS other_id, coalesce(f.own_content, f.content) AS content,"
            " coalesce(o.own_content, o.content) AS other, 1 - n.distance AS similarity,"
            " coalesce(f.subject_key <> o.subject_key, false) OR coalesce(lower(f.attribute) <> lower(o.attribute), false)"
            "  AS is_about_another, (f.created_at, f.fact_id) > (o.created_at, o.fact_id) AS is_later,"
            " coalesce((SELECT r.relation FROM heart.relations r WHERE r.agent_id = f.agent_id"
            "  AND r.low_key = least(f.text_key, o.text_key) AND r.high_key = greatest(f.text_key, o.text_key)),"
            "  (SELECT max(a.relation) FROM bus.answers a WHERE a.agent_id = f.agent_id"
            "  AND (a.older_key, a.newer_key) IN ((f.text_key, o.text_key), (o.text_key, f.text_key))), '') AS known"
            " FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[])) AS q(agent_id, fact_id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = q.agent_id AND one.fact_id = q.fact_id OFFSET 0) f"
            f" CROSS JOIN LATERAL (SELECT * FROM {used.table} one WHERE one.agent_id = q.agent_id AND one.fact_id = q.fact_id OFFSET 0) v"
            f" CROSS JOIN LATERAL (SELECT near.* FROM (SELECT t.fact_id, t.vector <=> v.vector AS distance FROM {used.table} t"
            "  WHERE t.agent_id = q.agent_id AND t.fact_id <> q.fact_id AND t.current ORDER BY distance, t.fact_id LIMIT 8) near"
            "  JOIN heart.facts alive ON alive.agent_id = q.agent_id AND alive.fact_id = near.fact_id AND alive.active"
            "  ORDER BY near.distance, near.fact_id LIMIT 1) n"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = q.agent_id AND one.fact_id = n.fact_id OFFSET 0) o"
            " WHERE f.active AND 1 - n.distance >= :floor ORDER BY f.agent_id, f.fact_id"
        ),
        {"agents": [one.agent_id for one in facts], "facts": [one.fact_id for one in facts], "floor": floor},
    )
    return [Twin(**row._mapping) for row in rows]


async def openings(db: Read, used: Registered, *, limit: int) -> list[float]:
    """The cosine of the first words of conversations drawn by chance and of those of the same agent that began up to 48 hours before."""
    its = "v.embedder = :embedder AND v.part = 'opening' AND v.agent_id = {of}.agent_id AND v.episode_id = {of}.episode_id"
    rows = await db.execute(
        text(
            "WITH drawn AS (SELECT e.agent_id, e.episode_id, e.started_at, v.vector FROM heart.episodes e"
            f" JOIN heart.episode_vectors v ON {its.format(of='e')} AND vector_dims(v.vector) = :dimension"
            " ORDER BY hashtextextended(e.episode_id::text, 0), e.agent_id LIMIT :limit)"
            " SELECT 1 - (d.vector <=> v.vector) AS similarity FROM drawn d JOIN heart.episodes e ON e.agent_id = d.agent_id"
            "  AND e.episode_id <> d.episode_id AND e.started_at BETWEEN d.started_at - interval '48 hours' AND d.started_at"
            f" JOIN heart.episode_vectors v ON {its.format(of='e')} AND vector_dims(v.vector) = :dimension"
        ),
        {"embedder": used.name, "dimension": used.dimension, "limit": limit},
    )
    return [float(row.similarity) for row in rows]
