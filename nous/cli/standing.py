"""How far every worker is, and waiting until all of them are through.

stream ──lag──▶ delivered ──pending──▶ settled
                    └──failed, or its replica died──▶ retrying ──▶ settled, or parked for a person

Two looks in a row that find nothing to do are "settled".
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

from redis.asyncio import Redis
from redis.exceptions import ResponseError

import workers
from nous.errors import Contended, Outage
from nous.settings import Settings
from store import outbox, receipts, retries
from store.database import Database
from workers.runtime import streams

from . import place, screen

LOOK_S = 0.1
LOOK_CAP_S = 0.5
NOW_S = 15.0  # a working replica is heard of at least this often


@dataclass(frozen=True)
class Standing:
    """One worker: entries not delivered yet, delivered and not settled, waiting for another attempt, parked; and why the longest waits.

    `seen_s` is how long ago a replica of it asked for work; None when none ever did.
    """

    worker: str
    stream: str
    lag: int
    pending: int
    retrying: int
    parked: int
    waits_for: str | None
    seen_s: float | None

    @property
    def is_through(self) -> bool:
        """Nothing to do; what is parked waits for a person."""
        return not (self.lag or self.pending or self.retrying)

    @property
    def is_alive(self) -> bool:
        """A replica of it was heard of a moment ago."""
        return self.seen_s is not None and self.seen_s < NOW_S

    def __str__(self) -> str:
        left = [
            f"{count:,} {what}" for count, what in ((self.lag, "unread"), (self.pending, "in work"), (self.retrying, "retrying")) if count
        ]
        nobody = "" if self.is_alive else f"; no {self.worker} is running"
        return f"{self.worker}: {', '.join(left)}{f' ({self.waits_for})' if self.waits_for else ''}{nobody}"


@dataclass(frozen=True)
class Look:
    """Every worker at one moment, and how many derived events Redis does not have yet."""

    workers: tuple[Standing, ...]
    outbox: int

    @property
    def is_settled(self) -> bool:
        """Everything published so far has had its effect."""
        return not self.outbox and all(one.is_through for one in self.workers)

    def left(self) -> list[str]:
        """What is not settled yet, a sentence each."""
        open_ = [str(one) for one in self.workers if not one.is_through]
        return [*open_, f"outbox: {screen.plural(self.outbox, 'event')} to publish"] if self.outbox else open_

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"settled": self.is_settled, "outbox": self.outbox, "workers": [asdict(one) for one in self.workers]}


async def look(database: Database, redis: Redis) -> Look:
    """Redis first, then Postgres: what moves from one to the other meanwhile is seen at least once. Raises Outage and Contended."""
    states = [
        (worker, await streams.group_state(redis, worker.on.stream, name), await _seen_s(redis, worker.on.stream, name))
        for name, worker in workers.table().items()
    ]
    async with database.overview() as db:
        waiting, parked, unpublished = await retries.waiting(db), await receipts.parked_counts(db), await outbox.count_unpublished(db)
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
            )
            for worker, state, seen_s in states
        ),
        outbox=unpublished,
    )


async def settled(
    database: Database, redis: Redis, *, timeout_s: float, on_look: Callable[[Look], None] | None = None
) -> tuple[bool, list[str]]:
    """Wait until everything is settled, for at most `timeout_s`: whether it is, and what is left.

    Two clean looks in a row are wanted, because work can move behind the back of a single one. An outage is waited out too.
    """
    deadline, pause_s, clean, left = time.monotonic() + timeout_s, LOOK_S, 0, ["nothing could be seen yet"]
    while True:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 1.0)):
                seen = await look(database, redis)
        except (Outage, Contended) as error:
            clean, left = 0, [str(error)]
        except TimeoutError:
            clean, left = 0, ["Redis and Postgres have not both answered yet"]
        else:
            clean, left = (clean + 1 if seen.is_settled else 0), seen.left()
            if on_look:
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
            _, left = await settled(database, redis, timeout_s=timeout_s, on_look=partial(_show_left, spinner))
    return left


async def status(settings: Settings, *, json: bool) -> None:
    """`nous status`: a line a worker."""
    async with place.database(settings) as database, place.redis(settings) as redis:
        seen = await look(database, redis)
    if json:
        screen.emit(seen.as_data())
        return
    table = screen.table("worker", "stream", "lag", "pending", "retrying", "parked", "seen", right=("lag", "pending", "retrying", "parked"))
    for one in seen.workers:
        counts = [f"{count:,}" for count in (one.lag, one.pending, one.retrying, one.parked)]
        table.add_row(one.worker, one.stream, *counts, _ago(one.seen_s), style="" if one.is_through and not one.parked else "yellow")
    console = screen.out()
    console.print(table)
    for one in seen.workers:
        if one.parked:
            console.print(
                f"{one.parked:,} parked by {one.worker}: in {one.stream}{streams.PARKED_SUFFIX}, with the reasons", style="yellow"
            )
        if one.waits_for:
            console.print(screen.said(f"{one.worker}: the longest waits because of: {one.waits_for}", "yellow"))
    if seen.outbox:
        console.print(f"{screen.plural(seen.outbox, 'derived event')} to publish; a running worker does it within seconds", style="yellow")
    if not any(one.is_alive for one in seen.workers):
        console.print(f"No worker is running; start them with: {place.command()} work", style="yellow")


def _show_left(spinner: object, seen: Look) -> None:
    spinner.update(f"waiting for {'; '.join(seen.left()) or 'one more look'}…")  # type: ignore[attr-defined]


def _ago(seen_s: float | None) -> str:
    if seen_s is None:
        return "never"
    if seen_s < NOW_S:
        return "now"
    return f"{seen_s / 60:,.0f} min ago" if seen_s >= 90 else f"{seen_s:.0f} s ago"


async def _seen_s(redis: Redis, stream: str, group: str) -> float | None:
    async with streams.reachable():
        try:
            consumers = await redis.xinfo_consumers(stream, group)
        except ResponseError as error:
            if "NOGROUP" in str(error) or "no such key" in str(error).lower():
                return None
            raise
    return min((one["idle"] / 1000 for one in consumers), default=None)
