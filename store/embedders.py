"""Embedders: which one gives a fact its vector, and the table its vectors stand in. One is active; the row in the database says which.

    register ─▶ a table beside the others ─▶ filled (reembedding.py) ─▶ switch: now it is the active one ─▶ drop the one before it

Every Write shares a lock with the others that a switch holds alone, so what `hold` finds stays so until the Write ends.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from nous.errors import Misconfigured

from . import keys
from .database import Read, Switch, Write


@dataclass(frozen=True)
class Registered:
    """An embedder the database knows: its name, the length of its vectors, and their table (schema and name)."""

    name: str
    dimension: int
    table: str


async def active(db: Read) -> Registered:
    """The embedder in use. Raises Misconfigured when none is registered."""
    return in_use((await db.execute(_ACTIVE)).one_or_none())


def in_use(row: Any) -> Registered:
    """The embedder of a row that has its columns. Raises Misconfigured when there is no row."""
    if row is None:
        raise Misconfigured("the database knows no embedder yet; run: nous migrate")
    return Registered(name=row.name, dimension=row.dimension, table=row.table_name)


_ACTIVE = text("SELECT name, dimension, table_name FROM heart.embedders WHERE active")


async def known(db: Read) -> list[Registered]:
    """Every embedder that has a table, the oldest first."""
    rows = await db.execute(text("SELECT name, dimension, table_name FROM heart.embedders ORDER BY created_at, name"))
    return [Registered(name=row.name, dimension=row.dimension, table=row.table_name) for row in rows]


async def hold(db: Write, registered: Registered) -> None:
    """Make sure that vectors are still of this embedder, and stay so until the Write ends. Raises Misconfigured when they are not."""
    must_be(registered, await active(db))


def must_be(registered: Registered, found: Registered) -> None:
    """Refuse to go on with an embedder that is not the one in use. Raises Misconfigured."""
    if found != registered:
        raise Misconfigured(
            f"the store's vectors are of the embedder {found.name!r} since it was changed (nous reembed), and this worker began with"
            f" {registered.name!r}; set NOUS_EMBEDDER to the new one and start again. What is not worked yet waits, and nothing is lost"
        )


def require(registered: Registered, *, name: str, dimension: int) -> None:
    """Refuse an embedder whose vectors do not belong in the table. Raises Misconfigured with both sides and what to do."""
    if registered.name != name:
        raise Misconfigured(
            f"the store's vectors are of the embedder {registered.name!r} and this worker is set to {name!r}; vectors of two"
            f" embedders cannot be compared. Set NOUS_EMBEDDER back, or use another database, or change the store's: nous reembed"
        )
    if registered.dimension != dimension:
        raise Misconfigured(
            f"the store's column holds vectors of {registered.dimension} numbers and the embedder {name!r} gives {dimension};"
            f" the model behind it was probably changed. Point it at the model it was, or use another database"
        )


async def size(db: Read, registered: Registered) -> int:
    """How many facts have a vector of this embedder; needs an overview."""
    return int((await db.execute(text(f"SELECT count(*) FROM {registered.table}"))).scalar_one())


async def switch(db: Switch, to: Registered) -> None:
    """Make it the active one, from the end of the transaction on."""
    await db.execute(text("UPDATE heart.embedders SET active = false WHERE active AND name <> :name"), {"name": to.name})
    await db.execute(text("UPDATE heart.embedders SET active = true WHERE name = :name AND NOT active"), {"name": to.name})


async def drop(db: Switch, registered: Registered) -> None:
    """Forget an embedder that is not the active one, with its vectors."""
    await db.execute(text(f"DROP TABLE {registered.table}"))
    for table in ("heart.episode_vectors", "heart.memory_vectors"):
        await db.execute(text(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"))  # an owner that is forced finds no row
        await db.execute(text(f"DELETE FROM {table} WHERE embedder = :name"), {"name": registered.name})
        await db.execute(text(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"))
    await db.execute(text("DELETE FROM heart.embedders WHERE name = :name AND NOT active"), {"name": registered.name})


async def analyze(db: Switch, registered: Registered) -> None:
    """Let the planner know what stands in its table now."""
    await db.execute(text(f"ANALYZE {registered.table}"))


async def register(connection: AsyncConnection, name: str, dimension: int) -> None:
    """Make a table for this embedder's vectors and make it the active one if there is none. For the owner."""
    known = (
        await connection.execute(text("SELECT dimension FROM heart.embedders WHERE name = :name"), {"name": name})
    ).scalar_one_or_none()
    if known is not None:
        return
    table = f"heart.vectors_{_slug(name)}"
    parts = (await connection.execute(text("SELECT count(*) FROM pg_inherits WHERE inhparent = 'heart.facts'::regclass"))).scalar_one()
    for statement in [*_DEFINITION, *(_PART.format(table="{table}", at=at, parts=parts) for at in range(parts))]:
        shape = " PARTITION BY HASH (agent_id)" if parts else ""
        await connection.execute(text(statement.format(table=table, dimension=dimension, slug=_slug(name), shape=shape)))
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
){shape}""",
    "CREATE INDEX ix_vectors_{slug}_past ON {table} (agent_id) WHERE NOT current",
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    """
CREATE POLICY admitted ON {table} TO nous_worker
    USING (agent_id = ANY ((SELECT heart.admitted())::text[])) WITH CHECK (agent_id = ANY ((SELECT heart.admitted())::text[]))""",
    "CREATE POLICY overview ON {table} FOR SELECT TO nous_operator USING (true)",
    "GRANT SELECT ON {table} TO nous_operator",
    "GRANT SELECT, INSERT, UPDATE ON {table} TO nous_worker",
    *keys.erasable("{table}"),
]


_PART = "CREATE TABLE {table}_{at} PARTITION OF {table} FOR VALUES WITH (MODULUS {parts}, REMAINDER {at})"  # where facts are in parts


def _slug(name: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:32]
    return f"{readable}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
