"""What nearly says what is to be forgotten: told, and left alone, for another wording of it may be another fact.

the facts that are forgotten, before they are ─▶ the agent's others that are true now, near enough to be asked about ─▶ the nearest
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from providers import Embedder
from store import embedders, facts, vectors
from store.database import Database
from store.lineage import Lineage

MOST = 20


@dataclass(frozen=True)
class Alike:
    """A fact that nearly says the same, and how nearly: cosine."""

    fact_id: UUID
    content: str
    similarity: float

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"fact_id": self.fact_id, "content": self.content, "similarity": round(self.similarity, 4)}


async def found(database: Database, whole: Lineage, embedder: Embedder) -> Sequence[Alike]:
    """Those from the embedder's `check_similarity` on, the nearest first and at most 20; none where the store's vectors are of another.

    Raises Outage and Contended.
    """
    agent = whole.agent_id
    async with database.read([agent]) as db:
        registered = await embedders.active(db)
        if registered.name != embedder.name:
            return []
        near = await vectors.alike(db, registered.table, agent, whole.fact_ids, floor=embedder.check_similarity, limit=MOST)
        rows = await facts.by_key(db, [(agent, one.fact_id) for one in near])
    return [Alike(one.fact_id, row.content, one.similarity) for one in near if (row := rows.get((agent, one.fact_id))) and row.active]
