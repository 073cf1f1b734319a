"""What waits for its vector: decisions, procedures and passages, whose writers have no embedder at hand.

    written ──add──▶ a row, by ids ──take──▶ leased to one process ──▶ embedded (no transaction open) ──▶ memory_vectors.put ──done──▶ gone
                                                                      └─ the embedder is away ──▶ due again when the lease is over

What says something new while it is embedded is due again, and `done` leaves it.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import text

from nous import clock

from .database import Read, Write

Kind = Literal["decision", "procedure", "passage"]
EMBEDDED_CHARACTERS = 2_000
"""How much of a memory its vector is made of, from its beginning: embedders read no further, or blur."""


@dataclass(frozen=True)
class Waiting:
    """A memory without the vector of what it says, leased until `due_at`, for the how manieth time."""

    agent_id: str
    kind: Kind
    memory_id: UUID
    due_at: datetime
    attempts: int

    @property
    def key(self) -> tuple[str, Kind, UUID]:
        """Which memory it is."""
        return self.agent_id, self.kind, self.memory_id


def digest(said: str) -> bytes:
    """What a vector was made of, as a hash of the part of it that was embedded."""
    return hashlib.sha256(embedded(said).encode(errors="replace")).digest()


def embedded(said: str) -> str:
    """The part of what a memory says that its vector is made of."""
    return said[:EMBEDDED_CHARACTERS]


async def add(db: Write, kind: Kind, said: Mapping[tuple[str, UUID], str]) -> None:
    """Let these wait, by (agent_id, id), unless the embedder in use has made a vector of what they say."""
    if said:
        await db.execute(
            text(
                "INSERT INTO bus.unembedded AS u (agent_id, kind, memory_id, due_at) SELECT q.agent_id, :kind, q.id, :now"
                " FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[]), CAST(:digests AS bytea[])) AS q(agent_id, id, digest)"
                " WHERE NOT EXISTS (SELECT FROM heart.memory_vectors v JOIN heart.embedders a ON a.active AND a.name = v.embedder"
                "  WHERE v.agent_id = q.agent_id AND v.kind = :kind AND v.memory_id = q.id AND v.digest = q.digest)"
                " ON CONFLICT (agent_id, kind, memory_id) DO UPDATE SET due_at = excluded.due_at"
            ),
            {
                "kind": kind,
                "now": clock.now(),
                "agents": [agent for agent, _ in said],
                "ids": [memory for _, memory in said],
                "digests": [digest(one) for one in said.values()],
            },
        )


async def take(db: Write, *, now: datetime, lease: datetime, limit: int) -> list[Waiting]:
    """At most so many that are due, the longest waiting first; until `lease` nobody else takes them."""
    rows = await db.execute(
        text(
            "UPDATE bus.unembedded u SET due_at = :lease, attempts = u.attempts + 1 FROM (SELECT agent_id, kind, memory_id"
            "  FROM bus.unembedded WHERE due_at <= :now ORDER BY due_at, agent_id, kind, memory_id LIMIT :limit FOR UPDATE SKIP LOCKED) q"
            " WHERE u.agent_id = q.agent_id AND u.kind = q.kind AND u.memory_id = q.memory_id"
            " RETURNING u.agent_id, u.kind, u.memory_id, u.due_at, u.attempts"
        ),
        {"now": now, "lease": lease, "limit": limit},
    )
    return sorted((Waiting(**row._mapping) for row in rows), key=lambda one: one.key)


async def done(db: Write, ended: Collection[Waiting]) -> None:
    """Forget those that have their vector, or need none, unless they are due again since."""
    if ended:
        await db.execute(
            text(
                "DELETE FROM bus.unembedded u USING unnest(CAST(:agents AS text[]), CAST(:kinds AS text[]), CAST(:ids AS uuid[]),"
                " CAST(:leases AS timestamptz[])) AS q(agent_id, kind, id, lease)"
                " WHERE u.agent_id = q.agent_id AND u.kind = q.kind AND u.memory_id = q.id AND u.due_at = q.lease"
            ),
            _columns(ended) | {"leases": [one.due_at for one in ended]},
        )


async def put_off(db: Write, waiting: Collection[Waiting], *, until: datetime) -> None:
    """Let these, whose words the embedder refuses, wait for longer."""
    if waiting:
        await db.execute(
            text(
                "UPDATE bus.unembedded u SET due_at = :until FROM unnest(CAST(:agents AS text[]), CAST(:kinds AS text[]),"
                " CAST(:ids AS uuid[]), CAST(:leases AS timestamptz[])) AS q(agent_id, kind, id, lease)"
                " WHERE u.agent_id = q.agent_id AND u.kind = q.kind AND u.memory_id = q.id AND u.due_at = q.lease"
            ),
            _columns(waiting) | {"leases": [one.due_at for one in waiting], "until": until},
        )


async def count(db: Read) -> int:
    """How many wait."""
    return int((await db.execute(text("SELECT count(*) FROM bus.unembedded"))).scalar_one())


def _columns(waiting: Collection[Waiting]) -> dict[str, object]:
    return {
        "agents": [one.agent_id for one in waiting],
        "kinds": [one.kind for one in waiting],
        "ids": [one.memory_id for one in waiting],
    }
