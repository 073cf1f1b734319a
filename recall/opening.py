"""Opening episodes: how a conversation begins, whether it deserves an episode, and whether another began like it.

    how it begins, with its vector ─▶ why_open? ─▶ like another of the last 48 hours? ─┬─ no ──▶ an episode, from its first turn on
                                                                                      └─ yes ─▶ none yet, and the session says why

The embedder is asked before any transaction is open. The other's episode is never touched or taken. A conversation that was taken for
another's gets an episode of its own once it is more than a beginning (spec 000, B).
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from nous import clock, ids
from nous.fence import without_recalled
from nous.text import is_blank
from store import episodes, sessions
from store.database import Write
from store.episodes import Episode
from store.sessions import Session
from store.vectors import Vector

from . import significance
from .reported import USER, Said
from .tools import Tools
from .vectors import tried

OPENING_CHARACTERS = 200  # of the user's first words: what duplicates are told by (spec 000, B2)
DUPLICATE_WINDOW = timedelta(hours=48)  # before the session began (spec 000, B1)
AT_ONCE = timedelta(minutes=1)  # of two that begin at once, the one that began later may be kept first

log = structlog.get_logger()


@dataclass(frozen=True)
class Beginning:
    """The first words of a conversation, and their vector if there is one."""

    words: str = ""
    vector: Vector | None = None


async def consider(db: Write, tools: Tools, session: Session, opening: Beginning) -> Session:
    """Open an episode if the session deserves one now; a first turn deserves none of its own when it is a duplicate."""
    why = _why_open(tools, session)
    if why is None:
        return session
    is_only_a_beginning = session.turn_count == 0 and not session.asked_to_remember
    if is_only_a_beginning and (duplicate := await _duplicate(db, tools, session, opening)):
        log.debug("episode.skipped", agent=session.agent_id, session=session.session_id, why=duplicate)
        return replace(session, not_opened=duplicate)
    return await open_episode(db, tools, session, opening, why=why)


def _why_open(tools: Tools, session: Session) -> str | None:
    """Why it deserves an episode, if it does; one that was taken for a duplicate has had its first turn."""
    if session.not_opened is not None and session.turn_count == 0 and not session.asked_to_remember:
        return None
    return significance.why_open(known(session), prior_turns=tools.settings.episode_prior_turns)


async def _duplicate(db: Write, tools: Tools, session: Session, opening: Beginning) -> str | None:
    """Which conversation of the 48 hours before it began with the same words, in a sentence; None when none did, or nobody can tell."""
    if opening.vector is None:
        return None
    most = tools.embedder.episode_similarity
    near = await episodes.nearest_opening(
        db,
        session.agent_id,
        opening.vector,
        embedder=tools.embedder.name,
        since=clock.earlier(session.started_at, DUPLICATE_WINDOW),
        until=session.started_at + AT_ONCE,
    )
    if near is None or near[1] <= most:
        return None
    return f"it begins like episode {near[0]}: cosine {near[1]:.4f}, and above {most} is a duplicate"


async def open_episode(db: Write, tools: Tools, session: Session, opening: Beginning, *, why: str) -> Session:
    """Give the session an episode of its own, from its first turn on; the session itself is the caller's to put."""
    said = await sessions.first_said(db, session.agent_id, session.session_key, speaker=USER)
    words, now = _beginning(said or ""), clock.now()
    episode = Episode(
        agent_id=session.agent_id,
        episode_id=ids.derived("episode", session.agent_id, str(session.session_key)),
        trigger="user_message",
        started_at=session.started_at,
        created_at=now,
        recorded_at=now,
        recorded_by=f"session:{session.session_key}",
        session_key=session.session_key,
        frame_used=session.frame_used,
        opening=words or None,
    )
    await episodes.put(db, episode)
    if opening.vector is not None and opening.words == words:
        embedder = tools.embedder.name
        await episodes.put_vector(db, session.agent_id, episode.episode_id, "opening", embedder=embedder, vector=opening.vector)
    log.debug("episode.opened", agent=session.agent_id, session=session.session_id, episode=str(episode.episode_id), why=why)
    return replace(session, episode_id=episode.episode_id, not_opened=None)


async def at_start(tools: Tools, heard: Said) -> Beginning:
    """What the session began with, or begins with now; nothing while it has an episode."""
    async with tools.database.read([heard.agent]) as db:
        session = await sessions.open_one(db, heard.agent, heard.session_id)
        if session is None:
            first = heard.content
        elif session.episode_id is not None:
            return Beginning()
        else:
            first = await sessions.first_said(db, heard.agent, session.session_key, speaker=USER) or heard.content
    return await _with_vector(tools, first)


async def at_end(tools: Tools, session: Session) -> Beginning:
    """What a session began with that ends with an episode it does not have yet; nothing for any other."""
    if session.episode_id is not None or session.ended_at is not None or significance.is_trivial(known(session)):
        return Beginning()
    async with tools.database.read([session.agent_id]) as db:
        first = await sessions.first_said(db, session.agent_id, session.session_key, speaker=USER)
    return await _with_vector(tools, first or "")


async def _with_vector(tools: Tools, said: str) -> Beginning:
    """How this begins, with its vector; without one when the embedder fails or dawdles, for no conversation waits for that."""
    words = _beginning(said)
    if is_blank(words):
        return Beginning(words)
    vectors, reason = await tried(tools.vectors, [words], within_s=tools.settings.recall_patience_s)
    if vectors is None:
        log.warning("episode.uncompared", embedder=tools.embedder.name, reason=reason, next="opened without a look at duplicates")
        return Beginning(words)
    return Beginning(words, vectors[0])


def _beginning(said: str) -> str:
    """Its first words, without what was recalled into it."""
    return without_recalled(said).strip()[:OPENING_CHARACTERS]


def known(session: Session) -> significance.Session:
    """What the session's worth is judged by."""
    return significance.Session(
        turns=session.turn_count,
        tools=frozenset(session.tools),
        user_characters=session.user_characters,
        assistant_characters=session.assistant_characters,
        asked_to_remember=session.asked_to_remember,
    )
