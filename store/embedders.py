"""Embedders: which one gives a fact its vector, and the table its vectors stand in. One is active; the row in the database says which."""

import hashlib
import re
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from nous.errors import Misconfigured

from .database import Read


@dataclass(frozen=True)
class Registered:
    """An embedder the database knows: its name, the length of its vectors, and their table (schema and name)."""

    name: str
    dimension: int
    table: str


async def active(db: Read) -> Registered:
    """The embedder in use. Raises Misconfigured when none is registered."""
    row = (await db.execute(text("SELECT name, dimension, table_name FROM heart.embedders WHERE active"))).one_or_none()
    if row is None:
        raise Misconfigured("the database knows no embedder yet; run: nous migrate")
    return Registered(name=row.name, dimension=row.dimension, table=row.table_name)


def require(registered: Registered, *, name: str, dimension: int) -> None:
    """Refuse an embedder whose vectors do not belong in the table. Raises Misconfigured with both sides and what to do."""
    if registered.name != name:
        raise Misconfigured(
            f"the store's vectors are of the embedder {registered.name!r} and this worker is set to {name!r}; vectors of two"
            f" embedders cannot be compared. Set NOUS_EMBEDDER back, or use another database"
        )
    if registered.dimension != dimension:
        raise Misconfigured(
            f"the store's column holds vectors of {registered.dimension} numbers and the embedder {name!r} gives {dimension};"
            f" the model behind it was probably changed. Point it at the model it was, or use another database"
        )


async def register(connection: AsyncConnection, name: str, dimension: int) -> None:
    """Make a table for this embedder's vectors and make it the active one if there is none. For the owner, at migration."""
    known = (
        await connection.execute(text("SELECT dimension FROM heart.embedders WHERE name = :name"), {"name": name})
    ).scalar_one_or_none()
    if known is not None:
        return
    table = f"heart.vectors_{_slug(name)}"
    for statement in _DEFINITION:
        await connection.execute(text(statement.format(table=table, dimension=dimension, slug=_slug(name))))
    await connection.execute(
        text(
            "INSERT INTO heart.embedders (name, dimension, table_name, active)"
            " VALUES (:name, :dimension, :table, NOT EXISTS (SELECT FROM heart.embedders WHERE active))"
        ),
        {"name": name, "dimension": dimension, "table": table},
    )


# halfvec keeps 512 numbers in the row itself; a vector(512) is stored out of line and searches six times slower.
_DEFINITION = [
    """
CREATE TABLE {table} (
    agent_id text NOT NULL,
    fact_id  uuid NOT NULL,
    vector   halfvec({dimension}) NOT NULL,
    current  boolean NOT NULL DEFAULT true,
    CONSTRAINT pk_vectors_{slug} PRIMARY KEY (agent_id, fact_id),
    CONSTRAINT fk_vectors_{slug}_fact FOREIGN KEY (agent_id, fact_id) REFERENCES heart.facts (agent_id, fact_id) ON DELETE CASCADE
)""",
    "CREATE INDEX ix_vectors_{slug}_past ON {table} (agent_id) WHERE NOT current",
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    """
CREATE POLICY admitted ON {table} TO nous_worker
    USING (agent_id = ANY ((SELECT heart.admitted())::text[])) WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))""",
    "CREATE POLICY overview ON {table} FOR SELECT TO nous_operator USING (true)",
    "GRANT SELECT ON {table} TO nous_operator",
    "GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker",
]


def _slug(name: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:32]
    return f"{readable}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
