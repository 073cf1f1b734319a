"""How far every worker is, and waiting until all of them are through.

    stream ──lag──▶ delivered ──pending──▶ settled
                        └──failed, or its replica died──▶ retrying ──▶ settled, or parked for a person

Two looks in a row that find nothing to do are "settled".
"""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

from redis.asyncio import Redis
from redis.exceptions import ResponseError
from rich.console import Console
from rich.status import Status

import workers
from nous.errors import Contended, Outage
from nous.settings import Settings
from store import answers, outbox, receipts, retries
from store.database import Database
from workers.runtime import streams
from workers.runtime.host import RECLAIMS_PER_CLAIM_TIME

from . import place, screen

LOOK_S = 0.1
LOOK_CAP_S = 0.5
SILENT_S = 5.0  # an idle replica asks for work every second


@dataclass(frozen=True)
class Standing:
    """One worker: entries not delivered yet, delivered and not settled, waiting for another attempt, parked; and why the longest waits.

    Of those that wait, `unadjudicated` wait for a mind. `seen_s` is how long ago a replica of it was heard of; None when none ever was.
    `held` of the pending are with replicas that are silent; all of these are taken over within `until_taken_s`, if another is alive.
    """

    worker: str
    stream: str
    lag: int
    pending: int
    retrying: int
    parked: int
    waits_for: str | None
    seen_s: float | None
    is_alive: bool
    held: int = 0
    until_taken_s: float = 0.0
    unadjudicated: int = 0

    @property
    def is_through(self) -> bool:
        """Nothing to do; what is parked waits for a person."""
        return not (self.lag or self.pending or self.retrying)

    def __str__(self) -> str:
        left = [
            f"{count:,} {what}" for count, what in ((self.lag, "unread"), (self.pending, "in work"), (self.retrying, "retrying")) if count
        ]
        if self.held:
            left.append(f"{self.held:,} of them held by a replica that is silent")
        nobody = "" if self.is_alive else f"; no {self.worker} is running"
        return f"{self.worker}: {', '.join(left)}{f' ({self.waits_for})' if self.waits_for else ''}{nobody}"


@dataclass(frozen=True)
class Look:
    """Every worker at one moment, and how many derived events Redis does not have yet.

    `mind` is why the longest of what waits for a mind does; `unsure` counts the pairs of facts that no mind could tell about.
    """

    workers: tuple[Standing, ...]
    outbox: int
    mind: str | None = None
    unsure: int = 0

    @property
    def is_settled(self) -> bool:
        """Everything published so far has had its effect."""
        return not self.outbox and all(one.is_through for one in self.workers)

    @property
    def unadjudicated(self) -> int:
        """How many checks wait for a mind."""
        return sum(one.unadjudicated for one in self.workers)

    def left(self) -> list[str]:
        """What is not settled yet, a sentence each."""
        open_ = [str(one) for one in self.workers if not one.is_through]
        return [*open_, f"outbox: {screen.plural(self.outbox, 'event')} to publish"] if self.outbox else open_

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "settled": self.is_settled,
            "outbox": self.outbox,
            "unadjudicated": self.unadjudicated,
            "unsure": self.unsure,
            "workers": [asdict(one) for one in self.workers],
        }


async def look(settings: Settings, database: Database, redis: Redis) -> Look:
    """Redis first, then Postgres: what moves from one to the other meanwhile is seen at least once. Raises Outage and Contended."""
    states = [
        (
            worker,
            await streams.group_state(redis, worker.on.stream, name),
            await streams.heard_of(redis, worker.on.stream, name),
            await _held(settings, redis, worker.on.stream, name),
        )
        for name, worker in workers.table().items()
    ]
    async with database.overview() as db:
        waiting, parked, unpublished = await retries.waiting(db), await receipts.parked_counts(db), await outbox.count_unpublished(db)
        for_a_mind = await retries.for_a_mind(db)
    return Look(
        workers=tuple(
            Standing(
                worker=worker.name,
                stream=worker.on.stream,
                lag=state.lag,
                pending=state.pending,
                retrying=waiting[worker.name].count if worker.name in waiting else 0,
                parked=parked.get(worker.name, 0),
                waits_for=waiting[worker.name].reason if worker.name in waiting else None,
                seen_s=seen_s,
                is_alive=seen_s is not None and seen_s < silent_after_s(settings),
                held=held,
                until_taken_s=until_taken_s,
                unadjudicated=for_a_mind[worker.name].count if worker.name in for_a_mind else 0,
            )
            for worker, state, seen_s, (held, until_taken_s) in states
        ),
        outbox=unpublished,
        mind=next((one.reason for one in for_a_mind.values()), None),
    )


async def _held(settings: Settings, redis: Redis, stream: str, group: str) -> tuple[int, float]:
    """How many entries are with replicas that are silent, and the longest it takes until a living one has them all. Raises Outage."""
    async with streams.reachable():
        try:
            consumers = await redis.xinfo_consumers(stream, group)
        except ResponseError as error:
            if "NOGROUP" in str(error) or "no such key" in str(error).lower():
                return 0, 0.0
            raise
    silent = [one for one in consumers if one["pending"] and one["idle"] / 1000 > silent_after_s(settings)]
    waits = [max(settings.claim_after_s - one["idle"] / 1000, 0) for one in silent]
    return sum(one["pending"] for one in silent), max(waits, default=0) + settings.claim_after_s / RECLAIMS_PER_CLAIM_TIME


def silent_after_s(settings: Settings) -> float:
    """How long nothing is heard of a replica before it counts as gone: a busy one speaks every third of the claim time."""
    return max(settings.claim_after_s / 2, SILENT_S)


async def settled(
    settings: Settings,
    database: Database,
    redis: Redis,
    *,
    timeout_s: float,
    on_look: Callable[[Look], None] = lambda _: None,
    on_outage: Callable[[], None] = lambda: None,
) -> tuple[bool, list[str]]:
    """Wait until everything is settled, for at most `timeout_s`: whether it is, and what is left.

    Two clean looks in a row are wanted, because work can move behind the back of a single one. An outage is waited out too, unless
    `on_outage` raises.
    """
    deadline, pause_s, clean, left = time.monotonic() + timeout_s, LOOK_S, 0, ["nothing could be seen yet"]
    while True:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 1.0)):
                seen = await look(settings, database, redis)
        except (Outage, Contended) as error:
            on_outage()
            clean, left = 0, [str(error)]
        except TimeoutError:
            clean, left = 0, ["Redis and Postgres have not both answered yet"]
        else:
            clean, left = (clean + 1 if seen.is_settled else 0), seen.left()
            on_look(seen)
        if clean == 2:
            return True, []
        if time.monotonic() >= deadline and not clean:
            return False, left
        await asyncio.sleep(pause_s if not clean else LOOK_S)
        pause_s = min(pause_s * 1.3, LOOK_CAP_S)


# ── the commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def wait(settings: Settings, *, timeout_s: float) -> list[str]:
    """`nous wait`: what is left at the end of the time; nothing when all is settled."""
    console = screen.err()
    async with place.database(settings) as database, place.redis(settings) as redis:
        with console.status("waiting for the workers…") as spinner:
            _, left = await settled(
                settings,
                database,
                redis,
                timeout_s=timeout_s,
                on_look=partial(_show_left, spinner),
                on_outage=partial(place.still_there, settings),
            )
    return left


async def status(settings: Settings, *, is_json: bool) -> None:
    """`nous status`: a line a worker, and what to do about what does not move by itself."""
    async with place.database(settings) as database, place.redis(settings) as redis:
        seen = await look(settings, database, redis)
        async with database.overview() as db:
            seen = replace(seen, unsure=await answers.count_unsure(db))
    if is_json:
        screen.emit(seen.as_data())
        return
    console = screen.out()
    _print_workers(console, seen)
    for one in seen.workers:
        if one.parked:
            _print_parked(console, settings, one)
        if one.held:
            soon = f"within {math.ceil(one.until_taken_s)} s" if one.is_alive else "once one is running"
            console.print(f"{one.worker}: {one.held:,} held by a replica that is silent; taken over by another {soon}", style="yellow")
        if one.waits_for and one.retrying > one.unadjudicated:
            console.print(screen.said(f"{one.worker}: the longest waits because of: {one.waits_for}", "yellow"))
    _print_minds(console, seen)
    if seen.outbox:
        console.print(f"{screen.plural(seen.outbox, 'derived event')} to publish; a running worker does it within seconds", style="yellow")
    idle = [one.worker for one in seen.workers if not one.is_alive]
    if len(idle) == len(seen.workers):
        console.print(f"No worker is running; start them with: {place.command()} work", style="yellow")
    elif idle:
        none, it = (f"No {idle[0]} is", "it") if len(idle) == 1 else (f"No {screen.listed(idle)} are", "them")
        console.print(f"{none} running; start {it}: {place.command()} work {' '.join(idle)}", style="yellow")


def _show_left(spinner: Status, seen: Look) -> None:
    spinner.update(f"waiting for {'; '.join(seen.left()) or 'one more look'}…")


def _print_workers(console: Console, seen: Look) -> None:
    table = screen.table("worker", "stream", "lag", "pending", "retrying", "parked", "seen", right=("lag", "pending", "retrying", "parked"))
    for one in seen.workers:
        counts = [f"{count:,}" for count in (one.lag, one.pending, one.retrying, one.parked)]
        table.add_row(one.worker, one.stream, *counts, _ago(one), style="" if one.is_through and not one.parked else "yellow")
    console.print(table)


def _print_parked(console: Console, settings: Settings, one: Standing) -> None:
    console.print(f"{one.parked:,} parked by {one.worker}. To see them, each with its reason:", style="yellow")
    console.print(f"  redis-cli -u {place.redis_in_a_shell(settings)} XRANGE {one.stream}{streams.PARKED_SUFFIX} - +", style="yellow")
    console.print(f"Once the cause is mended, publish to {one.stream} again, under the same event_id.", style="yellow")


def _print_minds(console: Console, seen: Look) -> None:
    """What waits for a mind, and what no mind could tell."""
    if seen.mind:
        wait = f"{_waiting(seen)} wait{'s' if seen.unadjudicated == 1 else ''} for the mind"
        then = "what was learned and said is kept and can be recalled meanwhile, and it is asked again by itself"
        console.print(screen.said(f"{wait}; {then}; the longest because: {seen.mind}", "yellow"))
    if seen.unsure:
        console.print(
            f"{screen.plural(seen.unsure, 'pair')} unsure: no mind could tell, and both facts stay;"
            f" once another mind is set: {place.command()} fact recheck",
            style="dim",
        )


def _waiting(seen: Look) -> str:
    """How many checks of facts and summaries of episodes wait for a mind."""
    episodes = sum(one.unadjudicated for one in seen.workers if one.stream.startswith("episode_"))
    facts = seen.unadjudicated - episodes
    counts = [(facts, f"{screen.plural(facts, 'check')} of facts"), (episodes, screen.plural(episodes, "episode"))]
    return screen.listed(words for count, words in counts if count)


def _ago(one: Standing) -> str:
    if one.seen_s is None:
        return "never"
    if one.is_alive:
        return "now"
    return f"{one.seen_s / 60:,.0f} min ago" if one.seen_s >= 90 else f"{one.seen_s:.0f} s ago"
