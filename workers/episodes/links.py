"""Which decisions belong to an episode, and how that is known.

named    its closing says so
session  made in the same session while the episode lasted
time     made while it lasted, and nobody knows in which session
mind     made within a day of it, and listed by whoever summarised it: by id, or in mostly the same words

Streams have no order among each other, so a decision may be recorded before its episode is settled or after: the same rule is asked
from both ends.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from nous import clock
from nous.text import UNSPACED, normalise
from store import decisions, sessions
from store.database import Read
from store.decisions import Decision, Ended, Key
from store.episodes import Episode, How

LISTED_WITHIN = timedelta(days=1)
SHARED_WORDS = 3
SHARED_SHARE = 0.6
"""Of the words of the shorter of the two texts."""

_WORD = re.compile(f"{UNSPACED.pattern}|(?:(?!{UNSPACED.pattern})\\w)+")


async def find(db: Read, episode: Episode, *, named: Iterable[UUID], listed: Sequence[str]) -> dict[UUID, How]:
    """The decisions that belong to an episode that has ended."""
    first, last = episode.started_at, episode.ended_at or episode.started_at
    session = await sessions.get(db, episode.agent_id, episode.session_key) if episode.session_key else None
    ended = Ended(episode.episode_id, first, last, session.session_id if session else None, episode.model)
    within = LISTED_WITHIN if listed else timedelta()
    found: dict[UUID, How] = dict.fromkeys(named, "named")
    for one in await decisions.between(db, episode.agent_id, clock.earlier(first, within), clock.later(last, within)):
        if how := _how(one, ended) or _as_listed(one, listed):
            found.setdefault(one.decision_id, how)
    return found


async def find_episodes(db: Read, among: Sequence[Decision]) -> dict[Key, dict[UUID, How]]:
    """The episodes that have ended and to which each of these decisions belongs, without those it is linked to."""
    if not among:
        return {}
    near = await decisions.unlinked(db, among, LISTED_WITHIN)
    return {key: await _belonging(db, one, near[key]) for one in among if (key := (one.agent_id, one.decision_id)) in near}


async def _belonging(db: Read, decision: Decision, near: Sequence[Ended]) -> dict[UUID, How]:
    found = {one.episode_id: how for one in near if (how := _how(decision, one))}
    others = [one for one in near if one.episode_id not in found]
    listed = await decisions.mentioned(db, decision.agent_id, others)
    return found | {episode: how for episode, texts in listed.items() if (how := _as_listed(decision, texts))}


def _how(decision: Decision, episode: Ended) -> How | None:
    """How a decision and an episode belong together by when, and in which session, they were; None when they do not."""
    if episode.started_at <= decision.decided_at <= episode.ended_at:
        if episode.session_id is not None and decision.session_id == episode.session_id:
            return "session"
        if episode.session_id is None or decision.session_id is None:
            return "time"
    return None


def _as_listed(decision: Decision, listed: Iterable[str]) -> How | None:
    return "mind" if any(_is_meant(decision, text) for text in listed) else None


def _is_meant(decision: Decision, text: str) -> bool:
    if str(decision.decision_id) in text:
        return True
    said, listed = set(_WORD.findall(normalise(decision.description))), set(_WORD.findall(normalise(text)))
    shared = len(said & listed)
    return shared >= SHARED_WORDS and shared >= SHARED_SHARE * min(len(said), len(listed))
