"""What was there before search: memories without words, which get them a page at a time, and episodes without their passages.

    bus.fills ──take──▶ a table, how far its fill is, leased ──page──▶ the next few of one agent ──said──▶ words, made with no lock held
        ▲                                                                                                  │
        └────────── go_on: behind the page, whatever became of it ◀──── put, under the agent's lock ◀──────┘

A fill goes through a table in the order of its key, without an index of what is left: that would have to read all of it first. A round that
found some is followed by another a day later, for what a process of an older version wrote meanwhile and for what could not be filled; one
that found none is the last. A fact that gets its words has said the same all along, so it gets no version (docs/decisions/0023).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import text

from . import decisions, episodes, facts, many, procedures, unembedded, words
from .database import Read, Write
from .episodes import Episode
from .nouns import NOUNS, Kind

NEXT_ROUND = timedelta(days=1)

Key = tuple[str, UUID]
"""(agent_id, id)."""


_SIZES: Mapping[Kind, str] = {
    "fact": "octet_length(m.content)",
    "decision": "octet_length(m.description) + coalesce(octet_length(m.context), 0)"
    " + pg_column_size(m.reasons) + pg_column_size(m.alternatives)",
    "procedure": "pg_column_size(m.goals) + pg_column_size(m.core_patterns) + pg_column_size(m.implementation_notes)",
    "episode": "coalesce(octet_length(m.summary), 0) + coalesce(octet_length(m.detail), (SELECT sum(octet_length(t.content))"
    " FROM heart.turns t WHERE t.agent_id = m.agent_id AND t.session_key = m.session_key), 0)",
}
"""About how many bytes a row `m` takes to fill."""

_IDS = {NOUNS[kind].table: NOUNS[kind].id for kind in _SIZES}
_SIZE_IN = {NOUNS[kind].table: size for kind, size in _SIZES.items()}


@dataclass(frozen=True)
class Place:
    """How far the fill of a table is: behind `after`. It is another's when `due_at` is over."""

    table: str
    after: Key
    due_at: datetime


@dataclass(frozen=True)
class Page:
    """Memories without words, all of one agent. With it the fill is as far as `end`; `is_last` when there is nothing behind."""

    table: str
    keys: tuple[Key, ...]
    end: Key
    is_last: bool

    def first(self) -> "Page":
        """Its first memory alone."""
        return replace(self, keys=self.keys[:1], end=self.keys[0], is_last=False)


@dataclass(frozen=True)
class Bare:
    """A memory without words, and what it says. Of an episode the `episode`."""

    key: Key
    said: str
    episode: Episode | None = None


async def take(db: Write, *, now: datetime, lease: datetime) -> Place | None:
    """A fill that goes on, nobody else's until `lease`; None when there is none."""
    rows = await db.execute(
        text(
            "UPDATE bus.fills f SET due_at = :lease FROM (SELECT table_name FROM bus.fills WHERE due_at <= :now"
            " ORDER BY due_at, table_name LIMIT 1 FOR UPDATE SKIP LOCKED) q WHERE f.table_name = q.table_name"
            " RETURNING f.table_name, f.after_agent, f.after_memory, f.due_at"
        ),
        {"now": now, "lease": lease},
    )
    row = rows.one_or_none()
    return Place(row.table_name, (row.after_agent, row.after_memory), row.due_at) if row else None


async def page(db: Read, place: Place, *, rows: int, most: int, size: int) -> Page:
    """What comes next: at most so many memories, and bytes, but one in any case. Looks at so many rows; needs an overview."""
    id_ = _IDS[place.table]
    agent, memory = place.after
    found = await db.execute(
        text(
            f"SELECT agent_id, {id_} AS id, words IS NULL AS is_bare FROM {place.table}"
            f" WHERE (agent_id, {id_}) > (:agent, CAST(:memory AS uuid)) ORDER BY agent_id, {id_} LIMIT :rows"
        ),
        {"agent": agent, "memory": memory, "rows": rows},
    )
    seen = list(found)
    bare = [(row.agent_id, row.id) for row in seen if row.is_bare]
    if not bare:
        return Page(place.table, (), (seen[-1].agent_id, seen[-1].id) if seen else place.after, is_last=len(seen) < rows)
    some = [key for key in bare if key[0] == bare[0][0]][:most]
    sizes, taken = await _sizes(db, place.table, some), 0
    for count, key in enumerate(some):
        taken += sizes.get(key, 0)
        if count and taken > size:
            some = some[:count]
            break
    return Page(place.table, tuple(some), some[-1], is_last=False)


async def _sizes(db: Read, table: str, keys: Sequence[Key]) -> dict[Key, int]:
    id_ = _IDS[table]
    rows = await db.execute(
        text(
            f"SELECT m.agent_id, m.{id_} AS id, {_SIZE_IN[table]} AS size"
            " FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent, id)"
            f" CROSS JOIN LATERAL (SELECT * FROM {table} m WHERE m.agent_id = q.agent AND m.{id_} = q.id OFFSET 0) m"
        ),
        many.apart(keys, "agents", "ids"),
    )
    return {(row.agent_id, row.id): int(row.size) for row in rows}


async def said(db: Read, page: Page) -> list[Bare]:
    """What the memories of a page say."""
    match page.table:
        case "heart.facts":
            return [Bare(key, words.fact(one.content, one.subject)) for key, one in (await facts.by_key(db, page.keys)).items()]
        case "brain.decisions":
            return [Bare(key, one.said) for key, one in (await decisions.by_key(db, page.keys)).items()]
        case "heart.procedures":
            return [Bare(key, one.said) for key, one in (await procedures.by_key(db, page.keys)).items()]
    held = [await episodes.get(db, *key) for key in page.keys]
    return [Bare((one.agent_id, one.episode_id), one.said, one) for one in held if one]


async def put(db: Write, table: str, made: Mapping[Key, Mapping[str, object]], said: Mapping[Key, str]) -> set[Key]:
    """Give these memories their words; the keys of those that had none by now. What waits for a vector now waits for it."""
    id_ = _IDS[table]
    rows = await db.execute(
        text(
            f"UPDATE {table} f SET words = q.words, word_count = q.word_count FROM {many.these(table)}"
            f" WHERE f.agent_id = q.agent_id AND f.{id_} = q.{id_} AND f.words IS NULL RETURNING f.agent_id, f.{id_} AS id"
        ),
        many.packed([{"agent_id": agent, id_: memory, **its} for (agent, memory), its in made.items()]),
    )
    given = {(row.agent_id, row.id) for row in rows}
    if table == "brain.decisions":
        await unembedded.add(db, "decision", {key: said[key] for key in given})
    if table == "heart.procedures":
        await unembedded.add(db, "procedure", {key: said[key] for key in given})
    return given


async def go_on(db: Write, place: Place, page: Page, *, now: datetime) -> None:
    """The fill is behind this page now, and is due; unless another has taken it meanwhile."""
    mine = {"table": place.table, "lease": place.due_at}
    if not page.is_last:
        await db.execute(
            text(
                "UPDATE bus.fills SET after_agent = :agent, after_memory = :memory, found = found + :found, due_at = :now"
                " WHERE table_name = :table AND due_at = :lease"
            ),
            {**mine, "agent": page.end[0], "memory": page.end[1], "found": len(page.keys), "now": now},
        )
        return
    await db.execute(
        text(
            "UPDATE bus.fills SET after_agent = DEFAULT, after_memory = DEFAULT, found = 0, rounds = rounds + 1,"
            " due_at = CASE WHEN found > 0 THEN CAST(:next AS timestamptz) END WHERE table_name = :table AND due_at = :lease"
        ),
        {**mine, "next": now + NEXT_ROUND},
    )


async def count(db: Read) -> int:
    """How many memories have no words and are still to be come to in this round; needs an overview, and looks at all that is left."""
    left = 0
    places = await db.execute(
        text("SELECT table_name, after_agent, after_memory FROM bus.fills WHERE due_at IS NOT NULL AND (rounds = 0 OR after_agent <> '')")
    )
    for place in list(places):
        rows = await db.execute(
            text(
                f"SELECT count(*) FROM {place.table_name}"
                f" WHERE words IS NULL AND (agent_id, {_IDS[place.table_name]}) > (:agent, CAST(:memory AS uuid))"
            ),
            {"agent": place.after_agent, "memory": place.after_memory},
        )
        left += int(rows.scalar_one())
    return left
