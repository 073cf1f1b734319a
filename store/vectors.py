"""Vectors: one for each fact, in the table of the embedder that made it; nearest by exact cosine, within one agent."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from . import facts
from .database import Read, Write

Vector = NDArray[np.float32]
"""Length-1 embedding of one text."""


@dataclass(frozen=True)
class Near:
    """A fact near a text: plain cosine similarity, -1 to 1, never a rank or a fused score."""

    fact_id: UUID
    similarity: float


async def nearest(db: Read, table: str, asked: Sequence[tuple[str, Vector]], *, limit: int, floor: float) -> list[list[Near]]:
    """For each (agent_id, vector): the agent's nearest facts, nearest first; the first whatever its score, others from `floor` up.

    At most `limit` that are true now and `limit` of the past, so that neither crowds the other out.
    Exact: every vector of the agent is looked at. About 0.8 ms at 1,000 facts and 13 ms at 10,000 (measured, two cores).
    """
    if not asked:
        return []
    near = f"SELECT v.fact_id, v.vector <=> q.vector AS distance FROM {table} v WHERE v.agent_id = q.agent_id"
    best = "ORDER BY distance, v.fact_id LIMIT :limit"
    rows = await db.execute(
        text(
            "SELECT q.ord, n.fact_id, 1 - n.distance AS similarity"
            " FROM unnest(CAST(:agents AS text[]), CAST(:vectors AS halfvec[])) WITH ORDINALITY AS q(agent_id, vector, ord)"
            " CROSS JOIN LATERAL (SELECT top.*, row_number() OVER (ORDER BY top.distance, top.fact_id) AS place"
            f"  FROM (({near} AND v.current {best}) UNION ALL ({near} AND NOT v.current {best})) top) n"
            " WHERE n.place = 1 OR 1 - n.distance >= :floor ORDER BY q.ord, n.place"
        ),
        {
            "agents": [agent for agent, _ in asked],
            "vectors": [HalfVector(vector) for _, vector in asked],
            "limit": limit,
            "floor": floor,
        },
    )
    found: list[list[Near]] = [[] for _ in asked]
    for row in rows:
        found[row.ord - 1].append(Near(fact_id=row.fact_id, similarity=float(row.similarity)))
    return found


async def alike(db: Read, table: str, agent: str, to: Collection[UUID], *, floor: float, limit: int) -> list[Near]:
    """The agent's facts that are true now and from `floor` up like one of these, which are not among them; the nearest first."""
    rows = await db.execute(
        text(
            "SELECT o.fact_id, max(1 - (o.vector <=> v.vector)) AS similarity"
            f" FROM {table} v JOIN {table} o ON o.agent_id = v.agent_id AND o.current AND o.fact_id <> ALL(CAST(:ids AS uuid[]))"
            " WHERE v.agent_id = :agent AND v.fact_id = ANY(CAST(:ids AS uuid[])) AND 1 - (o.vector <=> v.vector) >= :floor"
            " GROUP BY o.fact_id ORDER BY similarity DESC, o.fact_id LIMIT :limit"
        ),
        {"agent": agent, "ids": list(to), "floor": floor, "limit": limit},
    )
    return [Near(fact_id=row.fact_id, similarity=float(row.similarity)) for row in rows]


async def recorded(db: Read, table: str, agent: str, said: Mapping[bytes, str]) -> dict[str, Vector]:
    """The vectors that were made of these words, by their content hashes, when the agent's facts were stored; of those that have one."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT ON (m.content) m.content, v.vector"
            " FROM unnest(CAST(:hashes AS bytea[]), CAST(:contents AS text[])) AS q(digest, content)"
            " JOIN heart.fact_mentions m ON m.agent_id = :agent AND m.content_hash = q.digest AND m.content = q.content"
            f"  AND m.outcome = 'stored' JOIN {table} v ON v.agent_id = m.agent_id AND v.fact_id = m.fact_id ORDER BY m.content"
        ),
        {"agent": agent, "hashes": list(said), "contents": list(said.values())},
    )
    return {row.content: row.vector.to_numpy().astype(np.float32) for row in rows}


@dataclass(frozen=True, slots=True)
class Asking:
    """A fact whose neighbours are wanted: those that are true now, and those that were still true at `at` or later."""

    agent_id: str
    fact_id: UUID
    at: datetime


async def neighbours(db: Read, table: str, asking: Sequence[Asking], *, limit: int) -> list[list[Near]]:
    """For each: the nearest other facts by content whatever their score, at most `limit` now true and `limit` retired after `at`."""
    near = f"SELECT v.fact_id, v.vector <=> mine.vector AS distance FROM {table} v"
    others = "v.agent_id = q.agent_id AND v.fact_id <> q.fact_id"
    best = "ORDER BY distance, v.fact_id LIMIT :limit"
    now = f"{near} WHERE {others} AND v.current {best}"
    its = _BY_KEY.format(table="heart.facts", of="v")
    past = f"{near} CROSS JOIN LATERAL ({its}) f WHERE {others} AND NOT v.current AND f.valid_to > q.at {best}"
    return await _near(db, table, asking, f"({now}) UNION ALL ({past})", {"limit": limit})


async def namesakes(db: Read, table: str, asking: Sequence[Asking], subjects: Sequence[Sequence[str]], *, limit: int) -> list[list[Near]]:
    """For each: the nearest facts among those of these folded subjects, at most `limit`."""
    named = [(at, name) for at, names in enumerate(subjects, 1) for name in names]
    if not named:
        return [[] for _ in asking]
    return await _near(
        db,
        table,
        asking,
        "SELECT v.fact_id, v.vector <=> mine.vector AS distance"
        f" FROM heart.facts f CROSS JOIN LATERAL ({_BY_KEY.format(table=table, of='f')}) v"
        f" WHERE f.agent_id = q.agent_id AND f.fact_id <> q.fact_id AND f.merged_into IS NULL AND ({facts.is_so('f')} OR f.valid_to > q.at)"
        "  AND f.subject_key = ANY(s.subjects) ORDER BY distance, v.fact_id LIMIT :limit",
        {"limit": limit, "places": [at for at, _ in named], "names": [name for _, name in named]},
        beside="JOIN (SELECT place, array_agg(name) AS subjects FROM unnest(CAST(:places AS bigint[]), CAST(:names AS text[]))"
        " AS given(place, name) GROUP BY place) s ON s.place = q.ord",
    )


_BY_KEY = "SELECT * FROM {table} one WHERE one.agent_id = {of}.agent_id AND one.fact_id = {of}.fact_id OFFSET 0"
"""The row of one fact, looked up whatever the planner knows: as a join it took 21 s for 64 of 1,000 facts just stored, so 0.3 s."""


async def _near(
    db: Read, table: str, asking: Sequence[Asking], found: str, values: dict[str, object], *, beside: str = ""
) -> list[list[Near]]:
    """The rows of the query `found` for each of `asking`; it may name q (the asking), mine (its vector) and what stands `beside` it."""
    if not asking:
        return []
    rows = await db.execute(
        text(
            "SELECT q.ord, n.fact_id, 1 - n.distance AS similarity"
            " FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[]), CAST(:moments AS timestamptz[]))"
            "  WITH ORDINALITY AS q(agent_id, fact_id, at, ord)"
            f" JOIN {table} mine ON mine.agent_id = q.agent_id AND mine.fact_id = q.fact_id {beside}"
            f" CROSS JOIN LATERAL ({found}) n ORDER BY q.ord, n.distance, n.fact_id"
        ),
        {
            "agents": [one.agent_id for one in asking],
            "facts": [one.fact_id for one in asking],
            "moments": [one.at for one in asking],
            **values,
        },
    )
    near: list[list[Near]] = [[] for _ in asking]
    for row in rows:
        near[row.ord - 1].append(Near(fact_id=row.fact_id, similarity=float(row.similarity)))
    return near


async def copy(db: Write, table: str, agent: str, copies: Mapping[UUID, UUID]) -> None:
    """Give new facts the vectors of others that say the same: {new: other}."""
    if copies:
        await db.execute(
            text(
                f"INSERT INTO {table} (agent_id, fact_id, vector) SELECT v.agent_id, q.new, v.vector"
                " FROM unnest(CAST(:new AS uuid[]), CAST(:old AS uuid[])) AS q(new, old)"
                f" JOIN {table} v ON v.agent_id = :agent AND v.fact_id = q.old"
            ),
            {"agent": agent, "new": list(copies), "old": list(copies.values())},
        )


async def mark(db: Write, table: str, agent: str, *, current: Collection[UUID], past: Collection[UUID]) -> None:
    """Say of these facts' vectors whether what they say is true now; a merged fact's is while the fact it is part of is."""
    for marked, is_current in ((current, True), (past, False)):
        if marked:
            await db.execute(
                text(
                    f"UPDATE {table} SET current = :current WHERE agent_id = :agent AND fact_id = ANY(CAST(:facts AS uuid[]))"
                    " AND current <> :current"
                ),
                {"agent": agent, "facts": list(marked), "current": is_current},
            )


async def insert(db: Write, table: str, new: Sequence[tuple[str, UUID, Vector]]) -> None:
    """Add the vectors of new facts."""
    if new:
        await db.execute(
            text(
                f"INSERT INTO {table} (agent_id, fact_id, vector)"
                " SELECT * FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[]), CAST(:vectors AS halfvec[]))"
            ),
            {
                "agents": [agent for agent, _, _ in new],
                "facts": [fact for _, fact, _ in new],
                "vectors": [HalfVector(vector) for _, _, vector in new],
            },
        )
