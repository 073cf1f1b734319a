"""Vectors of decisions, procedures and passages: one of each for each embedder. Those of facts and episodes stand in tables of their own.

waiting, or reembedded ──said──▶ the words to embed ──▶ embedded (no transaction open) ──put──▶ kept, if it still says that
"""

from collections.abc import Collection, Sequence
from uuid import UUID

from pgvector import HalfVector
from sqlalchemy import text

from . import decisions, passages, procedures
from .database import Read, Write
from .embedders import Registered
from .unembedded import Kind, digest, embedded
from .vectors import Vector

Key = tuple[str, Kind, UUID]
"""(agent_id, kind, id)."""


async def said(db: Read, keys: Collection[Key]) -> dict[Key, str]:
    """What each of these memories says, as far as it is embedded; one that is gone, or says nothing, is left out."""
    found: dict[Key, str] = {}
    for agent, kind, memory, what in [
        *(
            (agent, "decision", one.decision_id, one.said)
            for (agent, _), one in (await decisions.by_key(db, _of(keys, "decision"))).items()
        ),
        *(
            (agent, "procedure", one.procedure_id, one.said)
            for (agent, _), one in (await procedures.by_key(db, _of(keys, "procedure"))).items()
        ),
        *((agent, "passage", one.passage_id, one.content) for (agent, _), one in (await passages.by_key(db, _of(keys, "passage"))).items()),
    ]:
        if what.strip():
            found[agent, kind, memory] = embedded(what)  # type: ignore[index]  # each is one of the kinds
    return found


async def put(db: Write, of: Registered, made: Sequence[tuple[Key, str, Vector]]) -> None:
    """Keep the vectors of these memories, each with the words it was made of; what says something else by now is left as it is."""
    now = await said(db, [key for key, _, _ in made])
    kept = [(key, what, vector) for key, what, vector in made if now.get(key) == what]
    if kept:
        await db.execute(
            text(
                "INSERT INTO heart.memory_vectors (agent_id, kind, memory_id, embedder, digest, vector)"
                " SELECT q.agent_id, q.kind, q.id, :embedder, q.digest, q.vector"
                " FROM unnest(CAST(:agents AS text[]), CAST(:kinds AS text[]), CAST(:ids AS uuid[]), CAST(:digests AS bytea[]),"
                "  CAST(:vectors AS halfvec[])) AS q(agent_id, kind, id, digest, vector)"
                " ON CONFLICT (agent_id, kind, memory_id, embedder) DO UPDATE SET digest = excluded.digest, vector = excluded.vector"
            ),
            {
                "embedder": of.name,
                "agents": [agent for (agent, _, _), _, _ in kept],
                "kinds": [kind for (_, kind, _), _, _ in kept],
                "ids": [memory for (_, _, memory), _, _ in kept],
                "digests": [digest(what) for _, what, _ in kept],
                "vectors": [HalfVector(vector) for _, _, vector in kept],
            },
        )


def _of(keys: Collection[Key], wanted: Kind) -> list[tuple[str, UUID]]:
    return [(agent, memory) for agent, kind, memory in keys if kind == wanted]
