"""Sessions: a conversation reported turn by turn and kept word for word, and what becomes of it when it ends.

    start_turn ──▶ the user's words, kept and counted ──▶ an episode, when there is none, one is deserved, and it is no duplicate
    end_turn ────▶ the assistant's words, kept and counted, with the tools used
    end_session ─┬─ too little ─▶ its episode is put aside, and can be restored
                 └─ otherwise ──▶ its episode is closed, and episode_closed is committed with it; a running worker publishes that
    close_silent ▶ the same end for sessions of which nothing was heard for a while

What an utterance belongs to, by its turn_id:

    an answer ──────────▶ the session in which its turn began, open or ended; one that had ended is closed again, with it
    a user's words ─┬─ a session is open ────────────────────────────────▶ that one
                    ├─ said so, under this id, as the last one was ending,
                    │  or at this very moment ──────────────────────────▶ that one: they are told again, and change nothing
                    └─ otherwise ────────────────────────────────────────▶ a session that begins with them

A turn is recognised though its words are put away or let go of; one of which words were forgotten is refused.

All of it is in Postgres. Each call is one transaction that holds the agent's lock and reads the session anew, so it does not matter
which process makes it, how many do at once, or which of them ended meanwhile. The embedder is asked before, with no transaction open.

How an episode is opened is in opening.py, how a session ends in ending.py, and which conversations are worth an episode in
significance.py. The rules are the spec's (000, A and B).
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from nous import clock, ids
from nous.errors import Outage, UserMistake
from store import outbox, sessions, transcripts
from store.database import Write
from store.outbox import Letter
from store.sessions import Session, Turn

from . import ending, opening, reported, significance
from .ending import Ended
from .reported import ASSISTANT, USER, Said
from .tools import Tools

SILENT_AT_ONCE = 100
TOLD_AGAIN_WITHIN = timedelta(hours=1)
"""The same words under the same id later on are the next conversation, that numbers its turns anew; unless said in one moment."""

log = structlog.get_logger()


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

    Begins the session when none of this id is open. `at` is when it was said, now if absent. Reported again under its `turn_id`, within
    the session or soon after its end, it changes nothing. Gives the session as it is now: `episode_id`, or in `not_opened` why there is
    none yet.
    Raises UserMistake for an id or a time that does not do and for a text of more than 1,048,576 characters; Outage and Contended.
    """
    heard = reported.utterance(agent, session_id, USER, said, at=at, turn_id=turn_id)
    frame = reported.short("the frame", frame)
    beginning = await opening.at_start(tools, heard)
    async with tools.database.write([agent]) as db:
        session, is_new = await _keep(db, heard)
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
            session = await opening.consider(db, tools, session, beginning)
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
    letters: Sequence[Letter] = (),
) -> Session:
    """A turn has ended: keep what the assistant said, and count the turn and the tools it used, by their names.

    A turn that began before its session ended is answered there, and the session is closed again. Begins the session when nobody began
    the turn and none of this id is open: no words are lost. `letters` tell of the answer, and are committed with it. Otherwise as
    `start_turn`.
    """
    heard = reported.utterance(agent, session_id, ASSISTANT, said, at=at, turn_id=turn_id)
    names = [name for tool in used if (name := reported.short("a tool's name", tool))]
    async with tools.database.write([agent]) as db:
        session, is_new = await _keep(db, heard)
        await outbox.insert(db, letters, now=clock.now())
        if not is_new:
            return session
        session = replace(
            session,
            turn_count=session.turn_count + 1,
            assistant_characters=session.assistant_characters + len(heard.own),
            tools=tuple(dict.fromkeys([*session.tools, *names])),
        )
        if session.ended_at is not None:
            return await ending.close_with_more(db, tools, session)
        await sessions.put(db, session)
    return session


async def _keep(db: Write, heard: Said) -> tuple[Session, bool]:
    """Keep this utterance in the session it belongs to; gives the session, and whether the utterance was new."""
    session = await _session_of(db, heard) or await _begin(db, heard)
    turn = Turn(
        agent_id=session.agent_id,
        session_key=session.session_key,
        position=await transcripts.next_position(db, session.agent_id, session.session_key),
        speaker=heard.speaker,
        content=heard.content,
        said_at=heard.at,
        turn_id=heard.turn_id,
    )
    known = await sessions.add_turn(db, turn)
    if known is not None and known.is_forgotten:
        raise UserMistake(
            f"turn {heard.turn_id!r} of session {heard.session_id!r} was reported before, and words of it were forgotten since, so what"
            " comes under its id is not kept; a turn that is no retry needs another id, or none"
        )
    if known is not None and not known.says(heard.content):
        raise UserMistake(
            f"turn {heard.turn_id!r} of session {heard.session_id!r} was reported before with other words, so these were not kept; a turn"
            " that is no retry needs another id, or none"
        )
    if known is not None:
        return session, False
    return replace(session, last_at=max(session.last_at, heard.at), heard_at=clock.now()), True


async def _session_of(db: Write, heard: Said) -> Session | None:
    """The session this utterance belongs to; None when one begins with it."""
    is_open = await sessions.open_one(db, heard.agent, heard.session_id)
    if heard.turn_id is None or (is_open and heard.speaker == USER):
        return is_open
    begun = await sessions.begun_in(db, heard.agent, heard.session_id, heard.turn_id)
    if begun is None:
        return is_open
    session, known = begun
    may_be = known.is_forgotten or known.says(heard.content)
    is_told_again = may_be and (known.said_at == heard.at or clock.now() - session.heard_at < TOLD_AGAIN_WITHIN)
    return session if heard.speaker == ASSISTANT or is_told_again else None


async def _begin(db: Write, heard: Said) -> Session:
    """Write down a new session."""
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


async def end_session(
    tools: Tools, agent: str, session_id: str, *, reflection: str | None = None, outcome: str | None = None, at: datetime | None = None
) -> Ended:
    """The session is over: its episode is closed and its summary will follow, or it was too little and is put aside.

    Of `reflection` the first 500 characters are its lesson; `outcome` is "success" if absent and the episode has none. Ending it again
    changes nothing and says `ended_before`, so that a caller may retry, or `not_kept` if it brings another lesson or outcome; only a
    session that was given up for silence still takes those, once, and says `amended`.
    Raises UserMistake for a session that was never reported and for an id, a time or an outcome that does not do; Outage and Contended.
    """
    reported.require_ids(agent, session_id)
    lesson, outcome, until = reported.lesson(reflection), reported.short("the outcome", outcome), reported.moment(at)
    async with tools.database.read([agent]) as db:
        found = await sessions.latest(db, agent, session_id)
    if found is None:
        raise UserMistake(f"agent {agent!r} has no session {session_id!r}; a session begins with its first turn")
    beginning = await opening.at_end(tools, found)
    async with tools.database.write([agent]) as db:
        session = await sessions.get(db, agent, found.session_key) or found
        if session.ended_at is not None:
            return await ending.end_again(db, tools, session, lesson=lesson, outcome=outcome)
        return await ending.settle(db, tools, session, beginning, how="ended", at=until, lesson=lesson, outcome=outcome)


async def close_silent(tools: Tools, *, limit: int = SILENT_AT_ONCE) -> list[Ended]:
    """End sessions of which nothing was heard for `session_silence_s`, the longest silent first and at most so many; gives those ended.

    Each ends as of what was said last. Harmless to do in several processes at once. Raises Outage; a session that cannot be ended for
    another reason is logged and does not keep the others, however many of its kind there are.
    """
    since = clock.earlier(clock.now(), timedelta(seconds=tools.settings.session_silence_s))
    ended: list[Ended] = []
    async for session in _silent(tools, since):
        if one := await _try_to_give_up(tools, session, since):
            ended.append(one)
        if len(ended) == limit:
            break
    if ended:
        log.info("session.abandoned", count=len(ended), closed=sum(bool(one.letters) for one in ended))
    return ended


async def _silent(tools: Tools, since: datetime) -> AsyncIterator[Session]:
    """Every silent session once, a page at a time, those that could not be ended too."""
    last = None
    while True:
        async with tools.database.overview() as db:
            page = await sessions.silent(db, since=since, limit=SILENT_AT_ONCE, after=last)
        for session in page:
            yield session
        if len(page) < SILENT_AT_ONCE:
            return
        last = page[-1]


async def _try_to_give_up(tools: Tools, silent: Session, since: datetime) -> Ended | None:
    """As `_give_up`; None too when it cannot be ended, and the log says so."""
    try:
        return await _give_up(tools, silent, since)
    except Outage:
        raise
    except Exception:
        log.exception("session.unsettled", agent=silent.agent_id, session=silent.session_id, next="tried again by itself")
        return None


async def _give_up(tools: Tools, silent: Session, since: datetime) -> Ended | None:
    """End the session as abandoned; None when another was quicker, or when it was heard of again."""
    beginning = await opening.at_end(tools, silent)
    async with tools.database.write([silent.agent_id]) as db:
        session = await sessions.get(db, silent.agent_id, silent.session_key)
        if session is None or session.ended_at is not None or session.heard_at >= since:
            return None
        return await ending.settle(db, tools, session, beginning, how="abandoned", at=session.last_at)
