"""Blueprints: what the catalogue says of a table, and the statements that make another like it, in another schema, under the same names.

    heart.facts ──of──▶ columns, constraints, indexes, policies, rights, triggers ──table, rules──▶ the same, elsewhere, in parts or not

The names stay, so that a later migration finds what it means to change, whichever of the two it meets.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from sqlalchemy import text

from .database import Read


@dataclass(frozen=True)
class Blueprint:
    """A table as it is defined; what is text is SQL as Postgres writes it, with every name's schema."""

    schema: str
    name: str
    columns: tuple[str, ...]
    identities: tuple[str, ...]
    key: tuple[str, ...]
    unique: tuple[tuple[str, str], ...]
    foreign: tuple[tuple[str, str], ...]
    indexes: tuple[str, ...]
    policies: tuple[str, ...]
    grants: tuple[str, ...]
    triggers: tuple[str, ...]

    @property
    def table(self) -> str:
        """Its full name."""
        return f"{self.schema}.{self.name}"

    def defined(self, schema: str, parts: int) -> list[str]:
        """Make an empty table like it in this schema: one table, or so many parts by hash of agent_id; it refers to nothing yet."""
        twin = f"{schema}.{self.name}"
        like = f"CREATE TABLE {twin} (LIKE {self.table} INCLUDING ALL EXCLUDING INDEXES)"
        return [
            like if parts == 1 else f"{like} PARTITION BY HASH (agent_id)",
            *(
                f"CREATE TABLE {part} PARTITION OF {twin} FOR VALUES WITH (MODULUS {parts}, REMAINDER {at})"
                for at, part in _parts(twin, parts)
            ),
            *(f"ALTER TABLE {twin} ADD CONSTRAINT {name} {definition}" for name, definition in self.unique),
            *(_elsewhere(definition, self.table, twin) for definition in self.indexes),
            f"ALTER TABLE {twin} ENABLE ROW LEVEL SECURITY",
            f"ALTER TABLE {twin} FORCE ROW LEVEL SECURITY",
            *(definition.replace("{table}", twin) for definition in (*self.policies, *self.grants)),
        ]

    def referring(self, schema: str, tables: Sequence[str]) -> list[str]:
        """Let the table in this schema refer to the others there, `tables`."""
        return [
            f"ALTER TABLE {schema}.{self.name} ADD CONSTRAINT {name} {_among(definition, tables, schema)}"
            for name, definition in self.foreign
        ]

    def moved(self, schema: str, parts: int) -> list[str]:
        """Bring the table in this schema, with its parts, to where this one is."""
        twin = f"{schema}.{self.name}"
        return [f"ALTER TABLE {one} SET SCHEMA {self.schema}" for one in (twin, *(part for _, part in _parts(twin, parts)))]


def digest(blueprints: Sequence[Blueprint]) -> bytes:
    """A hash of how these are defined; it changes when one of them does."""
    return hashlib.sha256(repr([astuple(one) for one in blueprints]).encode()).digest()


async def of(db: Read, table: str) -> Blueprint:
    """How a table is defined."""
    await db.execute(text("SET LOCAL search_path = pg_catalog"))  # so that every name comes with its schema
    schema, _, name = table.partition(".")
    found = {what: (await db.execute(text(query), {"table": table})).all() for what, query in _QUERIES.items()}
    return Blueprint(
        schema,
        name,
        columns=tuple(row.name for row in found["columns"] if not row.is_generated),
        identities=tuple(row.name for row in found["columns"] if row.is_identity),
        key=tuple(row.name for row in found["key"]),
        unique=tuple((row.name, row.definition) for row in found["constraints"] if row.kind != "f"),
        foreign=tuple((row.name, row.definition) for row in found["constraints"] if row.kind == "f"),
        indexes=tuple(row.definition for row in found["indexes"]),
        policies=tuple(row.definition for row in found["policies"]),
        grants=tuple(row.definition for row in found["grants"]),
        triggers=tuple(row.definition for row in found["triggers"]),
    )


_OF = "CAST(CAST(:table AS text) AS regclass)"
_QUERIES = {
    "columns": "SELECT quote_ident(attname) AS name, attgenerated <> '' AS is_generated, attidentity <> '' AS is_identity"
    f" FROM pg_attribute WHERE attrelid = {_OF} AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
    "key": "SELECT quote_ident(a.attname) AS name FROM pg_constraint c CROSS JOIN unnest(c.conkey) WITH ORDINALITY AS k(attnum, ord)"
    f" JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum WHERE c.conrelid = {_OF} AND c.contype = 'p' ORDER BY k.ord",
    "constraints": "SELECT quote_ident(conname) AS name, contype::text AS kind, pg_get_constraintdef(oid) AS definition FROM pg_constraint"
    f" WHERE conrelid = {_OF} AND conparentid = 0 AND contype IN ('p', 'u', 'f') ORDER BY contype = 'f', conname",
    "indexes": f"SELECT pg_get_indexdef(indexrelid) AS definition FROM pg_index WHERE indrelid = {_OF}"
    " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x')) ORDER BY 1",
    "policies": "SELECT format('CREATE POLICY %I ON {table} AS %s FOR %s TO %s', polname,"
    "  CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,"
    "  CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,"
    "  (SELECT string_agg(CASE role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(role)) END, ', ') FROM unnest(polroles) AS role))"
    " || coalesce(' USING (' || pg_get_expr(polqual, polrelid) || ')', '')"
    " || coalesce(' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')', '') AS definition"
    f" FROM pg_policy WHERE polrelid = {_OF} ORDER BY polname",
    "grants": "SELECT format('GRANT %s ON {table} TO %s', string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type),"
    "  CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END) AS definition"
    f" FROM pg_class c CROSS JOIN aclexplode(c.relacl) AS a WHERE c.oid = {_OF} AND a.grantee <> c.relowner GROUP BY a.grantee ORDER BY 1",
    "triggers": f"SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgrelid = {_OF} AND NOT tgisinternal"
    " AND NOT starts_with(tgname, 'mirror_') ORDER BY tgname",
}


def _parts(table: str, parts: int) -> list[tuple[int, str]]:
    return [] if parts == 1 else [(at, f"{table}_{at}") for at in range(parts)]


def _elsewhere(index: str, table: str, twin: str) -> str:
    """The definition of an index, on another table; that of one in parts says ONLY."""
    return index.replace(f" ON ONLY {table} ", f" ON {twin} ").replace(f" ON {table} ", f" ON {twin} ")


def _among(foreign: str, tables: Sequence[str], schema: str) -> str:
    """The definition of a foreign key, to the twin of the table it refers to."""
    for table in tables:
        foreign = foreign.replace(f" REFERENCES {table}(", f" REFERENCES {schema}.{table.partition('.')[2]}(")
    return foreign
