"""Versions: every state a fact ever had, with the time it was recorded, so that it can be asked what was known by then."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import text

from .database import Read
from .facts import ORDER, Fact, Key, wanted

_UNCHANGING = ("content_hash", "created_at", "text_key", "stored_by", "forgotten_at")
_COLUMNS = {
    **{name: f"v.{name}" for name in Fact.__dataclass_fields__},
    **{name: f"n.{name}" for name in _UNCHANGING},
    "recorded_at": "v.recorded_from",
    "own_content": "CASE WHEN v.content = n.content THEN n.own_content END",
}
_THEN = (
    f"SELECT {', '.join(f'{column} AS {name}' for name, column in _COLUMNS.items())}"
    " FROM heart.fact_versions v JOIN heart.facts n USING (agent_id, fact_id)"
    " WHERE v.recorded_from <= :known_at AND (v.recorded_to IS NULL OR v.recorded_to > :known_at)"
)


async def listed(
    db: Read,
    *,
    known_at: datetime,
    agent: str | None,
    inactive: bool,
    limit: int | None,
    as_of: datetime | None = None,
    pinned: bool = False,
) -> list[Fact]:
    """Facts as they had been recorded by `known_at`, and of these, with `as_of`, those that were taken to be true then."""
    rows = await db.execute(
        text(
            f"SELECT * FROM ({_THEN} AND (CAST(:agent AS text) IS NULL OR v.agent_id = :agent)) f"
            f" WHERE {wanted(as_of)} {'AND f.pinned_at IS NOT NULL ' if pinned else ''}ORDER BY {ORDER} LIMIT :limit"
        ),
        {"known_at": known_at, "agent": agent, "inactive": inactive, "limit": limit, **({"as_of": as_of} if as_of else {})},
    )
    return [Fact(**row._mapping) for row in rows]


async def parts(db: Read, keys: Collection[Key], *, known_at: datetime) -> list[tuple[Key, Key]]:
    """Each of these facts and every row that had been merged into one of them by `known_at`, with the one it was part of."""
    rows = await db.execute(
        text(
            "WITH q AS (SELECT * FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[])) AS q(agent_id, fact_id))"
            " SELECT agent_id, fact_id, fact_id AS whole FROM q UNION ALL SELECT v.agent_id, v.fact_id, q.fact_id FROM q"
            " JOIN heart.fact_versions v ON v.agent_id = q.agent_id AND v.merged_into = q.fact_id"
            " WHERE v.recorded_from <= :known_at AND (v.recorded_to IS NULL OR v.recorded_to > :known_at)"
        ),
        {"agents": [agent for agent, _ in keys], "facts": [fact for _, fact in keys], "known_at": known_at},
    )
    return [((row.agent_id, row.fact_id), (row.agent_id, row.whole)) for row in rows]
