"""Sessions: conversations as an agent reports them, and their turns word for word.

One of a session_id is open at a time; when it has ended, the same session_id begins another. A turn that is reported again under its
turn_id is the same turn, as recall/sessions.py says; also when its words are not at hand (store/known_turns.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import text

from . import keys, many
from .database import Read, Write

Ending = Literal["ended", "abandoned"]


@dataclass(frozen=True)
class Session:
    """One row of heart.sessions.

    Something was said last at `last_at`, and that was reported at `heard_at`: an old conversation may be reported today. `turn_count`
    counts finished turns, `not_opened` says why the session has no episode yet.
    """

    agent_id: str
    session_key: UUID
    session_id: str
    started_at: datetime
    last_at: datetime
    heard_at: datetime
    ended_at: datetime | None = None
    ending: Ending | None = None
    turn_count: int = 0
    user_characters: int = 0
    assistant_characters: int = 0
    tools: tuple[str, ...] = ()
    asked_to_remember: bool = False
    frame_used: str | None = None
    episode_id: UUID | None = None
    not_opened: str | None = None


@dataclass(frozen=True)
class Turn:
    """One utterance. `position` counts from 1 within the session; `turn_id` is the reporter's own, if it has one."""

    agent_id: str
    session_key: UUID
    position: int
    speaker: str
    content: str
    said_at: datetime
    turn_id: str | None = None


@dataclass(frozen=True)
class Reported:
    """What a speaker said under a turn_id of a session, and when: a digest of it, None when words of it were forgotten."""

    session_key: UUID
    turn_id: str
    speaker: str
    said_at: datetime
    digest: bytes | None

    @property
    def is_forgotten(self) -> bool:
        """Words of it were forgotten, so that nobody can tell what it said."""
        return self.digest is None

    def says(self, content: str) -> bool:
        """Whether these are its words."""
        return self.digest == keys.turn_digest(self.session_key, self.turn_id, self.speaker, content)


_NAMES = many.columns(Session)
_COLUMNS = ", ".join(_NAMES)
_PUT = text(many.upserting("heart.sessions", _NAMES, key=("agent_id", "session_key"), fixed=("session_id", "started_at")))
_TURN = many.columns(Turn)
_REPORTED = "t.content AS said, k.turn_id IS NOT NULL AS is_known, k.digest, coalesce(k.said_at, t.said_at) AS said_at"
_ADD = text(
    many.inserting("heart.turns", _TURN)
    + " WHERE NOT EXISTS (SELECT FROM heart.turns_known k WHERE k.agent_id = q.agent_id AND k.session_key = q.session_key"
    " AND k.turn_id = q.turn_id AND k.speaker = q.speaker)"
    " ON CONFLICT (agent_id, session_key, turn_id, speaker) WHERE turn_id IS NOT NULL DO NOTHING RETURNING 1"
)


async def open_one(db: Read, agent: str, session_id: str) -> Session | None:
    """The agent's open session of this id."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM heart.sessions WHERE agent_id = :agent AND session_id = :session AND ended_at IS NULL"),
        {"agent": agent, "session": session_id},
    )
    row = rows.one_or_none()
    return _session(row) if row else None


async def get(db: Read, agent: str, session_key: UUID) -> Session | None:
    """The agent's session of this key, open or ended."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM heart.sessions WHERE agent_id = :agent AND session_key = :key"), {"agent": agent, "key": session_key}
    )
    row = rows.one_or_none()
    return _session(row) if row else None


async def latest(db: Read, agent: str, session_id: str) -> Session | None:
    """The agent's session of this id: the open one, or else the one that was reported last."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.sessions WHERE agent_id = :agent AND session_id = :session"
            " ORDER BY ended_at IS NULL DESC, heard_at DESC, session_key LIMIT 1"
        ),
        {"agent": agent, "session": session_id},
    )
    row = rows.one_or_none()
    return _session(row) if row else None


async def begun_in(db: Read, agent: str, session_id: str, turn_id: str) -> tuple[Session, Reported] | None:
    """The session of this id in which a user said something under this turn_id, and what: the open one, or that heard of last."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(f's.{name}' for name in _NAMES)}, {_REPORTED}"
            " FROM heart.sessions s LEFT JOIN heart.turns t ON t.agent_id = s.agent_id AND t.session_key = s.session_key"
            "  AND t.turn_id = :turn AND t.speaker = 'user'"
            " LEFT JOIN heart.turns_known k ON k.agent_id = s.agent_id AND k.session_key = s.session_key"
            "  AND k.turn_id = :turn AND k.speaker = 'user'"
            " WHERE s.agent_id = :agent AND s.session_id = :session AND (t.turn_id IS NOT NULL OR k.turn_id IS NOT NULL)"
            " ORDER BY s.ended_at IS NULL DESC, s.heard_at DESC LIMIT 1"
        ),
        {"agent": agent, "session": session_id, "turn": turn_id},
    )
    row = rows.one_or_none()
    return (_session(row), _reported(row, row.session_key, turn_id, "user")) if row else None


async def agents(db: Read, session_id: str, *, agent: str | None) -> list[str]:
    """Whose sessions are called so, or whether this agent's are; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT agent_id FROM heart.sessions WHERE session_id = :session"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY agent_id"
        ),
        {"session": session_id, "agent": agent},
    )
    return [row.agent_id for row in rows]


async def put(db: Write, session: Session) -> None:
    """Write a session down as it is now."""
    await db.execute(_PUT, many.packed([vars(session)]))


async def add_turn(db: Write, turn: Turn) -> Reported | None:
    """Add an utterance; when its turn_id was reported before, nothing is added, and what was said then is returned."""
    rows = await db.execute(_ADD, many.packed([vars(turn)]))
    if rows.one_or_none() is not None:
        return None
    found = await db.execute(
        text(
            f"SELECT {_REPORTED} FROM (VALUES (1)) one"
            " LEFT JOIN heart.turns t ON t.agent_id = :agent AND t.session_key = :key AND t.turn_id = :turn AND t.speaker = :speaker"
            " LEFT JOIN heart.turns_known k ON k.agent_id = :agent AND k.session_key = :key AND k.turn_id = :turn AND k.speaker = :speaker"
        ),
        {"agent": turn.agent_id, "key": turn.session_key, "turn": turn.turn_id, "speaker": turn.speaker},
    )
    return _reported(found.one(), turn.session_key, str(turn.turn_id), turn.speaker)


async def turns(db: Read, agent: str, session_key: UUID, *, last: int | None = None) -> list[Turn]:
    """What was said in a session, in order; of a long one the `last` utterances if that is given."""
    rows = await db.execute(
        text(
            f"SELECT * FROM (SELECT {', '.join(_TURN)} FROM heart.turns WHERE agent_id = :agent AND session_key = :key"
            " ORDER BY position DESC LIMIT :last) t ORDER BY position"
        ),
        {"agent": agent, "key": session_key, "last": last},
    )
    return [Turn(**row._mapping) for row in rows]


async def lengths(db: Read, agent: str, session_key: UUID) -> list[tuple[int, int]]:
    """The position of each utterance of a session, and how many characters it has, in order."""
    rows = await db.execute(
        text(
            "SELECT position, length(content) AS characters FROM heart.turns WHERE agent_id = :agent AND session_key = :key"
            " ORDER BY position"
        ),
        {"agent": agent, "key": session_key},
    )
    return [(row.position, row.characters) for row in rows]


async def turns_at(db: Read, agent: str, session_key: UUID, positions: Sequence[int]) -> list[Turn]:
    """What was said in a session at these positions, in order."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(_TURN)} FROM heart.turns WHERE agent_id = :agent AND session_key = :key"
            " AND position = ANY(CAST(:positions AS integer[])) ORDER BY position"
        ),
        {"agent": agent, "key": session_key, "positions": list(positions)},
    )
    return [Turn(**row._mapping) for row in rows]


async def first_said(db: Read, agent: str, session_key: UUID, *, speaker: str) -> str | None:
    """What this speaker said first in a session; None when they said nothing."""
    rows = await db.execute(
        text(
            "SELECT content FROM heart.turns WHERE agent_id = :agent AND session_key = :key AND speaker = :speaker"
            " ORDER BY position LIMIT 1"
        ),
        {"agent": agent, "key": session_key, "speaker": speaker},
    )
    row = rows.one_or_none()
    return str(row.content) if row else None


async def silent(db: Read, *, since: datetime, limit: int, after: Session | None = None) -> list[Session]:
    """Open sessions of which nothing was reported since then, the longest silent first; needs an overview.

    Those behind `after` in this order, if it is given.
    """
    behind = "(heard_at, agent_id, session_key) > (:heard_at, :agent, :key)" if after else "true"
    place = {"heard_at": after.heard_at, "agent": after.agent_id, "key": after.session_key} if after else {}
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.sessions WHERE ended_at IS NULL AND heard_at < :since AND {behind}"
            " ORDER BY heard_at, agent_id, session_key LIMIT :limit"
        ),
        {"since": since, "limit": limit, **place},
    )
    return [_session(row) for row in rows]


async def listed(db: Read, *, agent: str | None, limit: int | None) -> Sequence[Session]:
    """Sessions for a person to read, the latest first; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.sessions WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " ORDER BY last_at DESC, agent_id, session_id LIMIT :limit"
        ),
        {"agent": agent, "limit": limit},
    )
    return [_session(row) for row in rows]


def _session(row: Any) -> Session:
    return Session(**{**{name: row._mapping[name] for name in _NAMES}, "tools": tuple(row.tools)})


def _reported(row: Any, session_key: UUID, turn_id: str, speaker: str) -> Reported:
    """What is known of a turn without its words goes before what is at hand of it, which may be a part."""
    digest = row.digest if row.is_known else keys.turn_digest(session_key, turn_id, speaker, row.said)
    return Reported(session_key, turn_id, speaker, row.said_at, digest)
