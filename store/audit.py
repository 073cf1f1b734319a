"""Audit: what is wrong with what is kept, each check a statement or two that looks and changes nothing, over an overview.

    vectors      facts that are true and have none in use; vectors of embedders that are not in use
    links        to facts, episodes, sessions and decisions that are not there; one that was forgotten is there, without words
    chains       what was retired by what was retired by ...: rings, and ways that are too long
    slots        two facts that are true in one place where one can be
    use          found often, held against answers, and never drawn on
    counts       by who vouches for them and how old they are; added week by week, and merged since

Each reads its tables once, in time that grows with the store and memory that does not: what it sorts or joins goes to disk beyond 64 MB.
Ids are given of the first few of each. What takes a sample instead is in audit_sampled.py.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from .database import Read
from .embedders import Registered
from .facts import claimed_after

LOOKED_AT_IDS = 1_000
"""Of links in rings and of slots, so many are told one from another at most."""


@dataclass(frozen=True)
class Seen:
    """One thing that was found, by its ids: `other` is what it leads to or stands against."""

    agent_id: str
    id: UUID
    other: UUID | None = None


@dataclass(frozen=True)
class Found:
    """How many there are, of how many that were looked at and could have been one, and the first few."""

    count: int
    of: int
    first: Sequence[Seen] = ()


_TRUE = "f.active AND f.forgotten_at IS NULL"
_WHOSE = "(CAST(:agent AS text) IS NULL OR {of}.agent_id = :agent)"


async def facts(db: Read, *, agent: str | None) -> tuple[int, int]:
    """How many facts are true, and how many rows of facts there are that were not forgotten."""
    row = (
        await db.execute(
            text(
                f"SELECT count(*) FILTER (WHERE f.active) AS active, count(*) AS all FROM heart.facts f"
                f" WHERE f.forgotten_at IS NULL AND {_WHOSE.format(of='f')}"
            ),
            {"agent": agent},
        )
    ).one()
    return int(row.active), int(row.all)


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def without_vector(db: Read, used: Registered, *, agent: str | None, first: int) -> Found:
    """Facts that are true and have no vector of the embedder in use: they are found by words alone, and no twin of them is seen."""
    return await _found(
        db,
        f"SELECT f.agent_id, f.fact_id AS id, NULL::uuid AS other FROM heart.facts f WHERE {_TRUE} AND {_WHOSE.format(of='f')}"
        f" AND NOT EXISTS (SELECT FROM {used.table} v WHERE v.agent_id = f.agent_id AND v.fact_id = f.fact_id)",
        of=f"SELECT count(*) FROM heart.facts f WHERE {_TRUE} AND {_WHOSE.format(of='f')}",
        agent=agent,
        first=first,
    )


async def vectors_of(db: Read, embedder: Registered, *, agent: str | None) -> int:
    """How many vectors there are of an embedder."""
    rows = await db.execute(text(f"SELECT count(*) FROM {embedder.table} v WHERE {_WHOSE.format(of='v')}"), {"agent": agent})
    return int(rows.scalar_one())


# ── links and chains ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Link:
    """What leads from one thing to another: the table, under a letter; whose link it is and what to; which rows have one; what is lost."""

    table: str
    its: str
    to: str
    is_one: str
    is_lost: str

    @property
    def all(self) -> str:
        """Every row that has such a link, of one agent or all: FROM and WHERE."""
        return f" FROM {self.table} WHERE {self.is_one} AND {_WHOSE.format(of=self.table[-1])}"


_NO_FACT = "NOT EXISTS (SELECT FROM heart.facts t WHERE t.agent_id = {of}.agent_id AND t.fact_id = {id})"
LINKS = {
    name: Link(
        table="heart.facts f",
        its="fact_id",
        to=f"f.{name}",
        is_one=f"f.{name} IS NOT NULL AND f.forgotten_at IS NULL",
        is_lost=_NO_FACT.format(of="f", id=f"f.{name}"),
    )
    for name in ("superseded_by", "merged_into", "disputes")
} | {
    "source": Link(
        table="heart.facts f",
        its="fact_id",
        to="CAST(substr(f.source, 9) AS uuid)",
        is_one="f.forgotten_at IS NULL AND f.source ~ '^episode:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'",
        is_lost="NOT EXISTS (SELECT FROM heart.episodes e WHERE e.agent_id = f.agent_id AND 'episode:' || e.episode_id = f.source)",
    ),
    "episode_of_session": Link(
        table="heart.episodes e",
        its="episode_id",
        to="e.session_key",
        is_one="e.session_key IS NOT NULL",
        is_lost="NOT EXISTS (SELECT FROM heart.sessions s WHERE s.agent_id = e.agent_id AND s.session_key = e.session_key)",
    ),
    "decision_of_episode": Link(
        table="heart.episode_decisions l",
        its="episode_id",
        to="l.decision_id",
        is_one="true",
        is_lost="NOT EXISTS (SELECT FROM brain.decisions d WHERE d.agent_id = l.agent_id AND d.decision_id = l.decision_id)",
    ),
    "used_fact": Link(
        table="heart.memory_usage u",
        its="memory_id",
        to="NULL::uuid",
        is_one="u.kind = 'fact'",
        is_lost=_NO_FACT.format(of="u", id="u.memory_id"),
    ),
}
"""What leads to something that may not be there, by the name of the link."""


async def dangling(db: Read, link: str, *, agent: str | None, first: int) -> Found:
    """Of one of the LINKS, those that lead to nothing; `of` is how many there are of it."""
    one = LINKS[link]
    return await _found(
        db,
        f"SELECT agent_id, {one.its} AS id, {one.to} AS other{one.all} AND {one.is_lost}",
        of=f"SELECT count(*){one.all}",
        agent=agent,
        first=first,
    )


_NEXT = "coalesce(f.merged_into, f.superseded_by)"
_RETIRED = f"SELECT count(*) FROM heart.facts f WHERE {_NEXT} IS NOT NULL AND {_WHOSE.format(of='f')}"


async def long_chains(db: Read, *, agent: str | None, longest: int, first: int) -> Found:
    """Facts that it takes more than `longest` steps to come to, from some fact that leads to them; those of a ring are among them.

    `of` is how many facts lead to another, by which they were retired.
    """
    return await _found(
        db,
        "WITH RECURSIVE step(agent_id, id, depth) AS ("
        f" SELECT f.agent_id, {_NEXT}, 1 FROM heart.facts f WHERE {_NEXT} IS NOT NULL AND {_WHOSE.format(of='f')}"
        f" UNION SELECT f.agent_id, {_NEXT}, step.depth + 1 FROM step JOIN heart.facts f ON f.agent_id = step.agent_id"
        f"  AND f.fact_id = step.id WHERE {_NEXT} IS NOT NULL AND step.depth <= :longest)"
        " SELECT DISTINCT agent_id, id, NULL::uuid AS other FROM step WHERE depth > :longest",
        of=_RETIRED,
        agent=agent,
        first=first,
        longest=longest,
    )


async def rings(db: Read, suspects: Sequence[Seen], *, longest: int, first: int) -> Found:
    """Those of these facts that come back to themselves, within so many steps; at most LOOKED_AT_IDS are looked at, as `of` says."""
    some = suspects[:LOOKED_AT_IDS]
    return await _found(
        db,
        "WITH RECURSIVE step(agent_id, start, id, depth) AS ("
        f" SELECT f.agent_id, f.fact_id, {_NEXT}, 1 FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, id)"
        "  JOIN heart.facts f ON f.agent_id = q.agent_id AND f.fact_id = q.id"
        f" UNION SELECT f.agent_id, step.start, {_NEXT}, step.depth + 1 FROM step JOIN heart.facts f"
        "  ON f.agent_id = step.agent_id AND f.fact_id = step.id"
        f" WHERE {_NEXT} IS NOT NULL AND step.id <> step.start AND step.depth < :longest)"
        " SELECT DISTINCT agent_id, start AS id, NULL::uuid AS other FROM step WHERE id = start",
        of="SELECT cardinality(CAST(:ids AS uuid[]))",
        agents=[one.agent_id for one in some],
        ids=[one.id for one in some],
        longest=longest,
        first=first,
    )


# ── slots ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def attributes(db: Read, *, agent: str | None, limit: int) -> list[str]:
    """The attributes that facts name, those named most often first."""
    rows = await db.execute(
        text(
            f"SELECT f.attribute FROM heart.facts f WHERE {_TRUE} AND f.attribute IS NOT NULL AND f.subject_key IS NOT NULL"
            f" AND {_WHOSE.format(of='f')} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT :limit"
        ),
        {"agent": agent, "limit": limit},
    )
    return list(rows.scalars())


async def contradictions(db: Read, names: Collection[str], *, agent: str | None, first: int) -> Found:
    """Slots (one agent, subject and attribute of these names) that hold two true facts of which nobody said that both may be.

    The first of the two is the one that was last claimed before the other: a later claim ends an earlier one, never the other way round.
    Pairs of which the first is the user's and the other is not come last: that one can end no such first. A dispute, of which the user is
    told, is none; nor is a pair that a mind or a person settled. `of` is how many slots are filled.
    """
    slot = "f.agent_id, f.subject_key, lower(f.attribute)"
    filled = f"{_TRUE} AND f.subject_key IS NOT NULL AND f.attribute = ANY(CAST(:names AS text[])) AND {_WHOSE.format(of='f')}"
    rows = await db.execute(
        text(
            f"WITH slots AS MATERIALIZED (SELECT f.agent_id, f.subject_key, lower(f.attribute) AS attribute, count(*) AS held"
            f"  FROM heart.facts f WHERE {filled} GROUP BY {slot}),"
            " found AS MATERIALIZED (SELECT s.agent_id, p.* FROM slots s CROSS JOIN LATERAL ("
            f"  SELECT a.fact_id AS id, b.fact_id AS other, {_OF_THE_USER_ALONE} AS stays"
            "  FROM heart.facts a JOIN heart.facts b ON b.agent_id = a.agent_id"
            "   AND left(b.subject_key, 200) = left(a.subject_key, 200) AND b.subject_key = a.subject_key AND b.active"
            f"   AND lower(b.attribute) = s.attribute AND {claimed_after('b', 'a')} AND b.text_key <> a.text_key"
            "  WHERE a.agent_id = s.agent_id AND left(a.subject_key, 200) = left(s.subject_key, 200) AND a.subject_key = s.subject_key"
            f"   AND a.active AND lower(a.attribute) = s.attribute AND {_NOT_DISPUTED} AND NOT {_SETTLED}"
            "  LIMIT 1) p WHERE s.held > 1)"
            " SELECT (SELECT count(*) FROM slots) AS slots, (SELECT count(*) FROM found) AS total, f.* FROM (SELECT 1) one"
            " LEFT JOIN (SELECT * FROM found ORDER BY stays, agent_id, id LIMIT :first) f ON true"
        ),
        {"agent": agent, "names": list(names), "first": first},
    )
    seen = rows.all()
    return Found(int(seen[0].total), int(seen[0].slots), [Seen(row.agent_id, row.id, row.other) for row in seen if row.id])


_OF_THE_USER_ALONE = "(a.provenance = 'user_stated' AND b.provenance <> 'user_stated')"
_NOT_DISPUTED = "a.disputes IS DISTINCT FROM b.fact_id AND b.disputes IS DISTINCT FROM a.fact_id"
_SETTLED = (
    "EXISTS (SELECT FROM heart.relations r WHERE r.agent_id = a.agent_id AND r.low_key = least(a.text_key, b.text_key)"
    " AND r.high_key = greatest(a.text_key, b.text_key) AND r.relation IN ('same', 'refines', 'compatible'))"
)


# ── use ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def never_drawn_on(db: Read, *, agent: str | None, compared: int, first: int) -> Found:
    """Facts that are true, held against at least so many answers, and drawn on by none; `of` is how many were held against so many."""
    judged = (
        "SELECT u.agent_id, u.memory_id AS id, NULL::uuid AS other, u.referenced FROM heart.memory_usage u"
        " JOIN heart.facts f ON f.agent_id = u.agent_id AND f.fact_id = u.memory_id"
        f" WHERE u.kind = 'fact' AND u.compared >= :compared AND {_TRUE} AND {_WHOSE.format(of='u')}"
    )
    return await _found(
        db,
        f"SELECT agent_id, id, other FROM ({judged}) q WHERE referenced = 0",
        of=f"SELECT count(*) FROM ({judged}) q",
        agent=agent,
        compared=compared,
        first=first,
    )


# ── counts ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

AGES = {"under a week": 7, "under a month": 30, "under a quarter": 90, "under a year": 365}
OLDER = "older"


async def by_provenance_and_age(db: Read, *, agent: str | None, now: datetime) -> dict[str, dict[str, int]]:
    """How many facts are true, by who vouches for them, then by how long ago they were last claimed."""
    cases = " ".join(f"WHEN f.claimed_at > CAST(:now AS timestamptz) - interval '{days} days' THEN '{name}'" for name, days in AGES.items())
    rows = await db.execute(
        text(
            f"SELECT f.provenance, CASE {cases} ELSE '{OLDER}' END AS age, count(*) AS facts FROM heart.facts f"
            f" WHERE {_TRUE} AND {_WHOSE.format(of='f')} GROUP BY 1, 2 ORDER BY 1, 2"
        ),
        {"agent": agent, "now": now},
    )
    counted: dict[str, dict[str, int]] = {}
    for row in rows:
        counted.setdefault(row.provenance, dict.fromkeys([*AGES, OLDER], 0))[row.age] = int(row.facts)
    return counted


@dataclass(frozen=True)
class Week:
    """What was added in the seven days from `begins` on: facts stored, those of them found since to be another one, those still true."""

    begins: datetime
    added: int
    merged: int
    active: int


async def weeks(db: Read, *, agent: str | None, since: datetime, until: datetime) -> list[Week]:
    """The weeks from `since` on that end by `until`, the earliest first, those without a fact too. They are counted from `until` back."""
    rows = await db.execute(
        text(
            "SELECT w.begins, coalesce(q.added, 0) AS added, coalesce(q.merged, 0) AS merged, coalesce(q.active, 0) AS active"
            " FROM generate_series(CAST(:since AS timestamptz), CAST(:until AS timestamptz) - interval '7 days', interval '7 days')"
            "  AS w(begins) LEFT JOIN (SELECT date_bin('7 days', f.created_at, CAST(:since AS timestamptz)) AS begins,"
            "  count(*) AS added, count(*) FILTER (WHERE f.merged_into IS NOT NULL) AS merged, count(*) FILTER (WHERE f.active) AS active"
            " FROM heart.facts f"
            f"  WHERE f.created_at >= :since AND f.created_at < :until AND f.forgotten_at IS NULL AND {_WHOSE.format(of='f')} GROUP BY 1)"
            "  q ON q.begins = w.begins ORDER BY 1"
        ),
        {"agent": agent, "since": since, "until": until},
    )
    return [Week(row.begins, int(row.added), int(row.merged), int(row.active)) for row in rows]


async def _found(db: Read, statement: str, *, of: str, first: int, **values: Any) -> Found:
    """How many rows the statement gives, and the first few of them; `of` is a statement that counts what was looked at."""
    rows = (
        await db.execute(
            text(
                f"WITH found AS MATERIALIZED ({statement})"
                f" SELECT (SELECT count(*) FROM found) AS total, ({of}) AS looked_at, f.* FROM (SELECT 1) one"
                " LEFT JOIN (SELECT agent_id, id, other FROM found ORDER BY agent_id, id LIMIT :first) f ON true"
                " ORDER BY f.agent_id, f.id"
            ),
            {**values, "first": first},
        )
    ).all()
    return Found(int(rows[0].total), int(rows[0].looked_at), [Seen(row.agent_id, row.id, row.other) for row in rows if row.id])
