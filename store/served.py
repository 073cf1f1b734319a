"""What a turn was told: the ids of the memories, kept with the user's words, so that the answer can be compared with them.

Ids alone: what they say is looked up when the answer comes, so what was forgotten meanwhile is told nowhere.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from .database import Read, Write
from .nouns import KINDS, NOUNS, Kind


@dataclass(frozen=True)
class Named:
    """A memory that a turn was told; `handle` is how the text names it."""

    kind: str
    memory_id: UUID
    handle: str


@dataclass(frozen=True)
class Serving:
    """What one turn was told, by one recall; `question` is what the user said in it."""

    recall_id: UUID
    memories: tuple[Named, ...]
    question: str = ""


@dataclass(frozen=True)
class Line:
    """What a memory says, and of a fact whom or what it is about, if that is known."""

    text: str
    subject: str = ""


async def put(db: Write, agent: str, session_key: UUID, turn_id: str, serving: Serving) -> None:
    """Keep it with the turn; what the same turn was told before is replaced."""
    told = [{"kind": one.kind, "id": str(one.memory_id), "handle": one.handle} for one in serving.memories]
    await db.execute(
        text(
            "UPDATE heart.turns SET served = CAST(:served AS jsonb) WHERE agent_id = :agent AND session_key = :key AND turn_id = :turn"
            " AND speaker = 'user'"
        ),
        {
            "agent": agent,
            "key": session_key,
            "turn": turn_id,
            "served": json.dumps({"recall_id": str(serving.recall_id), "memories": told}),
        },
    )


async def get(db: Read, agent: str, session_id: str, turn_id: str) -> Serving | None:
    """What this turn was told, in the session of this id that was heard of last; None when it was told nothing, or there is none."""
    rows = await db.execute(
        text(
            "SELECT t.served, t.content FROM heart.sessions s"
            " JOIN heart.turns t ON t.agent_id = s.agent_id AND t.session_key = s.session_key"
            " WHERE s.agent_id = :agent AND s.session_id = :session AND t.turn_id = :turn AND t.speaker = 'user' AND t.served IS NOT NULL"
            " ORDER BY s.ended_at IS NULL DESC, s.heard_at DESC LIMIT 1"
        ),
        {"agent": agent, "session": session_id, "turn": turn_id},
    )
    row = rows.one_or_none()
    return _serving(row.served, row.content) if row else None


async def lines(db: Read, agent: str, memories: Sequence[Named]) -> dict[tuple[str, UUID], Line]:
    """What each of these memories says in a line; one that is there no more is left out."""
    said: dict[tuple[str, UUID], Line] = {}
    for kind in KINDS:
        if wanted := [one.memory_id for one in memories if one.kind == kind]:
            said |= {(kind, one): line for one, line in await _lines(db, agent, kind, wanted)}
    return said


async def _lines(db: Read, agent: str, kind: Kind, wanted: Collection[UUID]) -> list[tuple[UUID, Line]]:
    noun = NOUNS[kind]
    rows = await db.execute(
        text(
            f"SELECT {noun.id} AS id, {noun.line} AS line, {noun.subject} AS subject FROM {noun.table}"
            f" WHERE agent_id = :agent AND {noun.id} = ANY(CAST(:ids AS uuid[]))"
        ),
        {"agent": agent, "ids": list(wanted)},
    )
    return [(row.id, Line(row.line, row.subject or "")) for row in rows if row.line]


def _serving(kept: Any, question: str) -> Serving:
    told = json.loads(kept) if isinstance(kept, str) else kept
    memories = tuple(Named(one["kind"], UUID(one["id"]), one["handle"]) for one in told["memories"])
    return Serving(UUID(told["recall_id"]), memories, question)
