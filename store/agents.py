"""Agents, whole: everything of one, in every table that says whose its rows are, is erased in one transaction.

    every table with an agent_id, those that refer to others first ─▶ page by page, to the last row
    bus.spending ─▶ what it cost stays, under nobody's name
    bus.forgotten ─▶ a tombstone under a hash of the agent's name

The tables are asked of the database, so that one that is added later is not left out; one the eraser may not touch is an error.
"""

from collections.abc import Sequence
from datetime import datetime
from graphlib import TopologicalSorter

from sqlalchemy import text

from nous.errors import Misconfigured

from . import forgotten
from .database import Erase, Read
from .forgotten import Tombstone

ROWS_AT_ONCE = 5_000
SPENDING = "bus.spending"
NOBODY = ""
SCHEMAS = ("heart", "brain", "bus")
LEFT_BY_LOOKING = ("bus.audits",)


async def erase(db: Erase, agent: str, *, by: str, now: datetime) -> dict[str, int]:
    """Erase everything of an agent; how many rows of each table. Raises Misconfigured when there is a table the eraser may not touch."""
    counts = {SPENDING: await _nobody_s(db, agent)}
    for table in await _tables(db):
        counts[table] = counts.get(table, 0) + await _emptied(db, table, agent)
    await forgotten.insert(db, [Tombstone(forgotten.agent_key(agent), "", "", by, now)])
    return {table: rows for table, rows in sorted(counts.items()) if rows}


async def sizes(db: Read, agent: str) -> dict[str, int]:
    """How many rows each table has of an agent; needs an overview."""
    counts = {}
    for table in await _tables(db):
        found = await db.execute(text(f"SELECT count(*) FROM {table} WHERE agent_id = :agent"), {"agent": agent})
        counts[table] = int(found.scalar_one())
    return {table: rows for table, rows in sorted(counts.items()) if rows}


async def is_known(db: Read, agent: str) -> bool:
    """Whether anything is kept of an agent, but for what looking at it leaves; needs an overview."""
    for table in await _tables(db):
        if table in LEFT_BY_LOOKING:
            continue
        found = await db.execute(text(f"SELECT EXISTS (SELECT FROM {table} WHERE agent_id = :agent)"), {"agent": agent})
        if found.scalar_one():
            return True
    return False


async def _emptied(db: Erase, table: str, agent: str) -> int:
    erased = 0
    while True:
        done = await db.execute(
            text(
                f"DELETE FROM {table} WHERE agent_id = :agent"
                f" AND ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE agent_id = :agent LIMIT {ROWS_AT_ONCE}))"
            ),
            {"agent": agent},
        )
        rows = int(done.rowcount)  # type: ignore[attr-defined]  # a DELETE gives a CursorResult
        if not rows:
            return erased
        erased += rows


async def _nobody_s(db: Erase, agent: str) -> int:
    """What an agent cost is added to what nobody in particular cost."""
    moved = await db.execute(
        text(
            f"WITH gone AS (DELETE FROM {SPENDING} WHERE agent_id = :agent RETURNING *)"
            f" INSERT INTO {SPENDING} AS s (agent_id, hour, worker, model, questions, tokens_in, tokens_out, cost)"
            f" SELECT '{NOBODY}', hour, worker, model, questions, tokens_in, tokens_out, cost FROM gone"
            " ON CONFLICT ON CONSTRAINT pk_spending DO UPDATE SET questions = s.questions + excluded.questions,"
            " tokens_in = s.tokens_in + excluded.tokens_in, tokens_out = s.tokens_out + excluded.tokens_out, cost = s.cost + excluded.cost"
        ),
        {"agent": agent},
    )
    return int(moved.rowcount)  # type: ignore[attr-defined]  # an INSERT gives a CursorResult


async def _tables(db: Read) -> Sequence[str]:
    """Every table that says whose its rows are, those that refer to others before these."""
    named = await db.execute(
        text(
            "SELECT c.oid::regclass::text AS name, has_table_privilege(c.oid, 'SELECT') AS is_ours FROM pg_class c"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'agent_id' AND NOT a.attisdropped"
            " WHERE n.nspname = ANY(CAST(:schemas AS text[])) AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
        ),
        {"schemas": list(SCHEMAS)},
    )
    found = {row.name: row.is_ours for row in named}
    if barred := sorted(name for name, is_ours in found.items() if not is_ours):
        raise Misconfigured(
            f"{', '.join(barred)} may hold words of the agent and is closed to the role that erases; GRANT it to nous_eraser"
        )
    refers = await db.execute(
        text(
            "SELECT DISTINCT conrelid::regclass::text AS child, confrelid::regclass::text AS parent FROM pg_constraint"
            " WHERE contype = 'f' AND conrelid <> confrelid"
        )
    )
    before: dict[str, set[str]] = {name: set() for name in found}
    for row in refers:
        if row.child in found and row.parent in found:
            before[row.parent].add(row.child)
    return list(TopologicalSorter({name: sorted(before[name]) for name in sorted(before)}).static_order())
