"""Vectors: one for each fact, in the table of the embedder that made it; nearest by exact cosine, within one agent."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector
from sqlalchemy import text

from . import facts, narrowing, rankings
from .database import Read, Write

Vector = NDArray[np.float32]
"""Length-1 embedding of one text."""


Narrowed = Sequence[Sequence[UUID] | None]
"""For each question the facts that can be an answer; None, any of the agent's."""


@dataclass(frozen=True)
class Near:
    """A fact near a text: plain cosine similarity, -1 to 1, never a rank or a fused score."""

    fact_id: UUID
    similarity: float


async def nearest(db: Read, table: str, asked: Sequence[tuple[str, Vector]], *, limit: int, floor: float) -> list[list[Near]]:
    """For each (agent_id, vector): the agent's nearest facts, nearest first; the first whatever its score, others from `floor` up.

    At most `limit` that are true now and `limit` of the past, so that neither crowds the other out.
    Exact: every vector of the agent is looked at. About 0.8 ms at 1,000 facts and 13 ms at 10,000 (measured, two cores), and a
    tenth of that for each of many of one agent (narrowing.py).
    """
    near = "SELECT v.fact_id, v.vector <=> q.vector AS distance FROM {vectors} WHERE v.agent_id = q.agent_id"
    best = "ORDER BY distance, v.fact_id LIMIT :limit"

    async def few(agent: str, places: Sequence[int]) -> list[list[UUID]]:
        among = await rankings.now_and_past(db, table, agent)
        return await narrowing.few(db, table, among, narrowing.unit([asked[at][1] for at in places]), limit)

    return await _told(
        db,
        table,
        "SELECT q.ord, n.fact_id, 1 - n.distance AS similarity"
        " FROM unnest(CAST(:agents AS text[]), CAST(:vectors AS halfvec[]), CAST(:few AS text[]))"
        "  WITH ORDINALITY AS q(agent_id, vector, few, ord)"
        " CROSS JOIN LATERAL (SELECT top.*, row_number() OVER (ORDER BY top.distance, top.fact_id) AS place"
        f"  FROM (({near} AND v.current {best}) UNION ALL ({near} AND NOT v.current {best})) top) n"
        " WHERE n.place = 1 OR 1 - n.distance >= :floor ORDER BY q.ord, n.place",
        await _narrowed(db, table, [agent for agent, _ in asked], few),
        lambda places: {
            "agents": [asked[at][0] for at in places],
            "vectors": [HalfVector(asked[at][1]) for at in places],
            "limit": limit,
            "floor": floor,
        },
    )


async def alike(db: Read, table: str, agent: str, to: Collection[UUID], *, floor: float, limit: int) -> list[Near]:
    """The agent's facts that are true now and from `floor` up like one of these, which are not among them; the nearest first."""
    rows = await db.execute(
        text(
            "SELECT o.fact_id, max(1 - (o.vector <=> v.vector)) AS similarity"
            f" FROM {table} v JOIN {table} o ON o.agent_id = v.agent_id AND o.current AND o.fact_id <> ALL(CAST(:ids AS uuid[]))"
            " WHERE v.agent_id = :agent AND v.fact_id = ANY(CAST(:ids AS uuid[])) AND 1 - (o.vector <=> v.vector) >= :floor"
            " GROUP BY o.fact_id ORDER BY similarity DESC, o.fact_id LIMIT :limit"
        ),
        {"agent": agent, "ids": list(to), "floor": floor, "limit": limit},
    )
    return [Near(fact_id=row.fact_id, similarity=float(row.similarity)) for row in rows]


async def recorded(db: Read, table: str, agent: str, said: Mapping[bytes, str]) -> dict[str, Vector]:
    """The vectors that were made of these words, by their content hashes, when the agent's facts were stored; of those that have one."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT ON (m.content) m.content, v.vector"
            " FROM unnest(CAST(:hashes AS bytea[]), CAST(:contents AS text[])) AS q(digest, content)"
            " JOIN heart.fact_mentions m ON m.agent_id = :agent AND m.content_hash = q.digest AND m.content = q.content"
            f"  AND m.outcome = 'stored' JOIN {table} v ON v.agent_id = m.agent_id AND v.fact_id = m.fact_id ORDER BY m.content"
        ),
        {"agent": agent, "hashes": list(said), "contents": list(said.values())},
    )
    return {row.content: row.vector.to_numpy().astype(np.float32) for row in rows}


@dataclass(frozen=True, slots=True)
class Asking:
    """A fact whose neighbours are wanted: those that are true now, and those that were still true at `at` or later."""

    agent_id: str
    fact_id: UUID
    at: datetime


async def neighbours(db: Read, table: str, asking: Sequence[Asking], *, limit: int) -> list[list[Near]]:
    """For each: the nearest other facts by content whatever their score, at most `limit` now true and `limit` retired after `at`."""
    near = "SELECT v.fact_id, v.vector <=> mine.vector AS distance FROM {vectors}"
    others = "v.agent_id = q.agent_id AND v.fact_id <> q.fact_id"
    best = "ORDER BY distance, v.fact_id LIMIT :limit"
    now = f"{near} WHERE {others} AND v.current {best}"
    its = _BY_KEY.format(table="heart.facts", of="v")
    past = f"{near} CROSS JOIN LATERAL ({its}) f WHERE {others} AND NOT v.current AND f.valid_to > q.at {best}"

    async def few(agent: str, places: Sequence[int]) -> list[list[UUID]]:
        own, since = [asking[at].fact_id for at in places], [asking[at].at for at in places]
        return await narrowing.few_for(db, table, await rankings.others(db, table, agent, own, since), own, limit)

    narrowed = await _narrowed(db, table, [one.agent_id for one in asking], few)
    return await _near(db, table, asking, f"({now}) UNION ALL ({past})", narrowed, lambda _: {"limit": limit})


async def namesakes(db: Read, table: str, asking: Sequence[Asking], subjects: Sequence[Sequence[str]], *, limit: int) -> list[list[Near]]:
    """For each: the nearest facts among those of these folded subjects, at most `limit`."""
    if not any(subjects):
        return [[] for _ in asking]

    async def few(agent: str, places: Sequence[int]) -> list[list[UUID]]:
        own, since = [asking[at].fact_id for at in places], [asking[at].at for at in places]
        among = await rankings.named(db, agent, own, since, [subjects[at] for at in places])
        return await narrowing.few_for(db, table, among, own, limit)

    def values(places: Sequence[int]) -> dict[str, object]:
        named = [(place, name) for place, at in enumerate(places, 1) for name in subjects[at]]
        return {"limit": limit, "places": [place for place, _ in named], "names": [name for _, name in named]}

    return await _near(
        db,
        table,
        asking,
        "SELECT v.fact_id, v.vector <=> mine.vector AS distance"
        f" FROM {{facts}} CROSS JOIN LATERAL ({_BY_KEY.format(table=table, of='f')}) v"
        f" WHERE f.agent_id = q.agent_id AND f.fact_id <> q.fact_id AND f.merged_into IS NULL AND ({facts.is_so('f')} OR f.valid_to > q.at)"
        "  AND f.subject_key = ANY(s.subjects) ORDER BY distance, v.fact_id LIMIT :limit",
        await _narrowed(db, table, [one.agent_id for one in asking], few),
        values,
        beside="JOIN (SELECT place, array_agg(name) AS subjects FROM unnest(CAST(:places AS bigint[]), CAST(:names AS text[]))"
        " AS given(place, name) GROUP BY place) s ON s.place = q.ord",
    )


_BY_KEY = "SELECT * FROM {table} one WHERE one.agent_id = {of}.agent_id AND one.fact_id = {of}.fact_id OFFSET 0"
"""The row of one fact, looked up whatever the planner knows: as a join it took 21 s for 64 of 1,000 facts just stored, so 0.3 s."""


async def _near(
    db: Read,
    table: str,
    asking: Sequence[Asking],
    found: str,
    narrowed: Narrowed,
    values: Callable[[Sequence[int]], dict[str, object]],
    *,
    beside: str = "",
) -> list[list[Near]]:
    """The rows of the query `found` for each of `asking`; it may name q (the asking), mine (its vector) and what stands `beside` it."""
    return await _told(
        db,
        table,
        "SELECT q.ord, n.fact_id, 1 - n.distance AS similarity"
        " FROM unnest(CAST(:agents AS text[]), CAST(:asked AS uuid[]), CAST(:moments AS timestamptz[]), CAST(:few AS text[]))"
        "  WITH ORDINALITY AS q(agent_id, fact_id, at, few, ord)"
        f" JOIN {table} mine ON mine.agent_id = q.agent_id AND mine.fact_id = q.fact_id {beside}"
        f" CROSS JOIN LATERAL ({found}) n ORDER BY q.ord, n.distance, n.fact_id",
        narrowed,
        lambda places: {
            "agents": [asking[at].agent_id for at in places],
            "asked": [asking[at].fact_id for at in places],
            "moments": [asking[at].at for at in places],
            **values(places),
        },
    )


async def _narrowed(
    db: Read, table: str, agents: Sequence[str], few: Callable[[str, Sequence[int]], Awaitable[list[list[UUID]]]]
) -> Narrowed:
    """The questions of these agents narrowed to the `few` of each, where that pays: those of an agent at these places."""
    narrowed: list[Sequence[UUID] | None] = [None] * len(agents)
    for agent in sorted(await narrowing.large(db, table, agents)):
        places = [place for place, one in enumerate(agents) if one == agent]
        for place, ids in zip(places, await few(agent, places), strict=True):
            narrowed[place] = ids
    return narrowed


async def _told(
    db: Read, table: str, query: str, narrowed: Narrowed, values: Callable[[Sequence[int]], dict[str, object]]
) -> list[list[Near]]:
    """What the query tells of each question: `{vectors}` and `{facts}` in it are v and f, all rows, or the few that q.few names."""
    if not narrowed:
        return []
    near: list[list[Near]] = [[] for _ in narrowed]
    await db.execute(_BY_AGENT)
    for source, is_narrowed in ((_ALL, False), (_FEW, True)):
        places = [place for place, few in enumerate(narrowed) if (few is not None) is is_narrowed]
        if not places:
            continue
        said = query.format(vectors=source.format(table=table, of="v"), facts=source.format(table="heart.facts", of="f"))
        few = [f"{{{','.join(map(str, narrowed[at] or ()))}}}" for at in places]
        for row in await db.execute(text(said), {**values(places), "few": few}):
            near[places[row.ord - 1]].append(Near(fact_id=row.fact_id, similarity=float(row.similarity)))
    return near


_BY_AGENT = text("SELECT set_config('enable_seqscan', 'off', true)")
"""For the rest of the transaction, whose statements all go by key. Postgres does not know beforehand whom a question is of, and where there
are few agents takes each for a large one: beside two of 10,000 and 50,000 facts it read everybody's for every question of one of 1,000,
46 ms each, and so 1.4."""

_ALL = "{table} {of}"
_FEW = (
    "(SELECT row.* FROM unnest(CAST(q.few AS uuid[])) AS named(fact_id) CROSS JOIN LATERAL (SELECT * FROM {table} one"
    " WHERE one.agent_id = q.agent_id AND one.fact_id = named.fact_id OFFSET 0) row) {of}"
)


async def copy(db: Write, table: str, agent: str, copies: Mapping[UUID, UUID]) -> None:
    """Give new facts the vectors of others that say the same: {new: other}."""
    if copies:
        await db.execute(
            text(
                f"INSERT INTO {table} (agent_id, fact_id, vector) SELECT v.agent_id, q.new, v.vector"
                " FROM unnest(CAST(:new AS uuid[]), CAST(:old AS uuid[])) AS q(new, old)"
                f" JOIN {table} v ON v.agent_id = :agent AND v.fact_id = q.old"
            ),
            {"agent": agent, "new": list(copies), "old": list(copies.values())},
        )


async def mark(db: Write, table: str, agent: str, *, current: Collection[UUID], past: Collection[UUID]) -> None:
    """Say of these facts' vectors whether what they say is true now; a merged fact's is while the fact it is part of is."""
    for marked, is_current in ((current, True), (past, False)):
        if marked:
            await db.execute(
                text(
                    f"UPDATE {table} SET current = :current WHERE agent_id = :agent AND fact_id = ANY(CAST(:facts AS uuid[]))"
                    " AND current <> :current"
                ),
                {"agent": agent, "facts": list(marked), "current": is_current},
            )


async def insert(db: Write, table: str, new: Sequence[tuple[str, UUID, Vector]]) -> None:
    """Add the vectors of new facts."""
    if new:
        await db.execute(
            text(
                f"INSERT INTO {table} (agent_id, fact_id, vector)"
                " SELECT * FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[]), CAST(:vectors AS halfvec[]))"
            ),
            {
                "agents": [agent for agent, _, _ in new],
                "facts": [fact for _, fact, _ in new],
                "vectors": [HalfVector(vector) for _, _, vector in new],
            },
        )
