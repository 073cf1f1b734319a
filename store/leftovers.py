"""Leftovers: where words still stand, in whatever column of whatever table of ours.

The columns are asked of the database, so that a table that is added later is searched too. Words are looked for as they were written, in
any case, and as JSON writes them; what was found is told by the ids of its row, never by its words.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from nous.aside import aside

from . import spans, transcripts
from .agents import SCHEMAS
from .database import Read

IDS = (
    "agent_id", "fact_id", "episode_id", "decision_id", "procedure_id", "censor_id", "session_key", "position", "stream", "event_id",
    "worker", "about", "name",
)  # fmt: skip
UNSEARCHED = {"bus.alembic_version"}  # holds the number of the last migration
COLD = "heart.transcripts_cold"


@dataclass(frozen=True)
class Leftover:
    """A row in which words still stand: its table, the columns they stand in, and the ids it has."""

    table: str
    columns: tuple[str, ...]
    ids: Mapping[str, str]


@dataclass(frozen=True)
class Searched:
    """What was found, and the tables nobody may look into."""

    found: tuple[Leftover, ...]
    closed: tuple[str, ...]


async def search(db: Read, words: Collection[str], *, agent: str | None) -> Searched:
    """Where these words still stand in rows of this agent (of anybody when None), and in rows of nobody; needs an overview."""
    wanted = [one for one in words if not spans.is_few(one)]
    tables, closed = await _columns(db)
    found = [one for table, columns in tables.items() for one in await _in(db, table, columns, wanted, agent)] if wanted else []
    if wanted and agent != "":
        found += await _put_away(db, wanted, agent)
    return Searched(tuple(found), tuple(sorted(closed - UNSEARCHED)))


def written(words: Iterable[str]) -> list[str]:
    """Words as they may stand somewhere: as they are, and as JSON writes them."""
    return sorted({shape for one in words for shape in (one, json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1])})


def patterns(words: Iterable[str]) -> list[str]:
    """For LIKE, in small letters: whatever has one of these in it."""
    return [f"%{_escaped(one.lower())}%" for one in written(words)]


async def _columns(db: Read) -> tuple[dict[str, dict[str, str]], set[str]]:
    """For each table its columns with their types, and the tables that are closed to this role."""
    rows = await db.execute(
        text(
            "SELECT c.oid::regclass::text AS name, a.attname AS column, format_type(a.atttypid, NULL) AS type,"
            " has_table_privilege(c.oid, 'SELECT') AS is_ours FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE n.nspname = ANY(CAST(:schemas AS text[])) AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition ORDER BY 1, 2"
        ),
        {"schemas": list(SCHEMAS)},
    )
    tables: dict[str, dict[str, str]] = {}
    closed: set[str] = set()
    for row in rows:
        if row.is_ours:
            tables.setdefault(row.name, {})[row.column] = row.type
        else:
            closed.add(row.name)
    return tables, closed


async def _in(db: Read, table: str, columns: Mapping[str, str], words: Sequence[str], agent: str | None) -> list[Leftover]:
    tests = {name: _TESTS[kind].format(column=name) for name, kind in columns.items() if kind in _TESTS}
    if not tests:
        return []
    ids = [name for name in IDS if name in columns]
    told = [*(f"{name}::text AS id_{name}" for name in ids), *(f"{test} AS in_{name}" for name, test in tests.items())]
    whose = " AND (CAST(:agent AS text) IS NULL OR agent_id IN (:agent, ''))" if "agent_id" in columns else ""
    query = f"SELECT {', '.join(told)} FROM {table} WHERE ({' OR '.join(tests.values())}){whose}"
    shapes = written(words)
    values: dict[str, object] = {
        ":likes": patterns(words),
        ":bytes": sorted({one.encode() for shape in shapes for one in (shape, shape.lower())}),
        ":agent": agent,
    }
    rows = await db.execute(text(query), {name[1:]: value for name, value in values.items() if name in query})
    return [
        Leftover(
            table,
            tuple(name for name in tests if getattr(row, f"in_{name}")),
            {name: str(getattr(row, f"id_{name}")) for name in ids if getattr(row, f"id_{name}") is not None},
        )
        for row in rows
    ]


async def _put_away(db: Read, words: Sequence[str], agent: str | None) -> list[Leftover]:
    """Transcripts that were put away are compressed: each is read."""
    wanted = {one.lower() for one in words}
    return [
        Leftover(COLD, ("packed",), {"agent_id": one.agent_id, "episode_id": str(one.episode_id)})
        async for one in transcripts.all_cold(db, agent=agent)
        if await aside(one.characters, _stands_in, one.transcript.texts, wanted)
    ]


def _stands_in(texts: Sequence[str], words: Collection[str]) -> bool:
    """Whether one of these words, in small letters, stands in one of these texts."""
    return any(word in small for small in map(str.lower, texts) for word in words)


_IN_TEXT = "coalesce(lower({column}::text) LIKE ANY(CAST(:likes AS text[])), false)"
_IN_BYTES = "EXISTS (SELECT FROM unnest(CAST(:bytes AS bytea[])) AS one(word) WHERE position(one.word IN {column}) > 0)"
_TESTS = {"bytea": _IN_BYTES} | dict.fromkeys(
    ("text", "text[]", "character varying", "character varying[]", "character", "json", "jsonb", "jsonb[]", "xml", "tsvector"), _IN_TEXT
)
"""How a column of each type that can hold words is searched."""


def _escaped(word: str) -> str:
    """For LIKE, as it stands."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
