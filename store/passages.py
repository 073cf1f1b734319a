"""Passages: what was said in a settled episode, word for word and a few turns each, so that recall finds the place and not the day.

    an episode settled ──put──▶ passage 1, 2, 3 ... under ids that follow from the episode and the place
    settled again ─────put──▶ the same rows with what was said as it is now; what is left over says nothing any more

What was forgotten from an episode takes its passages with it (`erase`); they are made again when it is settled again. They outlive the
turns that are put away; when those are let go of they are made of what is left (`remake`), and their room is given back.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous import ids
from nous.aside import aside

from . import many, unembedded, words
from .database import Erase, Read, Write


@dataclass(frozen=True)
class Passage:
    """One row of heart.passages: `content` is who said what, a line each; `place` counts from 0 within the episode."""

    agent_id: str
    passage_id: UUID
    episode_id: UUID
    place: int
    content: str
    said_at: datetime


Key = tuple[str, UUID]
"""(agent_id, passage_id): no agent can take another's id."""

_NAMES = many.columns(Passage)
_PUT = text(many.upserting("heart.passages", (*_NAMES, *words.COLUMNS), key=("agent_id", "passage_id")))
_BY_KEY = text(many.reading("heart.passages", _NAMES, key="passage_id"))


def id_of(agent: str, episode: UUID, place: int) -> UUID:
    """The id of the passage at this place of an episode."""
    return ids.derived("passage", agent, str(episode), str(place))


@dataclass(frozen=True)
class Worded:
    """A passage with its words, as columns of its row."""

    passage: Passage
    words: Mapping[str, object]


def worded(agent: str, episode: UUID, said: Sequence[tuple[str, datetime]]) -> list[Worded]:
    """The passages of what was said, in order, each with when that was; their words take the time of it, and no lock."""
    return _worded(_made(agent, episode, said))


def _made(agent: str, episode: UUID, said: Sequence[tuple[str, datetime]]) -> list[Passage]:
    return [Passage(agent, id_of(agent, episode, at), episode, at, content, moment) for at, (content, moment) in enumerate(said)]


def _worded(these: Sequence[Passage]) -> list[Worded]:
    return [Worded(one, words.kept(one.content)) for one in these]


async def put(db: Write, agent: str, episode: UUID, said: Sequence[tuple[str, datetime]]) -> None:
    """Let these be the passages of an episode, in order, each with when it was said; they wait for their vectors."""
    await keep(db, agent, episode, worded(agent, episode, said))


async def keep(db: Write, agent: str, episode: UUID, made: Sequence[Worded]) -> None:
    """Let these be the passages of an episode; they wait for their vectors."""
    if made:
        await db.execute(_PUT, many.packed([{**vars(one.passage), **one.words} for one in made]))
        await unembedded.add(db, "passage", {(agent, one.passage.passage_id): one.passage.content for one in made})
    left = await db.execute(
        text(
            "UPDATE heart.passages SET content = '', words = '', word_count = 0 WHERE agent_id = :agent AND episode_id = :episode"
            " AND place >= :count AND content <> '' RETURNING passage_id"
        ),
        {"agent": agent, "episode": episode, "count": len(made)},
    )
    if gone := list(left.scalars()):
        await db.execute(
            text(
                "UPDATE heart.memory_vectors SET digest = '', vector = '[0]' WHERE agent_id = :agent AND kind = 'passage'"
                " AND memory_id = ANY(CAST(:gone AS uuid[]))"
            ),
            {"agent": agent, "gone": gone},
        )


async def remake(db: Erase, agent: str, episode: UUID, said: Sequence[tuple[str, datetime]]) -> int:
    """Let these be the passages of an episode: one that says what it said keeps its vector and its use, any other goes with them.

    Gives how many said something before. Words are made of new ones alone: most often there are none.
    """
    rows = await db.execute(
        text("SELECT passage_id, content FROM heart.passages WHERE agent_id = :agent AND episode_id = :episode"),
        {"agent": agent, "episode": episode},
    )
    before = {row.passage_id: row.content for row in rows}
    made = _made(agent, episode, said)
    changed = [one for one in made if before.get(one.passage_id) != one.content]
    same = {one.passage_id for one in made} - {one.passage_id for one in changed}
    await _erase(db, agent, sorted(before.keys() - same))
    if changed:
        new = await aside(sum(len(one.content) for one in changed), _worded, changed)
        await db.execute(_PUT, many.packed([{**vars(one.passage), **one.words} for one in new]))
        await unembedded.add(db, "passage", {(agent, one.passage.passage_id): one.passage.content for one in new})
    return sum(map(bool, before.values()))


async def by_key(db: Read, keys: Collection[Key]) -> Mapping[Key, Passage]:
    """The passages of these keys that say something; a key that is not there is left out."""
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "ids"))
    return {(one.agent_id, one.passage_id): one for one in map(_passage, rows) if one.content}


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[Key]:
    """The keys, with ids between these two, of passages that say something; of one agent, or of all."""
    rows = await db.execute(
        text(
            "SELECT agent_id, passage_id FROM heart.passages WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " AND passage_id BETWEEN :first AND :last AND content <> '' ORDER BY passage_id LIMIT :limit"
        ),
        {"agent": agent, "first": first, "last": last, "limit": limit},
    )
    return [(one.agent_id, one.passage_id) for one in rows]


async def of_episode(db: Read, agent: str, episode: UUID) -> list[Passage]:
    """The passages of an episode that say something, in order."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(_NAMES)} FROM heart.passages WHERE agent_id = :agent AND episode_id = :episode AND content <> ''"
            " ORDER BY place"
        ),
        {"agent": agent, "episode": episode},
    )
    return [_passage(row) for row in rows]


async def erase(db: Erase, agent: str, episode: UUID) -> None:
    """Erase the passages of an episode with their vectors and how often they were told: one made in its place says something else."""
    rows = await db.execute(
        text("SELECT passage_id FROM heart.passages WHERE agent_id = :agent AND episode_id = :episode"),
        {"agent": agent, "episode": episode},
    )
    await _erase(db, agent, list(rows.scalars()))


async def _erase(db: Erase, agent: str, these: Sequence[UUID]) -> None:
    if not these:
        return
    key = {"agent": agent, "these": these}
    for table in ("heart.memory_vectors", "bus.unembedded", "heart.memory_usage"):
        await db.execute(
            text(f"DELETE FROM {table} WHERE agent_id = :agent AND kind = 'passage' AND memory_id = ANY(CAST(:these AS uuid[]))"), key
        )
    await db.execute(text("DELETE FROM heart.passages WHERE agent_id = :agent AND passage_id = ANY(CAST(:these AS uuid[]))"), key)


def _passage(row: Any) -> Passage:
    return Passage(**row._mapping)
