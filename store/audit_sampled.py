"""Audit by a sample: what would take a look at every pair, or at every word, is looked at of facts drawn by chance, the same each time.

    sampled ─▶ facts drawn by a hash of their ids, from one week or from all time: one pass over the table, the few best kept
    twins   ─▶ for each of some of one agent the nearest other true fact of it, by exact cosine, and what is known of the two

An exact look takes time in proportion to the agent's facts, so that whoever asks goes page by page and stops when the time is over.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from .database import Read
from .embedders import Registered
from .facts import claimed_after


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
    """Two facts that are true and as near as one: `known` is how the two were settled, "unsure", or "" when nobody was ever asked.

    `is_later`: the fact became a row after the other one; `claimed_later`: it was last claimed after it.
    """

    agent_id: str
    fact_id: UUID
    other_id: UUID
    content: str
    other: str
    is_about_another: bool
    is_later: bool
    claimed_later: bool
    similarity: float
    known: str


async def twins(db: Read, used: Registered, agent: str, facts: Collection[UUID], *, floor: float) -> list[Twin]:
    """For each of these facts the nearest other one of the agent that is true, where that is at `floor` (cosine) or above.

    The agent's vectors are read once, however many of its facts are asked about.
    """
    rows = await db.execute(
        text(
            "WITH q AS MATERIALIZED (SELECT v.fact_id, v.vector FROM unnest(CAST(:facts AS uuid[])) AS q(fact_id)"
            f"  CROSS JOIN LATERAL (SELECT * FROM {used.table} v WHERE v.agent_id = :agent AND v.fact_id = q.fact_id OFFSET 0) v),"
            f" t AS NOT MATERIALIZED (SELECT fact_id, vector FROM {used.table} WHERE agent_id = :agent AND current OFFSET 0),"
            " near AS MATERIALIZED (SELECT CAST(:agent AS text) AS agent_id, q.fact_id, t.fact_id AS other_id,"
            "  t.vector <=> q.vector AS distance FROM t"
            "  JOIN q ON t.fact_id <> q.fact_id AND (t.vector <=> q.vector) <= 1 - CAST(:floor AS float))"
            " SELECT DISTINCT ON (f.agent_id, f.fact_id) f.agent_id, f.fact_id, o.fact_id AS other_id,"
            " coalesce(f.own_content, f.content) AS content, coalesce(o.own_content, o.content) AS other, 1 - n.distance AS similarity,"
            " coalesce(f.subject_key <> o.subject_key, false) OR coalesce(lower(f.attribute) <> lower(o.attribute), false)"
            "  AS is_about_another, (f.created_at, f.fact_id) > (o.created_at, o.fact_id) AS is_later,"
            f" {claimed_after('f', 'o')} AS claimed_later,"
            " coalesce((SELECT r.relation FROM heart.relations r WHERE r.agent_id = f.agent_id"
            "  AND r.low_key = least(f.text_key, o.text_key) AND r.high_key = greatest(f.text_key, o.text_key)),"
            "  (SELECT max(a.relation) FROM bus.answers a WHERE a.agent_id = f.agent_id"
            "  AND (a.older_key, a.newer_key) IN ((f.text_key, o.text_key), (o.text_key, f.text_key))), '') AS known FROM near n"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = n.agent_id AND one.fact_id = n.fact_id OFFSET 0) f"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = n.agent_id AND one.fact_id = n.other_id OFFSET 0) o"
            " WHERE f.active AND o.active ORDER BY f.agent_id, f.fact_id, n.distance, n.other_id"
        ),
        {"agent": agent, "facts": list(facts), "floor": floor},
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
