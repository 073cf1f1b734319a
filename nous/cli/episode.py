"""`nous episodes` and `nous episode show | restore | thaw`: conversations worth remembering, those put aside, and those that have aged."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rich.console import Console
from rich.text import Text

from events import EpisodeRestored, EpisodeThawed
from nous import clock, people
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories import ids_meant
from store import episodes, sessions
from store.database import Database
from store.episodes import Episode
from store.sessions import Turn

from . import decision, listing, moments, place, put_away, screen, session
from .listing import Listing

COLUMNS = ("episode_id", "agent_id", "began", "state", "transcript", "episode")
OPTIONS = {"agent_id": "--agent", "reason": "--because", "until": "--until"}


async def list_episodes(settings: Settings, *, agent: str | None, with_inactive: bool, limit: int | None, is_json: bool) -> None:
    """Print episodes, the latest first."""
    hint = "" if with_inactive else "; --all shows what was put aside too"
    how = f"{place.command()} session turn chat --agent me --user 'Hello'"
    await LISTING.print(
        settings,
        lambda db, most: episodes.listed(db, agent=agent, inactive=with_inactive, limit=most),
        agent=agent,
        limit=limit,
        nothing=f"No episodes{listing.whose(agent)}{hint}. A conversation becomes one: {how}",
        is_json=is_json,
    )


async def show(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Print an episode, and what was said in it. Raises UserMistake."""
    async with place.database(settings) as database:
        known = await the_one(database, written, agent)
        turns: Sequence[Turn] = ()
        async with database.read([known.agent_id]) as db:
            if known.session_key:
                turns = await sessions.turns(db, known.agent_id, known.session_key)
            away = await put_away.told(db, known)
    if is_json:
        screen.emit({"episode": known.as_data(), "turns": [session.turn_as_data(one) for one in turns]})
        return
    console = screen.out()
    print_episode(console, known)
    console.print()
    session.print_turns(console, turns)
    for line in (known.detail or "").splitlines():
        console.print(screen.said(line))
    if away:
        console.print(screen.said(away, "yellow"))


async def restore(settings: Settings, written: str, *, reason: str, agent: str | None, is_json: bool) -> None:
    """Make an episode active again that was put aside. Raises UserMistake."""
    async with place.database(settings) as database:
        known = await the_one(database, written, agent)
        told = decision.event(EpisodeRestored, known.agent_id, OPTIONS, episode_id=known.episode_id, reason=reason)
        async with database.write({known.agent_id}) as db:
            decided = await people.decide(db, told, table="")
        await decision.send(settings, database, decided.letters)
    after = decided.after
    if is_json:
        screen.emit(after.as_data())
    else:
        then = "; its summary follows" if decided.follows else ""
        print(f"episode {after.episode_id} of {screen.shown(after.agent_id)} is active again{then}")


async def thaw(settings: Settings, written: str, *, reason: str, until: str | None, agent: str | None, is_json: bool) -> None:
    """Have all that was said in an episode at hand again. Raises UserMistake."""
    now = clock.now()
    end = moments.typed("--until", until) or clock.later(now, timedelta(days=settings.episode_trim_days))
    if end <= now:
        raise UserMistake(f"--until {until} is over; until then it would not age again, so name a moment to come")
    async with place.database(settings) as database:
        known = await the_one(database, written, agent)
        if known.aged is None and until is None:
            raise UserMistake(f"all of episode {known.episode_id} is at hand; to keep it so, say until when: --until 2030-01-01")
        told = decision.event(EpisodeThawed, known.agent_id, OPTIONS, episode_id=known.episode_id, until=end, reason=reason)
        async with database.write({known.agent_id}) as db:
            decided = await people.decide(db, told, table="")
        await decision.send(settings, database, decided.letters)
    if is_json:
        screen.emit({"episode": decided.after.as_data(), **decided.evidence})
        return
    whose, size = screen.shown(known.agent_id), decided.evidence["after"]
    assert isinstance(size, dict)  # noqa: S101 - it is what a thaw gives
    print(
        f"episode {known.episode_id} of {whose}: all that was said is at hand, {screen.plural(size['characters'], 'character')};"
        f" it does not age before {screen.moment(end)}"
    )
    screen.say(_put_back(decided.evidence["before"], known, end, now), indent=2)


def _put_back(before: object, known: Episode, end: datetime, now: datetime) -> str:
    """How the end of its time is as it was before."""
    assert isinstance(before, dict)  # noqa: S101 - it is what a thaw gives
    again = f"{place.command()} episode thaw {known.episode_id} --because '…' --until"
    until = known.whole_until
    if until is not None and until > now and until != end:
        return f"before, it was to stay whole until {screen.moment(until)}; to put that back: {again} {until.isoformat()}"
    was = f"before, it was {before['aged']}" if before["aged"] else "before, nobody had said until when"
    return f"{was}; it ages by itself once that is over, and sooner by: {again} with a sooner moment"


async def the_one(database: Database, written: str, agent: str | None) -> Episode:
    """The episode a person means by an id or the beginning of one. Raises UserMistake."""
    async with database.overview() as db:
        return await ids_meant.episode_meant(db, written, agent=agent)


def _columns(episode: Episode) -> tuple[str, ...]:
    """One episode for a pipe."""
    id_, whose = str(episode.episode_id), screen.shown(episode.agent_id)
    return (id_, whose, screen.moment(episode.started_at), episode.state, episode.transcript_state, screen.shown(_told(episode)))


def _print_table(console: Console, shown: Sequence[Episode]) -> None:
    rows = ((one.episode_id, _cells(one)) for one in shown)
    listing.print_with_ids(console, "episode", ("agent", "began", "state", "transcript", "episode"), rows)


def _cells(episode: Episode) -> tuple[str | Text, ...]:
    whose, began = screen.said(episode.agent_id), screen.moment(episode.started_at)
    return (whose, began, episode.state, episode.transcript_state, _told_with_reason(episode))


def _told_with_reason(episode: Episode) -> Text:
    told = screen.said(_told(episode), "" if episode.active else "dim")
    if not episode.put_aside:
        return told
    return Text.assemble(told, "\n", screen.said(f"put aside: {episode.put_aside}", "yellow"))


def print_episode(console: Console, episode: Episode) -> None:
    """How it stands: its title, when it was, its summary, what was learned from it."""
    console.print(screen.said(_told(episode) if episode.title is None else episode.title, "bold"))
    until = f" to {screen.moment(episode.ended_at)}" if episode.ended_at else ""
    counts = [
        screen.plural(count, noun) for count, noun in ((episode.turn_count, "turn"), (episode.tool_count, "tool")) if count is not None
    ]
    facets = [
        episode.agent_id,
        episode.state,
        f"transcript {episode.transcript_state}",
        f"{screen.moment(episode.started_at)}{until}",
        *counts,
    ]
    console.print(screen.said(" · ".join([*facets, *([episode.outcome] if episode.outcome else [])]), "dim"))
    console.print(Text(str(episode.episode_id), style="dim"))
    if episode.summary:
        console.print(screen.said(episode.summary))
    for lesson in episode.lessons_learned:
        console.print(screen.said(f"learned: {lesson}", "green"))
    if episode.put_aside:
        console.print(screen.said(f"put aside: {episode.put_aside}", "yellow"))


def _told(episode: Episode) -> str:
    """What tells it from others: its title, its summary, or what the user said first."""
    return episode.title or episode.summary or (f"“{episode.opening}”" if episode.opening else "(nothing was said)")


LISTING = Listing(COLUMNS, _columns, _print_table, Episode.as_data)
