"""`nous session turn | end | list | show`: a conversation reported by hand, and what is kept of it."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from rich.console import Console
from rich.text import Text

from nous.errors import UserMistake
from nous.settings import Settings
from recall import sessions as reporting
from recall.ending import Ended
from store import episodes, sessions
from store.episodes import Episode
from store.sessions import Session, Turn

from . import decision, listing, place, put_away, remembering, screen
from .listing import Listing

COLUMNS = ("session", "agent", "turns", "tools", "last", "state", "episode")


async def turn(
    settings: Settings,
    session_id: str,
    *,
    agent: str,
    user: str,
    assistant: str | None,
    used: Sequence[str],
    frame: str | None,
    turn_id: str | None,
    at: datetime | None,
    is_json: bool,
) -> None:
    """Report what the user said, and the answer if there is one, and say where the session stands. Raises UserMistake."""
    if used and assistant is None:
        raise UserMistake("--tool was given without --assistant, and tools are counted when a turn ends: add what the assistant said")
    async with remembering.tools(settings) as tools:
        session = await reporting.start_turn(tools, agent, session_id, user, at=at, turn_id=turn_id, frame=frame)
        if assistant is not None:
            session = await reporting.end_turn(tools, agent, session_id, assistant, used=used, at=at, turn_id=turn_id)
    if is_json:
        screen.emit(as_data(session))
        return
    so_far = f"{screen.plural(session.turn_count, 'turn')} so far" if assistant is not None else "waiting for the answer"
    print(f"session {screen.shown(session_id)} of {screen.shown(agent)}: {so_far}; {_its_episode(session)}")


async def end(
    settings: Settings, session_id: str, *, agent: str, reflection: str | None, outcome: str | None, at: datetime | None, is_json: bool
) -> bool:
    """End a session, and say what became of it; whether all it brought is kept. Raises UserMistake."""
    async with remembering.tools(settings) as tools:
        ended = await reporting.end_session(tools, agent, session_id, reflection=reflection, outcome=outcome, at=at)
        await decision.send(settings, tools.database, ended.letters)
    if is_json:
        screen.emit({"became": ended.became, "session": as_data(ended.session), "episode": ended.episode and ended.episode.as_data()})
    else:
        print(f"session {screen.shown(session_id)} of {screen.shown(agent)} {_became(ended)}")
    return ended.became != "not_kept"


async def list_sessions(settings: Settings, *, agent: str | None, limit: int | None, is_json: bool) -> None:
    """Print sessions, the latest first."""
    await LISTING.print(
        settings,
        lambda db, most: sessions.listed(db, agent=agent, limit=most),
        agent=agent,
        limit=limit,
        nothing=f"No sessions{listing.whose(agent)}. Report a turn: {place.command()} session turn chat --agent me --user 'Hello'",
        is_json=is_json,
    )


async def show(settings: Settings, session_id: str, *, agent: str, is_json: bool) -> None:
    """Print the latest session of this id and its turns in order. Raises UserMistake."""
    async with place.database(settings) as database, database.read([agent]) as db:
        session = await sessions.latest(db, agent, session_id)
        if session is None:
            raise UserMistake(f"agent {agent!r} has no session {session_id!r}; {place.command()} session list shows them")
        turns = await sessions.turns(db, agent, session.session_key)
        episode = await episodes.get(db, agent, session.episode_id) if session.episode_id else None
        away = await put_away.told(db, episode) if episode else None
    if is_json:
        told = [turn_as_data(one) for one in turns]
        screen.emit({"session": as_data(session), "episode": episode and episode.as_data(), "turns": told})
        return
    console = screen.out()
    console.print(screen.said(session.session_id, "bold"))
    facets = [session.agent_id, _state(session), screen.plural(session.turn_count, "turn"), *(f"used {one}" for one in session.tools)]
    console.print(screen.said(" · ".join(facets), "dim"))
    if episode:
        _print_episode(console, episode)
    else:
        console.print(screen.said(_its_episode(session), "dim"))
    console.print()
    print_turns(console, turns)
    if away:
        console.print(screen.said(away, "yellow"))


def _print_episode(console: Console, episode: Episode) -> None:
    """How its episode stands, in short."""
    outcome = f", {screen.spoken(episode.outcome)}" if episode.outcome else ""
    console.print(screen.said(f"episode {episode.episode_id}: {episode.state}{outcome}; transcript {episode.transcript_state}", "dim"))
    if episode.title:
        console.print(screen.said(f"title: {episode.title}"))
    if episode.summary:
        console.print(screen.said(f"summary: {episode.summary}"))
    for lesson in episode.lessons_learned:
        console.print(screen.said(f"learned: {lesson}", "green"))
    if episode.put_aside:
        console.print(screen.said(f"put aside: {episode.put_aside}", "yellow"))


def print_turns(console: Console, turns: Sequence[Turn]) -> None:
    """What was said, in order, an utterance a line."""
    for one in turns:
        console.print(Text.assemble((f"{screen.moment(one.said_at)}  ", "dim"), (f"{one.speaker:9}  ", "cyan"), screen.said(one.content)))


def as_data(session: Session) -> dict[str, object]:
    """A session for JSON."""
    return asdict(session)


def turn_as_data(turn: Turn) -> dict[str, object]:
    """An utterance for JSON."""
    return {"position": turn.position, "speaker": turn.speaker, "content": turn.content, "said_at": turn.said_at, "turn_id": turn.turn_id}


def _columns(session: Session) -> tuple[str, ...]:
    return (
        screen.shown(session.session_id),
        screen.shown(session.agent_id),
        str(session.turn_count),
        str(len(session.tools)),
        screen.moment(session.last_at),
        _state(session),
        str(session.episode_id or "none"),
    )


def _print_table(console: Console, shown: Sequence[Session]) -> None:
    table = screen.table(*COLUMNS, right=("turns", "tools"))
    for one in shown:
        table.add_row(*map(screen.said, _columns(one)))
    console.print(table)


def _state(session: Session) -> str:
    return session.ending or "open"


def _its_episode(session: Session) -> str:
    if session.episode_id:
        return f"its episode is {session.episode_id}"
    yet = "" if session.ended_at else " yet"
    return f"it has no episode{yet}: {session.not_opened}" if session.not_opened else f"it has no episode{yet}"


def _became(ended: Ended) -> str:
    episode, nous = ended.episode, place.command()
    match ended.became:
        case "closed" if episode:
            return f"has ended; episode {episode.episode_id} is closed, and its summary follows"
        case "closed_before" if episode:
            return f"has ended; episode {episode.episode_id} had been closed and summarised, and keeps what it has"
        case "closed_again" if episode:
            return f"has ended; it went on after episode {episode.episode_id} had been summarised, so a new summary follows"
        case "put_aside" if episode:
            return f"has ended; it was too little to remember ({episode.put_aside}), and {_restored_by(episode)}"
        case "amended" if episode:
            aside = "" if episode.active else f"; that is put aside, and {_restored_by(episode)}"
            return f"had been given up; what came now is kept with episode {episode.episode_id}{aside}"
        case "not_kept":
            instead = f"keep a lesson as a fact: {nous} publish fact_learned agent_id={shlex.quote(ended.session.agent_id)} content='...'"
            return f"{_had_ended(ended.session)}, so this reflection or outcome was not kept; {instead}"
        case "ended_before":
            return f"{_had_ended(ended.session)}; {_its_episode(ended.session)}"
    return f"has ended; {_its_episode(ended.session)}"


def _restored_by(episode: Episode) -> str:
    return f"{place.command()} episode restore {episode.episode_id} brings it back"


def _had_ended(session: Session) -> str:
    return f"had ended already, on {screen.moment(session.ended_at)} UTC" if session.ended_at else "had ended already"


LISTING = Listing(COLUMNS, _columns, _print_table, as_data)
