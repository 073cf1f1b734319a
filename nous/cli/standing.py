"""`nous status` and `nous wait`: how far every worker is, told to a person (workers/runtime/look.py looks).

status   a line a worker, and below it what does not move by itself, and what to do about it
wait     until two looks in a row find nothing to do
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from rich.table import Table
from rich.text import Text

import workers
from nous.settings import Settings
from nous.stories.verdict import Tone, verdict
from workers.runtime import retention, streams
from workers.runtime.look import ALL_STREAMS, Look, Standing, Unfilled, look, settled, unfilled, unsure
from workers.runtime.retention import Kept

from . import place, screen

WIDE = 100  # from here streams have a column
TONES: Mapping[Tone, str] = {"bad": "yellow", "wait": "", "good": "green"}


@dataclass(frozen=True)
class Waited:
    """What is left at the end of the time, nothing when all is settled; and how much is parked."""

    left: list[str]
    parked: int


async def wait(settings: Settings, *, timeout_s: float) -> Waited:
    """`nous wait`: until all is settled, or the time is over."""
    console, parked = screen.err(), 0

    def see(seen: Look) -> None:
        nonlocal parked
        parked = sum(one.parked for one in seen.workers)
        spinner.update(f"waiting for {'; '.join(seen.left()) or 'one more look'}…")

    async with place.database(settings) as database, place.redis(settings) as redis:
        with console.status("waiting for the workers…") as spinner:
            _, left = await settled(
                settings,
                database,
                redis,
                timeout_s=timeout_s,
                on_look=see,
                on_outage=lambda: place.still_there(settings),
            )
    return Waited(left, parked)


def tell_waited(waited: Waited, *, timeout_s: float, is_json: bool) -> None:
    """Say what is left, or what is parked; nothing when there is neither."""
    if is_json:
        screen.emit({"settled": not waited.left, "left": waited.left, "parked": waited.parked})
    elif waited.left:
        print(f"nous: not settled after {timeout_s:g} s: {'; '.join(waited.left)}", file=sys.stderr)
    elif waited.parked:
        are = "is" if waited.parked == 1 else "are"
        print(f"everything is worked; {waited.parked:,} {are} parked: {place.command()} dead list", file=sys.stderr)


async def status(settings: Settings, *, is_json: bool) -> None:
    """`nous status`: a line a worker, and what to do about what does not move by itself."""
    async with place.database(settings) as database, place.redis(settings) as redis:
        seen = await look(settings, database, redis)
        held = await retention.kept(redis, workers.consumers(), keep_s=settings.stream_keep_s)
        async with database.overview() as db:
            seen = replace((await unsure(db)).told_in(seen), streams=held, unfilled=await unfilled(db))
    stands = verdict(seen, held)
    if is_json:
        screen.emit({"verdict": asdict(stands), **seen.as_data()})
        return
    console = screen.out()
    console.print(stands.title, style=f"bold {TONES[stands.tone]}")
    console.print(_table(seen, with_streams=console.width >= WIDE))
    for note in notes(seen):
        console.print(note)


def notes(seen: Look) -> Iterator[Text]:
    """What does not move by itself, or waits, a sentence each, and what to do about it."""
    for one in seen.workers:
        yield from _of_one(one)
    yield from _of_minds(seen)
    for held in seen.streams:
        yield from _of_stream(held)
    if seen.unfilled:
        yield from _of_search(seen.unfilled)
    if seen.outbox:
        yield _noted(f"{screen.plural(seen.outbox, 'derived event')} to publish; a running worker does it within seconds")
    everyone = (*seen.workers, seen.archivist)
    idle = [one.worker for one in everyone if not one.is_alive]
    if len(idle) == len(everyone):
        yield _noted(f"No worker is running; start them with: {place.command()} work")
    elif idle:
        none, it = (f"No {idle[0]} is", "it") if len(idle) == 1 else (f"No {screen.listed(idle)} are", "them")
        yield _noted(f"{none} running; start {it}: {place.command()} work {' '.join(idle)}")


def replicas(one: Standing) -> str:
    """How many of a worker live; of one that is silent, when it was heard of last."""
    if one.is_alive:
        return f"{one.replicas:,}"
    return "none" if one.seen_s is None else f"none, heard {lasting(one.seen_s)} ago"


def lasting(seconds: float | None) -> str:
    """So long, in the largest unit that fits."""
    if seconds is None:
        return ""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit * 2:
            return f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.0f} s"


def counted(one: Standing, count: int) -> str:
    """How many wait for another attempt, or are parked; the archivist has neither."""
    return "" if one.stream == ALL_STREAMS else f"{count:,}"


def _table(seen: Look, *, with_streams: bool) -> Table:
    counts = ("lag", "pending", "retrying", "parked")
    table = screen.table("worker", *(["stream"] if with_streams else []), *counts, "replicas", right=counts)
    for one in (*seen.workers, seen.archivist):
        names = (one.worker, one.stream) if with_streams else (one.worker,)
        cells = (f"{one.lag:,}", f"{one.pending:,}", counted(one, one.retrying), counted(one, one.parked), replicas(one))
        table.add_row(*names, *cells, style="" if one.is_through and not one.parked else "yellow")
    return table


def _of_one(one: Standing) -> Iterator[Text]:
    if one.parked:
        yield _noted(f"{one.parked:,} parked by {one.worker}. To see them, each with its reason:")
        yield _noted(f"  {place.command()} dead list --worker {one.worker}")
        yield _noted(f"Once the cause is mended: {place.command()} dead retry --all --worker {one.worker}")
    if one.held:
        soon = f"within {math.ceil(one.until_taken_s)} s" if one.is_alive else "once one is running"
        yield _noted(f"{one.worker}: {one.held:,} held by a replica that is silent; taken over by another {soon}")
    if one.waits_for and one.retrying > one.unadjudicated:
        yield screen.said(f"{one.worker}: the longest waits because of: {one.waits_for}", "yellow")


def _of_stream(held: Kept) -> Iterator[Text]:
    """What keeps a stream from being trimmed."""
    if held.held_s and held.needed_by:
        grows = f"{held.stream} keeps {held.entries:,} {'entry' if held.entries == 1 else 'entries'} and cannot be trimmed"
        yield screen.said(f"{grows}: the group {held.needed_by} has needed the oldest for {lasting(held.held_s)}", "yellow")
        is_ours = held.needed_by in (streams.ARCHIVIST, *workers.consumers().get(held.stream, ()))
        if is_ours:
            yield screen.said(f"  It is let go once that worker is through: {place.command()} work {held.needed_by}", "yellow")
        gone = "A worker that is gone for good" if is_ours else "If its reader is gone for good"
        yield screen.said(f"  {gone}: {place.command()} group drop {held.stream} {held.needed_by}", "yellow")


def _of_minds(seen: Look) -> Iterator[Text]:
    """What waits for a mind, and what no mind could tell."""
    if seen.mind:
        wait = f"{_waiting(seen)} wait{'s' if seen.unadjudicated == 1 else ''} for the mind"
        then = "what was learned and said is kept and can be recalled meanwhile, and it is asked again by itself"
        yield screen.said(f"{wait}; {then}; the longest because: {seen.mind}", "yellow")
    if seen.by_rule:
        told = f"{screen.plural(seen.by_rule, 'pair')} judged by rule only, and both facts stay"
        yield _noted(f"{told}; with ANTHROPIC_API_KEY set, {place.command()} fact recheck has them judged", "dim")
    if pairs := seen.unsure - seen.by_rule:
        told = f"{screen.plural(pairs, 'pair')} unsure: no mind could tell, and both facts stay"
        yield _noted(f"{told}; once another mind is set: {place.command()} fact recheck", "dim")


def _of_search(left: Unfilled) -> Iterator[Text]:
    """What recall does not find yet as it will."""
    if left.without_words:
        are = "memory of before search has" if left.without_words == 1 else "memories of before search have"
        then = "until then a fact or an episode is found by its meaning alone, a decision or a procedure not at all"
        yield screen.said(f"{left.without_words:,} {are} no words yet; running workers fill them in; {then}", "yellow")
    if left.without_vector:
        yield _noted(
            f"{screen.plural(left.without_vector, 'vector')} to make; until then found by words alone; running workers do it", "dim"
        )


def _waiting(seen: Look) -> str:
    """How many checks of facts and summaries of episodes wait for a mind."""
    episodes = sum(one.unadjudicated for one in seen.workers if one.stream.startswith("episode_"))
    facts = seen.unadjudicated - episodes
    counts = [(facts, f"{screen.plural(facts, 'check')} of facts"), (episodes, screen.plural(episodes, "episode"))]
    return screen.listed(words for count, words in counts if count)


def _noted(sentence: str, style: str = "yellow") -> Text:
    return Text(sentence, style=style)
