"""`nous dead retry | drop`: what a person decides about deliveries that no worker could work.

    ids, or --all of what fits ──▶ looked up ──▶ page by page: one transaction, then the entries nobody needs any more go ──▶ told

Ctrl-C stops it wherever it is: what was done stays done, the rest stays parked, and the same command goes on from there.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from redis.asyncio import Redis
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

import workers
from events.wire import mended
from nous.errors import UserMistake
from nous.settings import Settings
from store import parked, receipts
from store.database import Database, Read
from store.parked import Parked, Wanted
from workers.runtime import parked as deliveries
from workers.runtime import streams
from workers.runtime.look import silent_after_s
from workers.runtime.parked import Outcome

from . import asked, moments, place, screen

MOST_REASON = 1_000  # characters
TOLD = 5  # ids in a sentence

Decide = Callable[[Database, Redis, Sequence[Parked]], AsyncIterator[Outcome]]


async def retry(settings: Settings, ids: Sequence[str], fits: Wanted, *, is_all: bool, is_json: bool) -> bool:
    """Let parked deliveries be worked again by the workers that parked them; whether all could be. Raises UserMistake."""
    _either(ids, is_all=is_all, verb="retry")
    async with place.database(settings) as database, place.redis(settings) as redis:
        outcome = await _decided(database, redis, ids, fits, deliveries.retry, verb="retried")
        by_worker = Counter(one.worker for one in outcome.done)
        absent = [name for name in by_worker if not await _is_alive(settings, redis, name)]
    if is_json:
        screen.emit({"retried": _named(outcome.done), **_left_alone(outcome), "not_running": absent})
        return not outcome.bodiless
    for worker, count in sorted(by_worker.items()):
        print(f"{_deliveries(count)} will be worked again by {worker}, and by no other")
    _tell_left_alone(outcome, nothing="nothing to retry")
    for worker in absent:
        if worker not in workers.table():
            print(f"no worker is called {worker} in this version, so nobody works them; run the version that has it", file=sys.stderr)
        else:
            print(f"no {worker} is running, so they wait; start one: {place.command()} work {worker}", file=sys.stderr)
    if outcome.done and not absent:
        it, fails = ("it", "if it fails again it") if len(outcome.done) == 1 else ("them", "what fails again")
        print(f"{place.command()} wait waits for {it}; {fails} is in {place.command()} dead list, with all that happened before")
    return not outcome.bodiless


async def drop(settings: Settings, ids: Sequence[str], fits: Wanted, *, is_all: bool, because: str, is_sure: bool, is_json: bool) -> None:
    """Settle parked deliveries as not wanted, for a reason; all there are only if the person is sure. Raises UserMistake."""
    _either(ids, is_all=is_all, verb="drop")
    why = mended(because).strip()
    if not 0 < len(why) <= MOST_REASON:
        raise UserMistake(f"--because has {len(why):,} characters; say in 1 to {MOST_REASON:,} why nobody wants what is dropped")
    if is_all and fits == Wanted() and not is_sure:
        await _confirm_all(settings)
    async with place.database(settings) as database, place.redis(settings) as redis:
        outcome = await _decided(database, redis, ids, fits, partial(deliveries.drop, because=why), verb="dropped")
    if is_json:
        screen.emit({"dropped": _named(outcome.done), **_left_alone(outcome)})
        return
    if outcome.done:
        which = outcome.done[0].handle if len(outcome.done) == 1 else "ID"
        print(f"{_deliveries(len(outcome.done))} dropped; what was said stays in the archive")
        print(f"{place.command()} dead list --dropped shows what was; {place.command()} dead retry {which} undoes it")
    _tell_left_alone(outcome, nothing="nothing to drop")


async def the_one(db: Read, written: str, fits: Wanted) -> Parked:
    """The delivery that a person means by its id, the beginning of it, or an event id. Raises UserMistake."""
    name = mended(written).strip()
    found = await parked.named(db, name, fits)
    if not found:
        raise UserMistake(f"no delivery {screen.shown(name)!r} is parked, or was; {place.command()} dead list shows what is")
    if len(found) > 1:
        which = screen.listed(f"{one.handle} (by {one.worker}, of {screen.shown(one.agent_id)!r})" for one in found[:TOLD])
        raise UserMistake(f"{screen.shown(name)!r} fits several, {which}{' and more' if len(found) > TOLD else ''}; write one of these ids")
    return found[0]


def wanted(
    worker: str | None = None, stream: str | None = None, agent: str | None = None, reason: str | None = None, since: str | None = None
) -> Wanted:
    """The filter that a person typed. Raises UserMistake for a worker or a stream that there is not, and for what is no time."""
    names, on = list(workers.table()), list(workers.consumers())
    if worker is not None and worker not in names:
        raise UserMistake(f"there is no worker {worker!r}{screen.meant(worker, names)}; {place.command()} workers shows them")
    if stream is not None and stream not in on:
        raise UserMistake(f"no worker listens to {stream!r}{screen.meant(stream, on)}; {place.command()} workers shows the streams")
    return Wanted(
        worker, stream, None if agent is None else mended(agent), mended(reason) if reason else None, moments.typed("--since", since)
    )


async def _decided(database: Database, redis: Redis, ids: Sequence[str], fits: Wanted, decide: Decide, *, verb: str) -> Outcome:
    """Do it to those that are meant, with a bar on a terminal; when it is interrupted, say how far it came."""
    async with database.overview() as db:
        ones = [await _still_open(db, one, fits) for one in dict.fromkeys(ids)] if ids else await parked.listed(db, fits)
    outcome = Outcome()
    try:
        with _progress(len(ones)) as advance:
            async for page in decide(database, redis, ones[::-1]):
                outcome += page
                advance(len(page))
    except asyncio.CancelledError:
        done = f"stopped after {_deliveries(len(outcome.done))} of {len(ones):,}"
        print(f"{done}: these are {verb}, the others as they were; the same command goes on from there", file=sys.stderr)
        raise
    return outcome


async def _still_open(db: Read, written: str, fits: Wanted) -> Parked:
    one = await the_one(db, written, fits)
    if not (one.ending == "parked" or one.is_dropped):
        raise UserMistake(f"{one.handle} is settled: {one.worker} ended it as {one.outcome} on {screen.moment(one.recorded_at)} UTC")
    return one


def _either(ids: Sequence[str], *, is_all: bool, verb: str) -> None:
    if ids and is_all:
        raise UserMistake("ids and --all were both given; leave one out")
    if not ids and not is_all:
        raise UserMistake(
            f"say which: {place.command()} dead {verb} ID ..., or --all, with --worker, --reason or another filter for a part"
        )


async def _confirm_all(settings: Settings) -> None:
    """Raises UserMistake when the person is not sure, or cannot be asked."""
    async with place.database(settings) as database, database.overview() as db:
        total = sum((await receipts.parked_counts(db)).values())
    if not total:
        return
    every = f"{_deliveries(total)}, whichever worker parked {'it' if total == 1 else 'them'}"
    if not screen.out().is_terminal:
        raise UserMistake(
            f"--all without a filter drops {every}, and there is no terminal to ask at: add --yes, or say which with --worker, --reason"
            " or another filter; nothing was dropped"
        )
    if not asked.confirm(f"Drop {every}?", otherwise="add --yes"):
        raise UserMistake("nothing was dropped")


async def _is_alive(settings: Settings, redis: Redis, worker: str) -> bool:
    known = workers.table().get(worker)
    replicas = await streams.consumers(redis, known.on.stream, worker) if known else []
    return any(one.idle_s < silent_after_s(settings) for one in replicas)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal when it takes more than one page; gives the function that moves it."""
    console = screen.err()
    if not console.is_terminal or total <= deliveries.AT_ONCE:
        yield lambda _: None
        return
    with Progress(BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda count: progress.advance(task, count)


def _tell_left_alone(outcome: Outcome, *, nothing: str) -> None:
    if outcome.changed:
        print(f"{_deliveries(len(outcome.changed))} left alone, for it is decided already: worked again, settled, or dropped meanwhile")
    if outcome.bodiless:
        which = screen.listed(one.handle for one in outcome.bodiless[:TOLD])
        more = f" and {len(outcome.bodiless) - TOLD:,} more" if len(outcome.bodiless) > TOLD else ""
        print(
            f"the body is nowhere to be found, neither in Redis nor in the archive, of {which}{more}: publish it again under the same"
            f" event_id, or drop it with: {place.command()} dead drop ID --because '…'",
            file=sys.stderr,
        )
    if not len(outcome):
        print(nothing)


def _deliveries(count: int) -> str:
    return f"{count:,} deliver{'y' if count == 1 else 'ies'}"


def _left_alone(outcome: Outcome) -> dict[str, object]:
    return {"left_alone": _named(outcome.changed), "without_body": _named(outcome.bodiless)}


def _named(ones: Sequence[Parked]) -> list[dict[str, str]]:
    return [{"id": one.handle, "worker": one.worker, "agent_id": one.agent_id, "event_id": one.event_id} for one in ones]
