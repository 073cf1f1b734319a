"""Ending sessions: what becomes of a session's episode, and how one that was put aside comes back.

settle ──┬─ too little ──────▶ its episode is put aside, and can be restored
         ├─ summarised ──────▶ its agent closed it before: it keeps what it has, and is summarised again if the session went on
         └─ otherwise ───────▶ its episode is closed, and episode_closed is committed with it; a running worker publishes that
end_again ▶ a session that was given up takes the lesson and the outcome it was owed
close_with_more ▶ a session whose last turn was answered after its end is settled again, with the answer
restore ──▶ an episode that was put aside is active, and closed if its session has ended
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from events import EpisodeClosed, EpisodeRestored, derived
from nous import clock
from nous.errors import UserMistake
from store import episodes, outbox, sessions
from store.database import Write
from store.episodes import Episode
from store.outbox import Letter
from store.sessions import Ending, Session

from . import opening, significance
from .opening import Beginning
from .tools import Tools

OUTCOME = "success"  # of a session whose end says no other (spec 000, A4)

Became = Literal["closed", "closed_before", "closed_again", "put_aside", "no_episode", "ended_before", "amended", "not_kept"]
"""What an end made of a session's episode.

closed         it is closed, and its summary follows
closed_before  its agent had closed it, and it has its summary
closed_again   its agent had closed it, and the session went on: what was said since is in no summary, so another follows
put_aside      it was too little
no_episode     there was none, and none was deserved
ended_before   nothing, for the session had ended already, and nothing was said that is not kept
amended        the session had been given up, and its episode took the lesson and the outcome now
not_kept       the session had ended already, and the lesson or the outcome that came now is not kept
"""


@dataclass(frozen=True)
class Ended:
    """A session that has ended. `letters` are committed: whoever holds a broker may send them, and a running worker does in any case."""

    session: Session
    became: Became
    episode: Episode | None = None
    letters: tuple[Letter, ...] = ()


async def settle(
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
    """End the session, with what becomes of its episode; one with a lesson or more than trivial that has none yet gets it now."""
    is_trivial = significance.is_trivial(opening.known(session))
    if session.episode_id is None and (lesson or not is_trivial):
        why = "it ended with a lesson" if is_trivial else "it ended, and was more than a beginning"
        session = await opening.open_episode(db, tools, session, beginning, why=why)
    is_again = session.ended_at is not None
    session = replace(session, ended_at=max(at, session.last_at), ending=how)
    await sessions.put(db, session)
    before = await _episode(db, session)
    if before is None:
        return Ended(session, "no_episode")
    episode = _with_its_end(before, session, lesson, outcome)
    if before.settled_by and not (is_again or _went_on(before, session)):
        return await _keep_closed(db, session, episode)
    if before.settled_by:
        return await _close_again(db, session, episode, is_again=is_again)
    is_closed = before.ended_at is not None
    if is_trivial and not is_closed:
        return await _put_aside(db, session, episode)
    return await _close(db, session, replace(episode, active=True, put_aside=None), is_again=is_again)


async def _episode(db: Write, session: Session) -> Episode | None:
    return await episodes.get(db, session.agent_id, session.episode_id) if session.episode_id else None


def _with_its_end(episode: Episode, session: Session, lesson: str | None, outcome: str | None) -> Episode:
    """The episode with what the end of its session says; what it has already stays, unless the end says another outcome."""
    return replace(
        episode,
        outcome=outcome or episode.outcome or OUTCOME,
        lessons_learned=_lessons(episode, lesson),
        frame_used=episode.frame_used or session.frame_used,
        turn_count=max(session.turn_count, episode.turn_count or 0),
        tool_count=max(len(session.tools), episode.tool_count or 0),
        recorded_at=clock.now(),
    )


def _lessons(episode: Episode, lesson: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*episode.lessons_learned, *([lesson] if lesson else [])]))


def _went_on(episode: Episode, session: Session) -> bool:
    """Whether something was said after the episode was closed, or reported after it was summarised."""
    is_longer = episode.ended_at is not None and session.last_at > episode.ended_at
    return is_longer or session.heard_at > episode.recorded_at


async def _put_aside(db: Write, session: Session, episode: Episode) -> Ended:
    aside = replace(episode, active=False, put_aside=_too_little(opening.known(session)))
    await episodes.put(db, aside)
    return Ended(session, "put_aside", aside)


async def _close(db: Write, session: Session, episode: Episode, *, is_again: bool) -> Ended:
    closed = replace(episode, ended_at=_ended_at(episode, session))
    event = closing(closed, *([str(session.turn_count)] if is_again else []))
    letter = outbox.letter(event)
    await episodes.put(db, closed)
    await outbox.insert(db, [letter], now=clock.now())
    return Ended(session, "closed", closed, (letter,))


def _ended_at(episode: Episode, session: Session) -> datetime | None:
    """When it was closed; when its session ended, if it was not closed or more was said after that."""
    is_closed = episode.ended_at is not None and session.last_at <= episode.ended_at
    return episode.ended_at if is_closed else session.ended_at


async def _keep_closed(db: Write, session: Session, episode: Episode) -> Ended:
    closed = replace(episode, ended_at=_ended_at(episode, session))
    await episodes.put(db, closed)
    return Ended(session, "closed_before", closed)


async def _close_again(db: Write, session: Session, episode: Episode, *, is_again: bool) -> Ended:
    """Have a summarised episode summarised anew, from all its turns; until then it has the summary it has."""
    ended = await _close(db, session, replace(episode, settled_by=None), is_again=is_again)
    return replace(ended, became="closed_again")


async def end_again(db: Write, tools: Tools, session: Session, *, lesson: str | None, outcome: str | None) -> Ended:
    """End a session that has ended: one that was given up takes the lesson and the outcome it was owed, once; no other changes.

    One that was too little for an episode gets one for its lesson, and that is put aside.
    """
    episode = await _episode(db, session)
    is_owed = session.ending == "abandoned" and (lesson or (outcome and episode))
    if not is_owed:
        return Ended(session, "ended_before" if _has(episode, lesson, outcome) else "not_kept", episode)
    if episode is None:
        ended = await settle(db, tools, session, Beginning(), how="ended", at=session.last_at, lesson=lesson, outcome=outcome)
        return replace(ended, became="amended")
    session, episode = replace(session, ending="ended"), _with_its_end(episode, session, lesson, outcome)
    await sessions.put(db, session)
    await episodes.put(db, episode)
    return Ended(session, "amended", episode)


async def close_with_more(db: Write, tools: Tools, session: Session) -> Session:
    """Settle a session again that had ended, and in which more was said since than it was settled with."""
    return (await settle(db, tools, session, Beginning(), how=session.ending or "ended", at=session.ended_at or session.last_at)).session


def _has(episode: Episode | None, lesson: str | None, outcome: str | None) -> bool:
    """Whether the episode has this lesson and this outcome, as far as there are any."""
    if episode is None:
        return not (lesson or outcome)
    return (not lesson or lesson in episode.lessons_learned) and (not outcome or outcome == episode.outcome)


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


def closing(episode: Episode, *again: str) -> EpisodeClosed:
    """What is published of an episode whose session ended; its id follows from the episode's, so it is one event however often told.

    `again` tells apart a closing with more than the one before had: workers do nothing twice for one id.
    """
    event_id = derived(EpisodeClosed.stream, "session", episode.agent_id, str(episode.episode_id), *again)
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
