"""Ending sessions: what becomes of a session's episode, and how one that was put aside comes back.

settled ─┬─ too little ─▶ its episode is put aside, and can be restored
         └─ otherwise ──▶ its episode is closed, and episode_closed is committed with it; a running worker publishes that
restore ─▶ an episode that was put aside is active, and closed if its session has ended
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from events import EpisodeClosed, EpisodeRestored, derived, encode
from nous import clock
from nous.errors import UserMistake
from store import episodes, outbox, sessions
from store.database import Write
from store.episodes import Episode
from store.outbox import Letter
from store.sessions import Ending, Session

from . import opening, significance
from .opening import Beginning, Tools

OUTCOME = "success"  # of a session whose end says no other (spec 000, A4)

Became = Literal["closed", "put_aside", "no_episode", "ended_before"]
"""What an end made of a session's episode: closed, and its summary follows; put aside as too little; there was none and none was
deserved; nothing, for the session had ended already."""


@dataclass(frozen=True)
class Ended:
    """A session that has ended. `letters` are committed: whoever holds a broker may send them, and a running worker does in any case."""

    session: Session
    became: Became
    episode: Episode | None = None
    letters: tuple[Letter, ...] = ()


async def settled(
    db: Write,
    tools: Tools,
    session: Session,
    beginning: Beginning,
    *,
    how: Ending,
    at: datetime,
    lesson: str | None = None,
    outcome: str | None = None,
) -> Ended:
    """The session, ended, with what becomes of its episode; one that is more than trivial and has none yet gets it now."""
    is_trivial = significance.is_trivial(opening.known(session))
    if session.episode_id is None and not is_trivial:
        session = await opening.opened(db, tools, session, beginning, why="it ended, and was more than a beginning")
    session = replace(session, ended_at=max(at, session.last_at), ending=how)
    await sessions.put(db, session)
    episode = await episodes.get(db, session.agent_id, session.episode_id) if session.episode_id else None
    if episode is None:
        return Ended(session, "no_episode")
    told = replace(
        episode,
        outcome=outcome or OUTCOME,
        lessons_learned=(lesson,) if lesson else (),
        frame_used=episode.frame_used or session.frame_used,
        turn_count=session.turn_count,
        tool_count=len(session.tools),
        recorded_at=clock.now(),
    )
    return await (_put_aside(db, session, told) if is_trivial else _closed(db, session, told))


async def _put_aside(db: Write, session: Session, episode: Episode) -> Ended:
    aside = replace(episode, active=False, put_aside=_too_little(opening.known(session)))
    await episodes.put(db, aside)
    return Ended(session, "put_aside", aside)


async def _closed(db: Write, session: Session, episode: Episode) -> Ended:
    closed = replace(episode, ended_at=session.ended_at)
    event = closing(closed)
    letter = Letter(agent_id=event.agent_id, event_id=event.event_id, stream=event.stream, body=encode(event))
    await episodes.put(db, closed)
    await outbox.insert(db, [letter], now=clock.now())
    return Ended(session, "closed", closed, (letter,))


async def ended_before(db: Write, session: Session, lesson: str | None, outcome: str | None) -> Ended:
    """What the end of a session that has ended finds; one that was given up takes its lesson and its outcome, once."""
    episode = await episodes.get(db, session.agent_id, session.episode_id) if session.episode_id else None
    if session.ending == "abandoned" and episode is not None and (lesson or outcome):
        lessons = (*episode.lessons_learned, *([lesson] if lesson else []))
        episode = replace(episode, lessons_learned=lessons, outcome=outcome or episode.outcome, recorded_at=clock.now())
        session = replace(session, ending="ended")
        await episodes.put(db, episode)
        await sessions.put(db, session)
    return Ended(session, "ended_before", episode)


def _too_little(known: significance.Session) -> str:
    turns = "no finished turn" if known.turns == 0 else "one turn"
    return f"{turns}, no tools, {known.characters} characters of {significance.MIN_CHARACTERS}, and not to be remembered"


async def restore(db: Write, told: EpisodeRestored) -> tuple[Episode, Episode, Sequence[EpisodeClosed]]:
    """Make an episode that was put aside active again: gives it before and after, and what follows, for the caller to commit with it.

    If its session has ended it is closed as that was; and `episode_closed` follows if it was never summarised.
    Raises UserMistake when there is no such episode and when it is active already.
    """
    before = await episodes.get(db, told.agent_id, told.episode_id)
    if before is None:
        raise UserMistake(f"agent {told.agent_id!r} has no episode {told.episode_id}")
    if before.active:
        raise UserMistake(f"episode {told.episode_id} is active, so there is nothing to restore")
    session = await sessions.get(db, told.agent_id, before.session_key) if before.session_key else None
    ended_at = before.ended_at or (session.ended_at if session else None)
    after = replace(before, active=True, put_aside=None, ended_at=ended_at, recorded_at=clock.now(), recorded_by=told.event_id)
    await episodes.put(db, after)
    is_owed = after.ended_at is not None and after.settled_by is None
    return before, after, [EpisodeClosed.following(told, **_closing(after))] if is_owed else []


def closing(episode: Episode) -> EpisodeClosed:
    """What is published of an episode whose session ended; its id follows from the episode's, so it is one event however often told."""
    event_id = derived(EpisodeClosed.stream, "session", episode.agent_id, str(episode.episode_id))
    return EpisodeClosed.model_validate({"event_id": event_id, "agent_id": episode.agent_id, **_closing(episode)})


def _closing(episode: Episode) -> dict[str, Any]:
    """What a closing says of an episode; its turns are the transcript."""
    return {
        "occurred_at": episode.ended_at,
        "episode_id": episode.episode_id,
        "started_at": episode.started_at,
        "outcome": episode.outcome,
        "turn_count": episode.turn_count,
        "tool_count": episode.tool_count,
        "lessons_learned": episode.lessons_learned,
        "frame_used": episode.frame_used,
    }
