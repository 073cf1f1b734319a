"""Mentions: every wording ever heard, with where it came from and the fact it became. Added, never taken away by a merge."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from . import many
from .database import Read, Write


@dataclass(frozen=True)
class Mention:
    """One wording of one event. `mention_id` is the id the agent gave it, which resolves to `fact_id` for ever."""

    agent_id: str
    event_id: str
    mention_id: UUID
    fact_id: UUID
    content: str
    content_hash: bytes
    subject: str | None
    attribute: str | None
    provenance: str
    confidence: float
    source: str | None
    quote: str | None
    similarity: float
    outcome: str
    occurred_at: datetime
    heard_at: datetime


_NAMES = many.columns(Mention)
_INSERT = text(many.inserting("heart.fact_mentions", _NAMES))


async def by_content(db: Read, wanted: Collection[tuple[str, bytes]]) -> dict[tuple[str, bytes], set[UUID]]:
    """For each (agent_id, content_hash) that was heard before: the facts it became."""
    if not wanted:
        return {}
    rows = await db.execute(
        text(
            "SELECT DISTINCT m.agent_id, m.content_hash, m.fact_id"
            " FROM unnest(CAST(:agents AS text[]), CAST(:hashes AS bytea[])) AS q(agent_id, content_hash)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions m"
            "  WHERE m.agent_id = q.agent_id AND m.content_hash = q.content_hash OFFSET 0) m"
        ),
        {"agents": [agent for agent, _ in wanted], "hashes": [digest for _, digest in wanted]},
    )
    heard: dict[tuple[str, bytes], set[UUID]] = {}
    for row in rows:
        heard.setdefault((row.agent_id, row.content_hash), set()).add(row.fact_id)
    return heard


async def by_mention_id(db: Read, wanted: Collection[tuple[str, UUID]]) -> dict[tuple[str, UUID], bytes]:
    """For each (agent_id, published fact_id) that was used before: the hash of the content it was used for."""
    if not wanted:
        return {}
    rows = await db.execute(
        text(
            "SELECT DISTINCT m.agent_id, m.mention_id, m.content_hash"
            " FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, mention_id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions m"
            "  WHERE m.agent_id = q.agent_id AND m.mention_id = q.mention_id AND m.content_hash <> '' OFFSET 0) m"
        ),
        {"agents": [agent for agent, _ in wanted], "ids": [one for _, one in wanted]},
    )
    return {(row.agent_id, row.mention_id): row.content_hash for row in rows}


async def resolve(db: Read, mention_id: UUID) -> list[tuple[str, UUID]]:
    """The (agent_id, fact_id) a published fact_id became; several only if several agents used the same id."""
    rows = await db.execute(
        text("SELECT DISTINCT agent_id, fact_id FROM heart.fact_mentions WHERE mention_id = :id ORDER BY 1, 2"), {"id": mention_id}
    )
    return [(row.agent_id, row.fact_id) for row in rows]


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[tuple[str, UUID]]:
    """What the published ids from `first` to `last` became, as the beginning of an id spans them; of every agent when `agent` is None."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT agent_id, fact_id FROM heart.fact_mentions WHERE mention_id BETWEEN :first AND :last"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY 1, 2 LIMIT :limit"
        ),
        {"first": first, "last": last, "agent": agent, "limit": limit},
    )
    return [(row.agent_id, row.fact_id) for row in rows]


async def of_facts(db: Read, keys: Collection[tuple[str, UUID]]) -> dict[tuple[str, UUID], list[Mention]]:
    """Every mention of these facts, in the order they were claimed."""
    if not keys:
        return {}
    rows = await db.execute(
        text(
            f"SELECT {', '.join(f'm.{name}' for name in _NAMES)}"
            " FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[])) AS q(agent_id, fact_id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions m WHERE m.agent_id = q.agent_id AND m.fact_id = q.fact_id OFFSET 0) m"
            " ORDER BY m.occurred_at, m.event_id"
        ),
        {"agents": [agent for agent, _ in keys], "facts": [fact for _, fact in keys]},
    )
    found: dict[tuple[str, UUID], list[Mention]] = {}
    for row in rows:
        found.setdefault((row.agent_id, row.fact_id), []).append(Mention(**row._mapping))
    return found


async def of_events(db: Read, agent: str, event_ids: Collection[str]) -> list[Mention]:
    """What was said in these events of one agent, in the order it was claimed."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(_NAMES)} FROM heart.fact_mentions WHERE agent_id = :agent AND event_id = ANY(CAST(:events AS text[]))"
            " ORDER BY occurred_at, event_id"
        ),
        {"agent": agent, "events": list(event_ids)},
    )
    return [Mention(**row._mapping) for row in rows]


async def from_source(db: Read, agent: str, source: str) -> list[Mention]:
    """What was said of one agent's facts with this source, such as `episode:<id>`, in the order it was claimed."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(_NAMES)} FROM heart.fact_mentions WHERE agent_id = :agent AND source = :source"
            " ORDER BY occurred_at, event_id"
        ),
        {"agent": agent, "source": source},
    )
    return [Mention(**row._mapping) for row in rows]


@dataclass(frozen=True, slots=True)
class Said:
    """What a mention weighs: when it was claimed, by which event, who vouches for it."""

    event_id: str
    mention_id: UUID
    fact_id: UUID
    at: datetime
    provenance: str
    confidence: float


async def said(db: Read, agent: str, facts: Collection[UUID]) -> list[Said]:
    """Every mention of these facts, as what it weighs, in the order they were claimed."""
    rows = await db.execute(
        text(
            "SELECT event_id, mention_id, fact_id, occurred_at AS at, provenance, confidence FROM heart.fact_mentions"
            " WHERE agent_id = :agent AND fact_id = ANY(CAST(:facts AS uuid[])) ORDER BY occurred_at, event_id"
        ),
        {"agent": agent, "facts": list(facts)},
    )
    return [Said(**row._mapping) for row in rows]


async def move(db: Write, agent: str, moved: Mapping[str, UUID]) -> None:
    """Let mentions belong to other facts: {event_id: fact_id}."""
    if moved:
        await db.execute(
            text(
                "UPDATE heart.fact_mentions m SET fact_id = q.fact_id"
                " FROM unnest(CAST(:events AS text[]), CAST(:facts AS uuid[])) AS q(event_id, fact_id)"
                " WHERE m.agent_id = :agent AND m.event_id = q.event_id"
            ),
            {"agent": agent, "events": list(moved), "facts": list(moved.values())},
        )


async def insert(db: Write, heard: Sequence[Mention]) -> None:
    """Add wordings."""
    if heard:
        await db.execute(_INSERT, many.packed(map(vars, heard)))
