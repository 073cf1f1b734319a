"""Sessions: a conversation reported turn by turn and kept word for word, and what becomes of it when it ends.

    start_turn ──▶ the user's words, kept and counted ──▶ an episode, when there is none, one is deserved, and it is no duplicate
    end_turn ────▶ the assistant's words, kept and counted, with the tools used
    end_session ─┬─ too little ─▶ its episode is put aside, and can be restored
                 └─ otherwise ──▶ its episode is closed, and episode_closed is committed with it; a running worker publishes that
    close_silent ▶ the same end for sessions of which nothing was heard for a while
    restore ─────▶ an episode that was put aside is active, and closed if its session has ended

All of it is in Postgres. Each call is one transaction that holds the agent's lock and reads the session anew, so it does not matter
which process makes it, how many do at once, or which of them ended meanwhile. The embedder is asked before, with no transaction open.

The rules are the spec's (000, A and B): significance in recall/significance.py; a conversation that begins like another of the last 48
hours opens no episode, and never touches the other's. It gets one of its own, from its first turn on, once it is more than a beginning.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from events import EpisodeClosed, EpisodeRestored, derived, encode
from nous import clock, ids
from nous.errors import NousError, Outage, UserMistake
from nous.fence import without_recalled
from nous.settings import Settings
from nous.text import is_blank
from providers.embedder import Embedder
from store import episodes, outbox, sessions
from store.database import Database, Write
from store.episodes import Episode
from store.outbox import Letter
from store.sessions import Ending, Session, Turn
from store.vectors import Vector

from . import reported, significance
from .reported import Said

USER, ASSISTANT = "user", "assistant"
OPENING_CHARACTERS = 200  # of the user's first words: what duplicates are told by (spec 000, B2)
DUPLICATE_WINDOW = timedelta(hours=48)  # before the session began (spec 000, B1)
EMBEDDER_PATIENCE_S = 10.0  # a conversation waits no longer for the look at duplicates
OUTCOME = "success"  # of a session whose end says no other (spec 000, A4)
SILENT_AT_ONCE = 100

Became = Literal["closed", "put_aside", "no_episode", "ended_before"]
"""What an end made of a session's episode: closed, and its summary follows; put aside as too little; there was none and none was
deserved; nothing, for the session had ended already."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Tools:
    """What sessions are kept with. The embedder need not be open yet."""

    database: Database
    embedder: Embedder
    settings: Settings


@dataclass(frozen=True)
class Ended:
    """A session that has ended. `letters` are committed: whoever holds a broker may send them, and a running worker does in any case."""

    session: Session
    became: Became
    episode: Episode | None = None
    letters: tuple[Letter, ...] = ()


@dataclass(frozen=True)
class _Opening:
    """The first words of a conversation, and their vector if there is one."""

    words: str = ""
    vector: Vector | None = None


# ── turns ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def start_turn(
    tools: Tools,
    agent: str,
    session_id: str,
    said: str,
    *,
    at: datetime | None = None,
    turn_id: str | None = None,
    frame: str | None = None,
) -> Session:
    """A turn begins: keep what the user said, and open an episode if the session has none and deserves one.

    Begins the session when none of this id is open. `at` is when it was said, now if absent. Reported again under its `turn_id` within
    the session, it changes nothing. Gives the session as it is now: `episode_id`, or in `not_opened` why there is none yet.
    Raises UserMistake for an id or a time that does not do and for a text of more than 1,048,576 characters; Outage and Contended.
    """
    heard = reported.utterance(agent, session_id, USER, said, at=at, turn_id=turn_id)
    frame = reported.short("the frame", frame)
    opening = await _opening_at_start(tools, heard)
    async with tools.database.write([agent]) as db:
        session, is_new = await _kept(db, heard)
        if not is_new:
            return session
        asks = significance.asks_to_remember(heard.own, phrases=tools.settings.remember_phrases)
        session = replace(
            session,
            user_characters=session.user_characters + len(heard.own),
            asked_to_remember=session.asked_to_remember or asks,
            frame_used=session.frame_used or frame,
        )
        if session.episode_id is None:
            session = await _considered(db, tools, session, opening)
        await sessions.put(db, session)
    return session


async def end_turn(
    tools: Tools,
    agent: str,
    session_id: str,
    said: str,
    *,
    used: Iterable[str] = (),
    at: datetime | None = None,
    turn_id: str | None = None,
) -> Session:
    """A turn has ended: keep what the assistant said, and count the turn and the tools it used, by their names.

    Begins the session when none of this id is open, as after a long silence: no words are lost. Otherwise as `start_turn`.
    """
    heard = reported.utterance(agent, session_id, ASSISTANT, said, at=at, turn_id=turn_id)
    names = [name for tool in used if (name := reported.short("a tool's name", tool))]
    async with tools.database.write([agent]) as db:
        session, is_new = await _kept(db, heard)
        if not is_new:
            return session
        session = replace(
            session,
            turn_count=session.turn_count + 1,
            assistant_characters=session.assistant_characters + len(heard.own),
            tools=tuple(dict.fromkeys([*session.tools, *names])),
        )
        await sessions.put(db, session)
    return session


async def _kept(db: Write, heard: Said) -> tuple[Session, bool]:
    """The open session, or one that begins, with this utterance in it; and whether it was new."""
    session = await sessions.open_one(db, heard.agent, heard.session_id) or await _begun(db, heard)
    turn = Turn(
        agent_id=session.agent_id,
        session_key=session.session_key,
        position=await sessions.next_position(db, session.agent_id, session.session_key),
        speaker=heard.speaker,
        content=heard.content,
        said_at=heard.at,
        turn_id=heard.turn_id,
    )
    if not await sessions.add_turn(db, turn):
        return session, False
    return replace(session, last_at=max(session.last_at, heard.at), heard_at=clock.now()), True


async def _begun(db: Write, heard: Said) -> Session:
    """A new session, written down."""
    begun = Session(
        agent_id=heard.agent,
        session_key=ids.new(),
        session_id=heard.session_id,
        started_at=heard.at,
        last_at=heard.at,
        heard_at=clock.now(),
    )
    await sessions.put(db, begun)
    return begun


# ── opening ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _considered(db: Write, tools: Tools, session: Session, opening: _Opening) -> Session:
    """The session with its episode, if it deserves one now; a first turn deserves none of its own when it is a duplicate."""
    why = _why_open(tools, session)
    if why is None:
        return session
    is_only_a_beginning = session.turn_count == 0 and not session.asked_to_remember
    if is_only_a_beginning and (duplicate := await _duplicate(db, tools, session, opening)):
        log.debug("episode.skipped", agent=session.agent_id, session=session.session_id, why=duplicate)
        return replace(session, not_opened=duplicate)
    return await _opened(db, tools, session, opening, why=why)


def _why_open(tools: Tools, session: Session) -> str | None:
    """Why it deserves an episode, if it does; one that was taken for a duplicate has had its first turn."""
    if session.not_opened is not None and session.turn_count == 0 and not session.asked_to_remember:
        return None
    return significance.why_open(_known(session), prior_turns=tools.settings.episode_prior_turns)


async def _duplicate(db: Write, tools: Tools, session: Session, opening: _Opening) -> str | None:
    """Which conversation of the last 48 hours began with the same words, in a sentence; None when none did, or that cannot be told."""
    if opening.vector is None:
        return None
    since, most = session.started_at - DUPLICATE_WINDOW, tools.embedder.episode_similarity
    near = await episodes.nearest_opening(db, session.agent_id, opening.vector, embedder=tools.embedder.name, since=since)
    if near is None or near[1] <= most:
        return None
    return f"it begins like episode {near[0]}: cosine {near[1]:.4f}, and above {most} is a duplicate"


async def _opened(db: Write, tools: Tools, session: Session, opening: _Opening, *, why: str) -> Session:
    """The session with an episode of its own, from its first turn on."""
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


async def _opening_at_start(tools: Tools, heard: Said) -> _Opening:
    """What the session began with, or begins with now; nothing while it has an episode."""
    async with tools.database.read([heard.agent]) as db:
        session = await sessions.open_one(db, heard.agent, heard.session_id)
        if session is None:
            first = heard.content
        elif session.episode_id is not None:
            return _Opening()
        else:
            first = await sessions.first_said(db, heard.agent, session.session_key, speaker=USER) or heard.content
    return await _opening(tools, first)


async def _opening_at_end(tools: Tools, session: Session) -> _Opening:
    """What a session began with that ends with an episode it does not have yet; nothing for any other."""
    if session.episode_id is not None or session.ended_at is not None or significance.is_trivial(_known(session)):
        return _Opening()
    async with tools.database.read([session.agent_id]) as db:
        first = await sessions.first_said(db, session.agent_id, session.session_key, speaker=USER)
    return await _opening(tools, first or "")


async def _opening(tools: Tools, said: str) -> _Opening:
    """How this begins, with its vector; without one when the embedder fails or dawdles, for no conversation waits for that."""
    words = _beginning(said)
    if is_blank(words):
        return _Opening(words)
    try:
        async with asyncio.timeout(EMBEDDER_PATIENCE_S):
            await tools.embedder.open()
            (vector,) = await tools.embedder.embed([words])
    except (NousError, TimeoutError) as error:
        reason = str(error) or f"no vector within {EMBEDDER_PATIENCE_S:g} s"
        log.warning("episode.uncompared", embedder=tools.embedder.name, reason=reason, next="opened without a look at duplicates")
        return _Opening(words)
    return _Opening(words, vector)


def _beginning(said: str) -> str:
    """Its first words, without what was recalled into it."""
    return without_recalled(said).strip()[:OPENING_CHARACTERS]


def _known(session: Session) -> significance.Session:
    return significance.Session(
        turns=session.turn_count,
        tools=frozenset(session.tools),
        user_characters=session.user_characters,
        assistant_characters=session.assistant_characters,
        asked_to_remember=session.asked_to_remember,
    )


# ── the end ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def end_session(
    tools: Tools, agent: str, session_id: str, *, reflection: str | None = None, outcome: str | None = None, at: datetime | None = None
) -> Ended:
    """The session is over: its episode is closed and its summary will follow, or it was too little and is put aside.

    Of `reflection` the first 500 characters are its lesson; `outcome` is "success" if absent. Ending it again changes nothing and says
    `ended_before`, so that a caller may retry; only a session that was given up for silence still takes the lesson it is owed.
    Raises UserMistake for a session that was never reported and for an id, a time or an outcome that does not do; Outage and Contended.
    """
    reported.require_ids(agent, session_id)
    lesson, outcome, until = reported.lesson(reflection), reported.short("the outcome", outcome), reported.moment(at)
    async with tools.database.read([agent]) as db:
        found = await sessions.latest(db, agent, session_id)
    if found is None:
        raise UserMistake(f"agent {agent!r} has no session {session_id!r}; a session begins with its first turn")
    opening = await _opening_at_end(tools, found)
    async with tools.database.write([agent]) as db:
        session = await sessions.get(db, agent, found.session_key) or found
        if session.ended_at is not None:
            return await _ended_before(db, session, lesson, outcome)
        return await _settled(db, tools, session, opening, ending="ended", at=until, lesson=lesson, outcome=outcome)


async def close_silent(tools: Tools, *, limit: int = SILENT_AT_ONCE) -> list[Ended]:
    """End sessions of which nothing was heard for `session_silence_s`, the longest silent first and at most so many; gives those ended.

    Each ends as of what was said last. Harmless to do in several processes at once. Raises Outage; a session that cannot be ended for
    another reason is logged and does not keep the others.
    """
    since = clock.now() - timedelta(seconds=tools.settings.session_silence_s)
    async with tools.database.overview() as db:
        found = await sessions.silent(db, since=since, limit=limit)
    ended = []
    for session in found:
        try:
            if one := await _given_up(tools, session, since):
                ended.append(one)
        except Outage:
            raise
        except Exception:
            log.exception("session.unsettled", agent=session.agent_id, session=session.session_id, next="tried again by itself")
    if ended:
        log.info("session.abandoned", count=len(ended), closed=sum(one.became == "closed" for one in ended))
    return ended


async def _given_up(tools: Tools, silent: Session, since: datetime) -> Ended | None:
    """The session, ended as abandoned; None when another was quicker, or when it was heard of again."""
    opening = await _opening_at_end(tools, silent)
    async with tools.database.write([silent.agent_id]) as db:
        session = await sessions.get(db, silent.agent_id, silent.session_key)
        if session is None or session.ended_at is not None or session.heard_at >= since:
            return None
        return await _settled(db, tools, session, opening, ending="abandoned", at=session.last_at)


async def _settled(
    db: Write,
    tools: Tools,
    session: Session,
    opening: _Opening,
    *,
    ending: Ending,
    at: datetime,
    lesson: str | None = None,
    outcome: str | None = None,
) -> Ended:
    """The session, ended, with what becomes of its episode; one that is more than trivial and has none yet gets it now."""
    is_trivial = significance.is_trivial(_known(session))
    if session.episode_id is None and not is_trivial:
        session = await _opened(db, tools, session, opening, why="it ended, and was more than a beginning")
    session = replace(session, ended_at=max(at, session.last_at), ending=ending)
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
    aside = replace(episode, active=False, put_aside=_too_little(_known(session)))
    await episodes.put(db, aside)
    return Ended(session, "put_aside", aside)


async def _closed(db: Write, session: Session, episode: Episode) -> Ended:
    closed = replace(episode, ended_at=session.ended_at)
    event = closing(closed)
    letter = Letter(agent_id=event.agent_id, event_id=event.event_id, stream=event.stream, body=encode(event))
    await episodes.put(db, closed)
    await outbox.insert(db, [letter], now=clock.now())
    return Ended(session, "closed", closed, (letter,))


async def _ended_before(db: Write, session: Session, lesson: str | None, outcome: str | None) -> Ended:
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


# ── restoring ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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
