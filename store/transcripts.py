"""Transcripts: what was said in an episode, as much of it as is at hand, and the whole of it where that was put away.

    turns of its session, or the text that came ──put_away──▶ heart.transcripts_cold, compressed ──let_go──▶ gone
        ▲        └─ keep_at_hand: less of it, or none                      │
        └──────────────── keep_at_hand, all of it again ◀── whole ─────────┘

Turns that are at hand behind those that were put away came later, and belong to the whole as well; but for one that was put away already
and was reported once more, for it was not there to be recognised.
"""

import json
import zlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous.aside import aside

from . import many, spans
from .database import Erase, Read, Write
from .episodes import Episode
from .sessions import Turn

ROWS_AT_ONCE = 200
BYTES_AT_ONCE = 1_000_000
"""Of compressed transcripts so much is read at a time, and at least one."""
_TURN = many.columns(Turn)


@dataclass(frozen=True)
class Transcript:
    """What was said: the turns of a session, the text that came, or both. `served` is what a turn was told, as JSON, by its position."""

    detail: str | None = None
    turns: tuple[Turn, ...] = ()
    served: Mapping[int, str] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """What was said, each turn by itself, and the text that came."""
        return [*(turn.content for turn in self.turns), *([self.detail] if self.detail else [])]

    @property
    def characters(self) -> int:
        """How long it is."""
        return sum(map(len, self.texts))

    @property
    def bytes(self) -> int:
        """How much room its words take."""
        return sum(len(one.encode()) for one in self.texts)

    def redacted(self, wordings: Collection[str]) -> "Transcript":
        """With a mark in place of each of these words."""
        turns = tuple(replace(one, content=spans.redacted(one.content, wordings)) for one in self.turns)
        return replace(self, detail=spans.redacted(self.detail, wordings) if self.detail else self.detail, turns=turns)


@dataclass(frozen=True)
class Held:
    """Of one row of heart.transcripts_cold how long it was in `characters`, how much room it takes now, and since when."""

    characters: int
    packed_bytes: int
    put_away_at: datetime


@dataclass(frozen=True)
class Cold:
    """One row of heart.transcripts_cold. `characters` is how long it was, `packed_bytes` how much room it takes now."""

    agent_id: str
    episode_id: UUID
    transcript: Transcript
    characters: int
    packed_bytes: int
    put_away_at: datetime


Key = tuple[str, UUID]
"""(agent_id, episode_id)."""

_COLD = "agent_id, episode_id, packed, characters, put_away_at"
_PUT_TURNS = text(
    many.inserting("heart.turns", _TURN) + " ON CONFLICT (agent_id, session_key, position) DO UPDATE SET content = excluded.content"
)
_SERVE = text(
    "UPDATE heart.turns t SET served = CAST(q.served AS jsonb)"
    " FROM unnest(CAST(:keys AS uuid[]), CAST(:positions AS integer[]), CAST(:served AS text[])) AS q(key, position, served)"
    " WHERE t.agent_id = :agent AND t.session_key = q.key AND t.position = q.position"
)


# ── at hand, and whole ────────────────────────────────────────────────────────────────────────────────────────────────────


async def at_hand(db: Read, episode: Episode) -> Transcript:
    """What recall may look at."""
    if episode.session_key is None:
        return Transcript(episode.detail)
    rows = await db.execute(
        text(
            f"SELECT {', '.join(_TURN)}, served::text AS served FROM heart.turns WHERE agent_id = :agent AND session_key = :key"
            " ORDER BY position"
        ),
        {"agent": episode.agent_id, "key": episode.session_key},
    )
    found = [({name: getattr(row, name) for name in _TURN}, row.served) for row in rows]
    turns = tuple(Turn(**fields) for fields, _ in found)
    return Transcript(episode.detail, turns, {fields["position"]: served for fields, served in found if served is not None})


async def whole(db: Read, episode: Episode, there: Transcript | None = None) -> Transcript:
    """All that was said, as far as it is kept anywhere; `there` is what is at hand, if that is known."""
    there = await at_hand(db, episode) if there is None else there
    kept = await cold(db, episode.agent_id, episode.episode_id) if episode.aged else None
    return joined(kept.transcript, there) if kept else there


def joined(away: Transcript, there: Transcript) -> Transcript:
    """What was put away, and behind it what came later of what is at hand."""
    last = max((one.position for one in away.turns), default=0)
    known = {(one.turn_id, one.speaker) for one in away.turns if one.turn_id is not None}
    later = tuple(one for one in there.turns if one.position > last and (one.turn_id, one.speaker) not in known)
    served = {one.position: there.served[one.position] for one in later if one.position in there.served}
    return replace(away, turns=(*away.turns, *later), served={**away.served, **served})


async def next_position(db: Read, agent: str, session_key: UUID) -> int:
    """The position of the next utterance of a session: behind all that is at hand, and all that was put away of it."""
    rows = await db.execute(
        text(
            "SELECT (SELECT coalesce(max(position), 0) FROM heart.turns WHERE agent_id = :agent AND session_key = :key) AS last,"
            f" {_COLD} FROM (VALUES (1)) one LEFT JOIN heart.transcripts_cold ON agent_id = :agent AND episode_id IN"
            " (SELECT episode_id FROM heart.sessions WHERE agent_id = :agent AND session_key = :key)"
        ),
        {"agent": agent, "key": session_key},
    )
    found = list(rows)
    away = [await _cold(row) for row in found if row.packed is not None]
    return 1 + max([int(found[0].last), *(turn.position for one in away for turn in one.transcript.turns)])


async def keep_at_hand(db: Erase, episode: Episode, said: Transcript, *, there: Transcript) -> None:
    """Let these be the turns of an episode that are at hand, where `there` were; the text that came is on its row (`episodes.put`)."""
    before = {one.position: one for one in there.turns}
    if gone := sorted(before.keys() - {one.position for one in said.turns}):
        await db.execute(
            text("DELETE FROM heart.turns WHERE agent_id = :agent AND session_key = :key AND position = ANY(CAST(:gone AS integer[]))"),
            {"agent": episode.agent_id, "key": episode.session_key, "gone": gone},
        )
    await put_turns(db, [one for one in said.turns if before.get(one.position) != one], said.served)


async def put_turns(db: Write, turns: Sequence[Turn], served: Mapping[int, str]) -> None:
    """Write turns down as they are, each with what it was told."""
    if not turns:
        return
    await db.execute(_PUT_TURNS, many.packed(map(vars, turns)))
    told = [one for one in turns if one.position in served]
    values = {
        "agent": turns[0].agent_id,
        "keys": [one.session_key for one in told],
        "positions": [one.position for one in told],
        "served": [served[one.position] for one in told],
    }
    if told:
        await db.execute(_SERVE, values)


# ── away ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_away(db: Write, key: Key, said: Transcript, *, at: datetime) -> int:
    """Keep a whole transcript, compressed; how many bytes that takes. One that was put away before is replaced, and keeps its time."""
    packed = await aside(said.characters, _packed, said)
    await db.execute(
        text(
            "INSERT INTO heart.transcripts_cold (agent_id, episode_id, packed, characters, put_away_at)"
            " VALUES (:agent, :episode, :packed, :characters, :at) ON CONFLICT (agent_id, episode_id)"
            " DO UPDATE SET packed = excluded.packed, characters = excluded.characters"
        ),
        {"agent": key[0], "episode": key[1], "packed": packed, "characters": said.characters, "at": at},
    )
    return len(packed)


async def cold(db: Read, agent: str, episode: UUID) -> Cold | None:
    """What was put away of an episode; None when nothing is."""
    rows = await db.execute(
        text(f"SELECT {_COLD} FROM heart.transcripts_cold WHERE agent_id = :agent AND episode_id = :episode"),
        {"agent": agent, "episode": episode},
    )
    row = rows.one_or_none()
    return await _cold(row) if row else None


async def held(db: Read, agent: str, episode: UUID) -> Held | None:
    """That something is put away of an episode, without reading it; None when nothing is."""
    rows = await db.execute(
        text(
            "SELECT characters, octet_length(packed) AS packed_bytes, put_away_at FROM heart.transcripts_cold"
            " WHERE agent_id = :agent AND episode_id = :episode"
        ),
        {"agent": agent, "episode": episode},
    )
    row = rows.one_or_none()
    return Held(**row._mapping) if row else None


async def all_cold(db: Read, *, agent: str | None) -> AsyncIterator[Cold]:
    """All that is put away, of one agent, or of everybody when `agent` is None (and the session is an overview)."""
    after: Key = ("", UUID(int=0))
    while True:
        rows = await db.execute(
            text(
                f"SELECT {_COLD} FROM (SELECT {_COLD}, sum(octet_length(packed)) OVER (ORDER BY agent_id, episode_id)"
                f" - octet_length(packed) AS before FROM (SELECT {_COLD} FROM heart.transcripts_cold"
                " WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
                " AND (agent_id, episode_id) > (:after_agent, CAST(:after AS uuid)) ORDER BY agent_id, episode_id LIMIT :limit) page"
                ") measured WHERE before < :most ORDER BY agent_id, episode_id"
            ),
            {"agent": agent, "after_agent": after[0], "after": after[1], "limit": ROWS_AT_ONCE, "most": BYTES_AT_ONCE},
        )
        page = list(rows)
        if not page:
            return
        for row in page:
            yield await _cold(row)
        after = (page[-1].agent_id, page[-1].episode_id)


async def let_go(db: Erase, agent: str, episode: UUID) -> None:
    """Nothing of it is put away any more."""
    await db.execute(
        text("DELETE FROM heart.transcripts_cold WHERE agent_id = :agent AND episode_id = :episode"), {"agent": agent, "episode": episode}
    )


# ── what is due ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def agents_expired(db: Read, *, before: datetime) -> list[str]:
    """Whose transcripts were put away before then; needs an overview."""
    rows = await db.execute(text("SELECT DISTINCT agent_id FROM heart.transcripts_cold WHERE put_away_at <= :before"), {"before": before})
    return sorted(row.agent_id for row in rows)


async def expired(db: Read, agent: str, *, before: datetime, after: UUID | None, limit: int) -> list[tuple[UUID, datetime]]:
    """The agent's episodes behind `after` whose transcripts were put away before then, by id, each with when that was."""
    rows = await db.execute(
        text(
            "SELECT episode_id, put_away_at FROM heart.transcripts_cold WHERE agent_id = :agent AND put_away_at <= :before"
            " AND (CAST(:after AS uuid) IS NULL OR episode_id > :after) ORDER BY episode_id LIMIT :limit"
        ),
        {"agent": agent, "before": before, "after": after, "limit": limit},
    )
    return [(row.episode_id, row.put_away_at) for row in rows]


# ── packed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _packed(said: Transcript) -> bytes:
    turns = [
        [str(one.session_key), one.position, one.speaker, one.content, one.said_at.isoformat(), one.turn_id, said.served.get(one.position)]
        for one in said.turns
    ]
    return zlib.compress(json.dumps({"detail": said.detail, "turns": turns}, ensure_ascii=False, separators=(",", ":")).encode())


async def _cold(row: Any) -> Cold:
    return await aside(row.characters, _unpacked, row)


def _unpacked(row: Any) -> Cold:
    held = json.loads(zlib.decompress(row.packed))
    turns, served = [], {}
    for session_key, position, speaker, content, said_at, turn_id, told in held["turns"]:
        turns.append(Turn(row.agent_id, UUID(session_key), position, speaker, content, datetime.fromisoformat(said_at), turn_id))
        if told is not None:
            served[position] = told
    transcript = Transcript(held["detail"], tuple(turns), served)
    return Cold(row.agent_id, row.episode_id, transcript, row.characters, len(row.packed), row.put_away_at)
