"""Partitions: facts, their wordings, versions and vectors in one table each, or in parts by hash of the agent; changed online.

    prepare ─▶ empty twins in a schema beside, with the same names, rules and rights
    mirror  ─▶ from now on a write of an agent whose rows were copied is made in both (triggers, in the same transaction)
    copy    ─▶ some agents' rows, whole, under their locks; who was copied is a row of heart_twin.agents, committed with them
    swap    ─▶ no Write open: the last agents, the old tables dropped, the twins moved to their place

Killed anywhere, what was committed stands, and the next one goes on from there. Nobody reads the twins before the swap. A row's key never
changes, which is what an update is mirrored by.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from nous.errors import Misconfigured

from . import blueprints
from .blueprints import Blueprint
from .database import DRIVER_ERRORS, Read, Switch, Write, acting, engine, raise_named

TWIN = "heart_twin"
MOST = 64  # of each table: a query that names no agent opens all of them, with their indexes
LEAST_SERVER = 170_000  # since then a table in parts may number its rows by itself, as fact_versions does
ROOTS = ("heart.facts", "heart.fact_versions")
"""Each agent with a row anywhere has one in one of these."""


@dataclass(frozen=True)
class Standing:
    """How a table stands: in how many parts (1 when it is one table), with about how many rows, in how many bytes with its indexes."""

    table: str
    parts: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class Plan:
    """A change that was begun: into how many parts, and whether writes are mirrored by now."""

    parts: int
    is_mirrored: bool


async def standing(db: Read) -> list[Standing]:
    """How the tables of facts stand."""
    rows = await db.execute(
        text(
            "SELECT q.name, count(i.inhrelid) AS parts, sum(greatest(c.reltuples, 0))::bigint AS rows,"
            " sum(pg_total_relation_size(c.oid))::bigint AS bytes"
            " FROM unnest(CAST(:tables AS text[])) WITH ORDINALITY AS q(name, ord)"
            " LEFT JOIN pg_inherits i ON i.inhparent = q.name::regclass JOIN pg_class c ON c.oid = coalesce(i.inhrelid, q.name::regclass)"
            " GROUP BY q.name, q.ord ORDER BY q.ord"
        ),
        {"tables": await _tables(db)},
    )
    return [Standing(row.name, max(row.parts, 1), row.rows, row.bytes) for row in rows]


async def underway(db: Read) -> Plan | None:
    """The change that was begun and has not ended, if there is one."""
    if (await db.execute(text(f"SELECT to_regclass('{TWIN}.plan')"))).scalar_one() is None:
        return None
    return Plan((await _plan(db)).parts, await _is_mirrored(db))


async def count(db: Read) -> tuple[int, int]:
    """How many agents have been copied, and about how many facts there are in all; needs an overview."""
    copied = (await db.execute(text(f"SELECT count(*) FROM {TWIN}.agents WHERE copied"))).scalar_one()
    return int(copied), next(one.rows for one in await standing(db) if one.table == "heart.facts")


# ── beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def prepare(url: str, parts: int) -> None:
    """Make the twins, empty; nobody waits meanwhile. Raises Misconfigured when that cannot be, Outage and Contended."""
    async with _owner(url) as db:
        await _require_server(db, parts)
        drawn = await _drawn(db)
        await _require_nobody_else(db, drawn)
        await _do(db, _twins(drawn, parts))
        await db.execute(
            text(f"INSERT INTO {TWIN}.plan (parts, shape) VALUES (:parts, :shape)"), {"parts": parts, "shape": blueprints.digest(drawn)}
        )


async def mirror(db: Switch) -> None:
    """Let every write of an agent that was copied be made in the twins too, from the end of the transaction on."""
    if await _is_mirrored(db):
        return
    for one in await _drawn(db):
        await _do(db, _mirroring(one))


async def abandon(db: Switch) -> None:
    """Undo what was begun: the twins go, the tables stay as they were."""
    for table in await _tables(db):
        for event in _EVENTS:
            await db.execute(text(f"DROP TRIGGER IF EXISTS mirror_{event.lower()} ON {table}"))
    await db.execute(text(f"DROP SCHEMA IF EXISTS {TWIN} CASCADE"))


# ── copying ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def page(db: Read, table: str, *, after: str, limit: int) -> list[tuple[str, int]]:
    """So many agents that come after this one, each with how many rows it has in one of the ROOTS; needs an overview."""
    rows = await db.execute(
        text(f"SELECT agent_id, count(*) AS rows FROM {table} WHERE agent_id > :after GROUP BY 1 ORDER BY 1 LIMIT :limit"),
        {"after": after, "limit": limit},
    )
    return [(row.agent_id, row.rows) for row in rows]


async def uncopied(db: Read, agents: Collection[str]) -> set[str]:
    """Those of these agents that have not been copied."""
    done = await db.execute(
        text(f"SELECT agent_id FROM {TWIN}.agents WHERE copied AND agent_id = ANY(CAST(:agents AS text[]))"), {"agents": list(agents)}
    )
    return set(agents) - set(done.scalars())


async def born(db: Read, *, limit: int) -> list[str]:
    """At most so many agents that were first heard of since writes are mirrored, and have not been copied; needs an overview."""
    found = await db.execute(text(f"SELECT agent_id FROM {TWIN}.agents WHERE NOT copied ORDER BY 1 LIMIT :limit"), {"limit": limit})
    return list(found.scalars())


async def copy(db: Write, agents: Collection[str]) -> None:
    """Copy every row of these agents, whose locks are held, unless they were copied; it takes the time it needs."""
    wanted = sorted(await uncopied(db, agents))
    if not wanted:
        return
    await db.execute(_UNHURRIED)
    for table, columns in await _columns(db):
        listed = ", ".join(columns)
        await db.execute(
            text(f"INSERT INTO {_twin(table)} ({listed}) SELECT {listed} FROM {table} WHERE agent_id = ANY(CAST(:agents AS text[]))"),
            {"agents": wanted},
        )
    await db.execute(
        text(
            f"INSERT INTO {TWIN}.agents (agent_id, copied) SELECT agent_id, true FROM unnest(CAST(:agents AS text[])) AS q(agent_id)"
            " ON CONFLICT (agent_id) DO UPDATE SET copied = true"
        ),
        {"agents": wanted},
    )


async def analyze(url: str) -> None:
    """Let the planner know what stands in the twins; nobody waits meanwhile. Raises Outage and Contended."""
    async with _owner(url) as db:
        await db.execute(_UNHURRIED)
        for table in await _tables(db):
            await db.execute(text(f"ANALYZE {_twin(table)}"))


async def differing(db: Read, *, after: str, last: str) -> list[tuple[str, int, int]]:
    """The tables that have other numbers of rows than their twins, of the agents after one and up to another: (table, rows, its twin's).

    Needs an overview. Agents that have not been copied are left out.
    """
    differ = []
    for table in await _tables(db):
        between = "t.agent_id > :after AND t.agent_id <= :last"
        copied = f"EXISTS (SELECT FROM {TWIN}.agents a WHERE a.agent_id = t.agent_id AND a.copied)"
        found = await db.execute(
            text(
                f"SELECT (SELECT count(*) FROM {table} t WHERE {between} AND {copied}) AS here,"
                f" (SELECT count(*) FROM {_twin(table)} t WHERE {between}) AS there"
            ),
            {"after": after, "last": last},
        )
        row = found.one()
        if row.here != row.there:
            differ.append((table, row.here, row.there))
    return differ


# ── the swap ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def is_outdated(db: Read) -> bool:
    """Whether the tables are defined otherwise than when the twins were made of them: a migration came between."""
    return bool((await _plan(db)).shape != blueprints.digest(await _drawn(db)))


async def swap(db: Switch, *, most: int) -> bool:
    """Put the twins in the tables' place, unless more than `most` agents are still to be copied; whether it was done."""
    async with acting(db, None) as everybody:
        rest = await born(everybody, limit=most + 1)
    if len(rest) > most:
        return False
    async with acting(db, rest) as theirs:
        await copy(theirs, rest)
    drawn, parts = await _drawn(db), (await _plan(db)).parts
    tables = [one.table for one in drawn]
    await db.execute(text(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE"))
    for one in drawn:
        for column in one.identities:
            await db.execute(_GO_ON_COUNTING, {"table": one.table, "twin": _twin(one.table), "column": column})
    await db.execute(text(f"DROP TABLE {', '.join(tables)}"))
    for one in drawn:
        await _do(db, [*one.moved(TWIN, parts), *one.triggers])
    await db.execute(text(f"DROP SCHEMA {TWIN} CASCADE"))
    return True


_GO_ON_COUNTING = text(
    "SELECT setval(pg_get_serial_sequence(CAST(:twin AS text), CAST(:column AS text)),"
    " nextval(pg_get_serial_sequence(CAST(:table AS text), CAST(:column AS text))))"
)
_UNHURRIED = text(
    "SELECT set_config(name, '0', true) FROM pg_settings"
    " WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')"
)


@asynccontextmanager
async def _owner(url: str) -> AsyncIterator[Read]:
    """A transaction of the tables' owner, which no writer waits for."""
    made = engine(url, pool=1)
    try:
        async with AsyncSession(made) as session, session.begin():
            yield Read(session)
    except (*DRIVER_ERRORS, OSError) as error:
        raise_named(error)
    finally:
        await made.dispose()


# ── what they are made of ─────────────────────────────────────────────────────────────────────────────────────────────────


_ADMITTED = "agent_id = ANY ((SELECT heart.admitted())::text[])"


def _twins(drawn: Sequence[Blueprint], parts: int) -> list[str]:
    """Everything that stands in the schema beside."""
    tables = [one.table for one in drawn]
    return [
        f"CREATE SCHEMA {TWIN}",
        f"GRANT USAGE ON SCHEMA {TWIN} TO nous_worker, nous_operator, nous_eraser",
        f"CREATE TABLE {TWIN}.plan (parts integer NOT NULL, shape bytea NOT NULL)",
        f"GRANT SELECT ON {TWIN}.plan TO nous_operator",
        f"CREATE TABLE {TWIN}.agents (agent_id text CONSTRAINT pk_agents PRIMARY KEY, copied boolean NOT NULL DEFAULT false)",
        f"CREATE INDEX ix_agents_born ON {TWIN}.agents (agent_id) WHERE NOT copied",
        f"ALTER TABLE {TWIN}.agents ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {TWIN}.agents FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY admitted ON {TWIN}.agents TO nous_worker, nous_eraser USING ({_ADMITTED}) WITH CHECK ({_ADMITTED})",
        f"CREATE POLICY overview ON {TWIN}.agents FOR SELECT TO nous_operator USING (true)",
        f"GRANT SELECT ON {TWIN}.agents TO nous_operator",
        f"GRANT SELECT, INSERT, UPDATE ON {TWIN}.agents TO nous_worker, nous_eraser",
        *(statement for one in drawn for statement in one.defined(TWIN, parts)),
        *(statement for one in drawn for statement in one.referring(TWIN, tables)),
    ]


_EVENTS = {"INSERT": "NEW TABLE AS written", "UPDATE": "NEW TABLE AS written", "DELETE": "OLD TABLE AS written"}


def _mirroring(one: Blueprint) -> list[str]:
    """The triggers that make each write to a table in its twin too."""
    twin = _twin(one.table)
    listed, values = ", ".join(one.columns), ", ".join(f"w.{name}" for name in one.columns)
    changes = ", ".join(f"{name} = w.{name}" for name in one.columns if name not in one.key)
    same = " AND ".join(f"t.{name} = w.{name}" for name in one.key)
    copied = f"EXISTS (SELECT FROM {TWIN}.agents a WHERE a.agent_id = w.agent_id AND a.copied)"
    noted = f"INSERT INTO {TWIN}.agents (agent_id) SELECT DISTINCT agent_id FROM written ON CONFLICT DO NOTHING;"
    bodies = {
        "INSERT": f"{noted} INSERT INTO {twin} ({listed}) SELECT {values} FROM written w WHERE {copied};",
        "UPDATE": f"UPDATE {twin} t SET {changes} FROM written w WHERE {same} AND {copied};",
        "DELETE": f"DELETE FROM {twin} t USING written w WHERE {same} AND {copied};",
    }
    made = []
    for event, body in bodies.items():
        name = f"mirror_{event.lower()}"
        function = f"{TWIN}.{name}_{one.name}"
        when = f"AFTER {event} ON {one.table} REFERENCING {_EVENTS[event]} FOR EACH STATEMENT"
        made += [
            f"CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$",
            f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {function}()",
        ]
    return made


async def _do(db: Read, statements: Sequence[str]) -> None:
    """Run what was put together, to the letter: a colon in it is no parameter."""
    connection = await db.connection()
    for statement in statements:
        await connection.exec_driver_sql(statement)


async def _drawn(db: Read) -> list[Blueprint]:
    return [await blueprints.of(db, table) for table in await _tables(db)]


async def _tables(db: Read) -> list[str]:
    """The tables of facts, those that refer to others after them."""
    vectors = await db.execute(text("SELECT table_name FROM heart.embedders ORDER BY created_at, name"))
    return ["heart.facts", "heart.fact_versions", "heart.fact_mentions", *vectors.scalars()]


async def _columns(db: Read) -> list[tuple[str, list[str]]]:
    """Each table of facts with the columns that are written in its twin."""
    rows = await db.execute(
        text(
            "SELECT q.name, array_agg(quote_ident(a.attname) ORDER BY a.attnum) AS columns"
            " FROM unnest(CAST(:tables AS text[])) WITH ORDINALITY AS q(name, ord)"
            f" JOIN pg_attribute a ON a.attrelid = replace(q.name, 'heart.', '{TWIN}.')::regclass"
            " AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''"
            " GROUP BY q.name, q.ord ORDER BY q.ord"
        ),
        {"tables": await _tables(db)},
    )
    return [(row.name, row.columns) for row in rows]


async def _plan(db: Read) -> Any:
    return (await db.execute(text(f"SELECT parts, shape FROM {TWIN}.plan"))).one()


async def _is_mirrored(db: Read) -> bool:
    found = await db.execute(
        text("SELECT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'mirror_insert' AND tgrelid = 'heart.facts'::regclass)")
    )
    return bool(found.scalar_one())


def _twin(table: str) -> str:
    return f"{TWIN}.{table.partition('.')[2]}"


async def _require_server(db: Read, parts: int) -> None:
    version = int((await db.execute(text("SELECT current_setting('server_version_num')"))).scalar_one())
    if parts > 1 and version < LEAST_SERVER:
        raise Misconfigured(
            f"this is Postgres {version // 10_000}, and tables in parts need 17 or newer (there a part numbers its versions by itself);"
            " as one table each everything works as before"
        )


async def _require_nobody_else(db: Read, drawn: Sequence[Blueprint]) -> None:
    """What others made on top of these tables would not come along."""
    found = await db.execute(
        text(
            "SELECT DISTINCT r.ev_class::regclass::text FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass"
            " AND d.objid = r.oid WHERE d.refobjid = ANY(CAST(CAST(:tables AS text[]) AS regclass[])) UNION"
            " SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND conparentid = 0"
            " AND confrelid = ANY(CAST(CAST(:tables AS text[]) AS regclass[]))"
            " AND NOT conrelid = ANY(CAST(CAST(:tables AS text[]) AS regclass[]))"
        ),
        {"tables": [one.table for one in drawn]},
    )
    if others := sorted(found.scalars()):
        raise Misconfigured(
            f"{', '.join(others)} depends on the tables of facts and is none of ours; drop it, and make it anew when this is done"
        )
