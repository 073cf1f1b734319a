"""Relations: how two texts of an agent stand to each other, by a mind or by a person; a person outranks every mind, for ever.

Kept by text, not by fact: the same words said again are related as they were, and nobody is asked twice. A pair without a row is not
known to be related; "unsure" is no row.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from . import many
from .database import Erase, Read, Write
from .facts import Fact, Key, is_so

Kind = Literal["same", "refines", "updates", "contradicts", "compatible"]
MERGING = ("same", "refines")
CONFLICTING = ("updates", "contradicts")


@dataclass(frozen=True)
class Relation:
    """One row of heart.relations; `low_key` < `high_key`, `richer_key` is the one of the two that says more, if it refines the other."""

    agent_id: str
    low_key: bytes
    high_key: bytes
    relation: Kind
    richer_key: bytes | None
    decided_by: Literal["mind", "person"]
    model: str | None
    prompt: str | None
    reason: str
    event_id: str
    recorded_at: datetime

    @property
    def bears(self) -> bool:
        """Whether the two merge or conflict: how the one stands hangs on the other."""
        return self.relation != "compatible"


Pair = tuple[str, bytes, bytes]
"""(agent_id, low_key, high_key)."""

_NAMES = many.columns(Relation)
_COLUMNS = ", ".join(_NAMES)
_BEARS = "r.relation <> 'compatible'"
_PUT = text(many.upserting("heart.relations", _NAMES, key=("agent_id", "low_key", "high_key")) + " WHERE excluded.decided_by = 'person'")


def pair(agent: str, left: bytes, right: bytes) -> Pair:
    """The key of two different texts, whichever is named first."""
    return (agent, left, right) if left < right else (agent, right, left)


async def put(db: Write, rows: Sequence[Relation]) -> None:
    """Write relations down. The first that is known of a pair stays, unless a person says otherwise."""
    if rows:
        await db.execute(_PUT, many.packed(map(vars, rows)))


async def between(db: Read, pairs: Collection[Pair]) -> dict[Pair, Relation]:
    """What is known of these pairs."""
    if not pairs:
        return {}
    rows = await db.execute(
        text(
            f"SELECT {', '.join(f'r.{name}' for name in _NAMES)}"
            " FROM unnest(CAST(:agents AS text[]), CAST(:lows AS bytea[]), CAST(:highs AS bytea[])) AS q(agent_id, low_key, high_key)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.relations r WHERE r.agent_id = q.agent_id AND r.low_key = q.low_key"
            "  AND r.high_key = q.high_key OFFSET 0) r"
        ),
        many.apart(pairs, "agents", "lows", "highs"),
    )
    return {(row.agent_id, row.low_key, row.high_key): _relation(row) for row in rows}


async def among(db: Read, agent: str, keys: Collection[bytes]) -> list[Relation]:
    """Every relation of two of these texts, in the order of their keys."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.relations WHERE agent_id = :agent"
            " AND low_key = ANY(CAST(:keys AS bytea[])) AND high_key = ANY(CAST(:keys AS bytea[])) ORDER BY low_key, high_key"
        ),
        {"agent": agent, "keys": list(keys)},
    )
    return [_relation(row) for row in rows]


async def touching(db: Read, agent: str, keys: Collection[bytes]) -> list[Relation]:
    """Every relation of one of these texts, in the order of their keys."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.relations WHERE agent_id = :agent"
            " AND (low_key = ANY(CAST(:keys AS bytea[])) OR high_key = ANY(CAST(:keys AS bytea[]))) ORDER BY low_key, high_key"
        ),
        {"agent": agent, "keys": list(keys)},
    )
    return [_relation(row) for row in rows]


async def delete(db: Erase, pairs: Collection[Pair]) -> None:
    """Let nothing be known of these pairs."""
    if pairs:
        await db.execute(
            text(
                "DELETE FROM heart.relations r"
                " USING unnest(CAST(:agents AS text[]), CAST(:lows AS bytea[]), CAST(:highs AS bytea[])) AS q(agent_id, low_key, high_key)"
                " WHERE r.agent_id = q.agent_id AND r.low_key = q.low_key AND r.high_key = q.high_key"
            ),
            many.apart(pairs, "agents", "lows", "highs"),
        )


async def reachable(db: Read, agent: str, keys: Collection[bytes]) -> set[bytes]:
    """These texts, and every one that merges or conflicts with one of them, and so on: all that can stand otherwise if one changes."""
    rows = await db.execute(
        text(
            "WITH RECURSIVE reached(key) AS (SELECT unnest(CAST(:keys AS bytea[])) UNION SELECT other.key FROM reached"
            " CROSS JOIN LATERAL ("
            "  SELECT r.high_key AS key FROM heart.relations r WHERE r.agent_id = :agent AND r.low_key = reached.key"
            f"   AND {_BEARS}"
            "  UNION ALL SELECT r.low_key FROM heart.relations r WHERE r.agent_id = :agent AND r.high_key = reached.key"
            f"   AND {_BEARS}) other) SELECT key FROM reached"
        ),
        {"agent": agent, "keys": list(keys)},
    )
    return {row.key for row in rows}


async def linked(db: Read, texts: Collection[tuple[str, bytes]]) -> set[tuple[str, bytes]]:
    """Those of these (agent_id, text_key) that merge or conflict with another text."""
    if not texts:
        return set()
    rows = await db.execute(
        text(
            "SELECT q.agent_id, q.key FROM unnest(CAST(:agents AS text[]), CAST(:keys AS bytea[])) AS q(agent_id, key) WHERE EXISTS ("
            f"SELECT FROM heart.relations r WHERE r.agent_id = q.agent_id AND r.low_key = q.key AND {_BEARS}) OR EXISTS ("
            f"SELECT FROM heart.relations r WHERE r.agent_id = q.agent_id AND r.high_key = q.key AND {_BEARS})"
        ),
        many.apart(texts, "agents", "keys"),
    )
    return {(row.agent_id, row.key) for row in rows}


async def count_bearing(db: Read, of: Collection[Fact]) -> Counter[Key]:
    """For each of these facts, how many rows beside its own wordings are known to merge or conflict with its text.

    Of those that are so, or were after it was first claimed.
    """
    if not of:
        return Counter()
    known = (
        f"SELECT r.{{other}}_key AS key FROM heart.relations r WHERE r.agent_id = q.agent_id AND r.{{own}}_key = q.text_key AND {_BEARS}"
    )
    one = "SELECT * FROM heart.facts one WHERE one.agent_id = q.agent_id AND one"
    rows = await db.execute(
        text(
            "SELECT q.agent_id, q.fact_id, n.bearing FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[]), CAST(:keys AS bytea[]),"
            " CAST(:ats AS timestamptz[])) AS q(agent_id, fact_id, text_key, at) CROSS JOIN LATERAL (SELECT count(*) AS bearing"
            f" FROM ({known.format(own='low', other='high')} UNION ALL {known.format(own='high', other='low')} OFFSET 0) o"
            f" CROSS JOIN LATERAL ({one}.text_key = o.key OFFSET 0) f LEFT JOIN LATERAL ({one}.fact_id = f.merged_into OFFSET 0) w ON true"
            " WHERE coalesce(f.merged_into, f.fact_id) <> q.fact_id"
            f" AND ({is_so('f')} OR f.valid_to > q.at OR {is_so('w')} OR w.valid_to > q.at)) n"
        ),
        many.apart([(fact.agent_id, fact.fact_id, fact.text_key, fact.valid_from) for fact in of], "agents", "ids", "keys", "ats"),
    )
    return Counter({(row.agent_id, row.fact_id): row.bearing for row in rows if row.bearing})


def _relation(row: Any) -> Relation:
    return Relation(*row)  # its columns are in the order of the fields; by their names it takes three times as long
