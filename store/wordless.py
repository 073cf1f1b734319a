"""What was there before search: memories without words, which get them a page at a time, and episodes without their passages.

    agents ──▶ some that have such memories ──fill──▶ a page of them gets its words, under their locks ──▶ until there are none

One process at a time fills; others find it taken and go on with their own work. Killed anywhere, what was filled stands. A fact that gets
its words has said the same all along, so it gets no version (docs/decisions/0023).
"""

from collections.abc import Collection

from sqlalchemy import text

from . import decisions, episodes, facts, many, procedures
from .database import Read, Write
from .episodes import Episode

_TABLES = {"heart.facts": "fact_id", "heart.episodes": "episode_id", "brain.decisions": "decision_id", "heart.procedures": "procedure_id"}
_FILL_KEY = 0x6E6F757300000002
_FILL = text(
    f"UPDATE heart.facts f SET words = q.words, word_count = q.word_count FROM {many.these('heart.facts')}"
    " WHERE f.agent_id = q.agent_id AND f.fact_id = q.fact_id AND f.words IS NULL"
)


async def agents(db: Read, *, limit: int) -> list[str]:
    """At most so many agents that have memories without words; needs an overview."""
    some = " UNION ".join(f"(SELECT agent_id FROM {table} WHERE words IS NULL ORDER BY agent_id LIMIT :limit)" for table in _TABLES)
    rows = await db.execute(text(f"SELECT agent_id FROM ({some}) q ORDER BY 1 LIMIT :limit"), {"limit": limit})
    return list(rows.scalars())


async def count(db: Read) -> int:
    """How many memories have no words yet; needs an overview."""
    counted = " + ".join(f"(SELECT count(*) FROM {table} WHERE words IS NULL)" for table in _TABLES)
    return int((await db.execute(text(f"SELECT {counted}"))).scalar_one())


async def is_ours(db: Write) -> bool:
    """Whether nobody else fills meanwhile; until the transaction ends."""
    return bool((await db.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _FILL_KEY})).scalar_one())


async def fill(db: Write, among: Collection[str], *, limit: int) -> tuple[int, list[Episode]]:
    """Give so many memories of each kind their words: how many that were, and the episodes among them that were settled."""
    done = await _fill_facts(db, among, limit)
    chosen = await decisions.by_key(db, await _keys(db, "brain.decisions", among, limit))
    await decisions.put(db, list(chosen.values()))
    known = await procedures.by_key(db, await _keys(db, "heart.procedures", among, limit))
    await procedures.put(db, list(known.values()))
    held = [await episodes.get(db, agent, episode) for agent, episode in await _keys(db, "heart.episodes", among, limit)]
    lived = [one for one in held if one]
    for one in lived:
        await episodes.put(db, one)
    return done + len(chosen) + len(known) + len(lived), [one for one in lived if one.settled_by]


async def _fill_facts(db: Write, among: Collection[str], limit: int) -> int:
    found = await facts.by_key(db, await _keys(db, "heart.facts", among, limit))
    rows = [{"agent_id": agent, "fact_id": fact_id, **facts.words_of(fact)} for (agent, fact_id), fact in found.items()]
    if rows:
        await db.execute(_FILL, many.packed(rows))
    return len(rows)


async def _keys(db: Read, table: str, among: Collection[str], limit: int) -> list[facts.Key]:
    rows = await db.execute(
        text(
            f"SELECT agent_id, {_TABLES[table]} AS id FROM {table} WHERE words IS NULL AND agent_id = ANY(CAST(:agents AS text[]))"
            " ORDER BY 1, 2 LIMIT :limit"
        ),
        {"agents": list(among), "limit": limit},
    )
    return [(row.agent_id, row.id) for row in rows]
