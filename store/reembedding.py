"""Reembedding: what has no vector of another embedder yet, the vectors put beside those in use, and what they must say by the switch.

    facts, episodes, others ──missing──▶ embedded (no transaction open) ──put──▶ beside those in use ──askew──▶ marked ──▶ embedders.switch

A fact's vector is of the words it was first told in, an episode's of its first words and of its summary, that of a decision, a procedure
or a passage of the beginning of what it says (memory_vectors.py). What has no vector at all yet waits for the active embedder, whichever.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import UUID

from pgvector import HalfVector
from sqlalchemy import text

from . import facts, memory_vectors
from .database import Read, Write
from .embedders import Registered
from .unembedded import Kind
from .vectors import Vector

Part = Literal["fact", "opening", "summary", "decision", "procedure", "passage"]
MEMORIES: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Wanted:
    """A text that is to have a vector: of a fact, of a part of an episode, or of another memory."""

    agent_id: str
    id: UUID
    part: Part
    content: str

    @property
    def key(self) -> tuple[str, UUID, Part]:
        """What it is of, whatever it says."""
        return self.agent_id, self.id, self.part


_WORDING = "coalesce(f.own_content, f.content)"  # empty when it was forgotten
_NO_VECTOR = f"{_WORDING} <> '' AND NOT EXISTS (SELECT FROM {{table}} v WHERE v.agent_id = f.agent_id AND v.fact_id = f.fact_id)"

# An outdated vector has another length (episodes.put_vector).
_NO_PART = (
    "FROM heart.episode_vectors o JOIN heart.episodes e ON e.agent_id = o.agent_id AND e.episode_id = o.episode_id"
    " WHERE o.embedder <> :name AND CASE o.part WHEN 'opening' THEN e.opening ELSE e.summary END IS NOT NULL AND NOT EXISTS ("
    "  SELECT FROM heart.episode_vectors n WHERE n.agent_id = o.agent_id AND n.episode_id = o.episode_id AND n.part = o.part"
    "  AND n.embedder = :name AND vector_dims(n.vector) = :dimension)"
)

# The active embedder's vector is of what a memory says now, unless that waits for it. What waits needs some vector of the other one
# by the switch, and that of what it says when whichever is active then comes to it.
_NO_MEMORY = (
    "FROM heart.memory_vectors o JOIN heart.embedders a ON a.active AND a.name = o.embedder"
    " WHERE o.digest <> '' AND o.embedder <> :name AND NOT EXISTS (SELECT FROM heart.memory_vectors n WHERE n.agent_id = o.agent_id"
    "  AND n.kind = o.kind AND n.memory_id = o.memory_id AND n.embedder = :name AND (n.digest = o.digest OR EXISTS (SELECT"
    "  FROM bus.unembedded u WHERE u.agent_id = o.agent_id AND u.kind = o.kind AND u.memory_id = o.memory_id)))"
)


async def count_all(db: Read) -> int:
    """How many texts an embedder without any vector has to embed; needs an overview."""
    found = await db.execute(
        text(
            "SELECT (SELECT count(*) FROM heart.facts) + (SELECT count(DISTINCT (agent_id, episode_id, part)) FROM heart.episode_vectors)"
            " + (SELECT count(DISTINCT (agent_id, kind, memory_id)) FROM heart.memory_vectors WHERE digest <> '')"
        )
    )
    return int(found.scalar_one())


async def count(db: Read, to: Registered) -> int:
    """How many texts have no vector of this embedder yet; needs an overview."""
    found = await db.execute(
        text(
            f"SELECT (SELECT count(*) FROM heart.facts f WHERE {_NO_VECTOR.format(table=to.table)})"
            f" + (SELECT count(DISTINCT (o.agent_id, o.episode_id, o.part)) {_NO_PART}) + (SELECT count(*) {_NO_MEMORY})"
        ),
        _of(to),
    )
    return int(found.scalar_one())


async def missing(db: Read, to: Registered, *, limit: int) -> list[Wanted]:
    """At most so many texts without a vector of this embedder, the oldest facts first, then episodes, then others; needs an overview."""
    facts = await db.execute(
        text(
            f"SELECT f.agent_id, f.fact_id AS id, 'fact' AS part, {_WORDING} AS content FROM heart.facts f"
            f" WHERE {_NO_VECTOR.format(table=to.table)} ORDER BY f.created_at, f.agent_id, f.fact_id LIMIT :limit"
        ),
        {"limit": limit},
    )
    found = _wanted(facts)
    if len(found) < limit:
        parts = await db.execute(
            text(
                "SELECT DISTINCT e.started_at, o.agent_id, o.episode_id AS id, o.part,"
                f" CASE o.part WHEN 'opening' THEN e.opening ELSE e.summary END AS content {_NO_PART}"
                " ORDER BY e.started_at, o.agent_id, o.episode_id, o.part LIMIT :limit"
            ),
            {**_of(to), "limit": limit - len(found)},
        )
        found += _wanted(parts)
    if len(found) < limit:
        found += await _memories(db, to, limit=limit - len(found))
    return found


async def _memories(db: Read, to: Registered, *, limit: int) -> list[Wanted]:
    rows = await db.execute(
        text(f"SELECT o.agent_id, o.kind, o.memory_id {_NO_MEMORY} ORDER BY 1, 2, 3 LIMIT :limit"), {"name": to.name, "limit": limit}
    )
    said = await memory_vectors.said(db, [(row.agent_id, row.kind, row.memory_id) for row in rows])
    return [Wanted(agent, memory, kind, what) for (agent, kind, memory), what in said.items()]


async def put(db: Write, to: Registered, made: Sequence[tuple[Wanted, Vector]]) -> None:
    """Keep these vectors. What has one by now, or does not say any more what was embedded (it was forgotten, say), is left as it is."""
    facts = [(one, vector) for one, vector in made if one.part == "fact"]
    parts = [(one, vector) for one, vector in made if one.part in ("opening", "summary")]
    await memory_vectors.put(
        db,
        to,
        [((one.agent_id, one.part, one.id), one.content, vector) for one, vector in made if one.part in MEMORIES],
    )
    if facts:
        await db.execute(
            text(
                f"INSERT INTO {to.table} (agent_id, fact_id, vector, current) SELECT f.agent_id, f.fact_id, q.vector, {_CURRENT} {_GIVEN}"
                " CROSS JOIN LATERAL (SELECT * FROM heart.facts f WHERE f.agent_id = q.agent_id AND f.fact_id = q.id OFFSET 0) f"
                f" {_SURVIVOR} WHERE {_WORDING} = q.content ON CONFLICT DO NOTHING"
            ),
            _columns(facts),
        )
    if parts:
        await db.execute(
            text(
                "INSERT INTO heart.episode_vectors (agent_id, episode_id, part, embedder, vector)"
                f" SELECT e.agent_id, e.episode_id, q.part, CAST(:name AS text), q.vector {_GIVEN}"
                " JOIN heart.episodes e ON e.agent_id = q.agent_id AND e.episode_id = q.id"
                "  AND q.content = CASE q.part WHEN 'opening' THEN e.opening ELSE e.summary END"
                " ON CONFLICT (agent_id, episode_id, part, embedder) DO UPDATE SET vector = excluded.vector"
            ),
            {**_columns(parts), "name": to.name},
        )


_GIVEN = (
    "FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[]), CAST(:parts AS text[]), CAST(:contents AS text[]),"
    " CAST(:vectors AS halfvec[])) AS q(agent_id, id, part, content, vector)"
)


@dataclass(frozen=True)
class Askew:
    """A vector that says of its fact the opposite of what the fact says of itself, and what is so."""

    agent_id: str
    fact_id: UUID
    is_current: bool


_SURVIVOR = "LEFT JOIN heart.facts s ON s.agent_id = f.agent_id AND s.fact_id = f.merged_into"
_CURRENT = f"coalesce({facts.is_so('s')}, {facts.is_so('f')})"


async def askew(db: Read, to: Registered) -> list[Askew]:
    """The vectors of this embedder whose facts were retired or came back since; needs an overview. Archived ones are still so."""
    its = f"{to.table} v ON v.agent_id = f.agent_id AND v.fact_id = f.fact_id"
    rows = await db.execute(
        text(
            f"SELECT f.agent_id, f.fact_id, true AS is_current FROM heart.facts f JOIN {its} {_SURVIVOR} WHERE NOT v.current AND {_CURRENT}"
            f" UNION ALL SELECT f.agent_id, f.fact_id, false FROM heart.facts f JOIN {its} {_SURVIVOR}"
            f" WHERE v.current AND NOT f.active AND NOT {_CURRENT} ORDER BY 1, 2"
        )
    )
    return [Askew(row.agent_id, row.fact_id, row.is_current) for row in rows]


@dataclass(frozen=True)
class Sampled:
    """A fact that is true now, in the words that were embedded, with the vector in use."""

    agent_id: str
    fact_id: UUID
    content: str
    vector: Vector


async def sample(db: Read, used: Registered, *, limit: int) -> list[Sampled]:
    """So many facts that are true now, of few agents drawn at random, the same ones each time; needs an overview."""
    rows = await db.execute(
        text(
            f"SELECT f.agent_id, f.fact_id, {_WORDING} AS content, v.vector FROM heart.facts f"
            f" JOIN {used.table} v ON v.agent_id = f.agent_id AND v.fact_id = f.fact_id WHERE f.active"
            " ORDER BY md5(f.agent_id), f.agent_id, md5(f.fact_id::text) LIMIT :limit"
        ),
        {"limit": limit},
    )
    return [Sampled(row.agent_id, row.fact_id, row.content, row.vector.to_numpy().astype("float32")) for row in rows]


def _of(to: Registered) -> dict[str, object]:
    return {"name": to.name, "dimension": to.dimension}


def _wanted(rows: Iterable[Any]) -> list[Wanted]:
    return [Wanted(row.agent_id, row.id, row.part, row.content) for row in rows]


def _columns(made: Sequence[tuple[Wanted, Vector]]) -> dict[str, object]:
    return {
        "agents": [one.agent_id for one, _ in made],
        "ids": [one.id for one, _ in made],
        "parts": [one.part for one, _ in made],
        "contents": [one.content for one, _ in made],
        "vectors": [HalfVector(vector) for _, vector in made],
    }
