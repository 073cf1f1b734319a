"""Known turns: turns that are recognised when they are reported again, though their words are not at hand. Ids and digests, never words.

    a turn is put away or cut ──keep──▶ its id, with a digest of what it said ──have_again──▶ gone: it is at hand as it was said
    words of it are forgotten ──forget─▶ its id alone: nothing more is taken under it in that session

Who looks there is store/sessions.py.
"""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import keys, many
from .database import Erase, Write
from .sessions import Turn

_TABLE = "heart.turns_known"
_KEY = ("agent_id", "session_key", "turn_id", "speaker")
_NAMES = (*_KEY, "said_at", "digest")
_KEEP = text(many.inserting(_TABLE, _NAMES) + " ON CONFLICT DO NOTHING")
_FORGET = text(many.upserting(_TABLE, _NAMES, key=_KEY, fixed=("said_at",)))


async def keep(db: Write, turns: Iterable[Turn]) -> None:
    """Recognise these turns from now on; one without a turn_id cannot be, and one that is known stays as it is."""
    rows = [_row(one, keys.turn_digest(one.session_key, one.turn_id, one.speaker, one.content)) for one in turns if one.turn_id is not None]
    if rows:
        await db.execute(_KEEP, many.packed(rows))


async def have_again(db: Erase, agent: str, session_key: UUID) -> None:
    """The turns of a session are at hand as they were said; those of which words were forgotten stay known."""
    await db.execute(
        text(f"DELETE FROM {_TABLE} WHERE agent_id = :agent AND session_key = :key AND digest IS NOT NULL"),
        {"agent": agent, "key": session_key},
    )


async def forget(db: Erase, turns: Iterable[Turn]) -> None:
    """Of these turns keep the id and the time alone."""
    rows = {(one.session_key, one.turn_id, one.speaker): _row(one, None) for one in turns if one.turn_id is not None}
    if rows:
        await db.execute(_FORGET, many.packed(rows.values()))


async def forget_all(db: Erase, agent: str, session_key: UUID) -> None:
    """Of every known turn of a session keep the id alone: which of them said what was forgotten, nobody can tell any more."""
    await db.execute(
        text(f"UPDATE {_TABLE} SET digest = NULL WHERE agent_id = :agent AND session_key = :key AND digest IS NOT NULL"),
        {"agent": agent, "key": session_key},
    )


def _row(turn: Turn, digest: bytes | None) -> dict[str, Any]:
    return {**{name: getattr(turn, name) for name in (*_KEY, "said_at")}, "digest": digest}
