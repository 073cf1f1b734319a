"""Which decisions belong to an episode, and how that is known.

named    its closing says so
session  made in the same session while the episode lasted
time     made while it lasted, and nobody knows in which session
mind     made within a day of it, and listed by whoever summarised it: by id, or in mostly the same words
"""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from nous.text import normalise
from store import decisions, sessions
from store.database import Read
from store.decisions import Decision
from store.episodes import Episode, How

LISTED_WITHIN = timedelta(days=1)
SHARED_WORDS = 3
SHARED_SHARE = 0.6
"""Of the words of the shorter of the two texts."""

_WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff]|\w+")


async def find(db: Read, episode: Episode, *, named: Iterable[UUID], listed: Sequence[str]) -> dict[UUID, How]:
    """The decisions that belong to an episode that has ended."""
    first, last = episode.started_at, episode.ended_at or episode.started_at
    session = await sessions.get(db, episode.agent_id, episode.session_key) if episode.session_key else None
    session_id = session.session_id if session else None
    found: dict[UUID, How] = dict.fromkeys(named, "named")
    for one in await decisions.between(db, episode.agent_id, first, last, session_id=session_id):
        found.setdefault(one.decision_id, "session" if session_id is not None and one.session_id == session_id else "time")
    if listed:
        near = await decisions.between(db, episode.agent_id, first - LISTED_WITHIN, last + LISTED_WITHIN)
        for one in near:
            if any(_is_meant(one, text) for text in listed):
                found.setdefault(one.decision_id, "mind")
    return found


def _is_meant(decision: Decision, text: str) -> bool:
    if str(decision.decision_id) in text:
        return True
    said, listed = set(_WORD.findall(normalise(decision.description))), set(_WORD.findall(normalise(text)))
    shared = len(said & listed)
    return shared >= SHARED_WORDS and shared >= SHARED_SHARE * min(len(said), len(listed))
