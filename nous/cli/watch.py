"""`nous status --watch`: the same look every second, as a live screen; as a block a look in a pipe; as a JSON object a line with `--json`.

    look ──▶ its rates, from the looks of the last seconds ──▶ Screen (a terminal) | Blocks (a pipe) | Lines (--json) ──▶ until Ctrl-C

What is away is said and waited for. On a terminal the screen is an alternate one: nothing is left of it when it ends.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Protocol

from redis.asyncio import Redis
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

import workers
from nous import clock
from nous.errors import Contended, Outage
from nous.settings import Settings
from nous.stories.verdict import verdict
from store.database import Database
from workers.runtime import retention
from workers.runtime.look import Look, Standing, Unsure, look, unsure
from workers.runtime.retention import Kept

from . import place, screen
from .standing import TONES, counted, lasting, notes, replicas

EVERY_S = 1.0
LOOK_LIMIT_S = 5.0
RATED_OVER_S = 5.0
STREAMS_EVERY_S = 5.0
UNSURE_EVERY_S = 30.0  # counting them reads every answer


def watch(settings: Settings, *, is_json: bool) -> None:
    """Look and show until Ctrl-C, which is how it ends."""
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_watch(settings, is_json=is_json))


async def _watch(settings: Settings, *, is_json: bool) -> None:
    rates, undecided, held = Rates(), Undecided(), Held(settings)
    async with place.database(settings) as database, place.redis(settings) as redis:
        with _shown(is_json=is_json) as show:
            while True:
                started = time.monotonic()
                try:
                    async with asyncio.timeout(LOOK_LIMIT_S):
                        seen = await look(settings, database, redis)
                        seen = replace((await undecided.count(database)).told_in(seen), streams=await held.by(redis))
                except (Outage, Contended, TimeoutError) as error:
                    place.still_there(settings)
                    show.away(str(error) or f"Redis or Postgres did not answer within {LOOK_LIMIT_S:.0f} s")
                else:
                    show.seen(seen, rates.of(seen, time.monotonic()), clock.now())
                await asyncio.sleep(max(EVERY_S - (time.monotonic() - started), 0))


@dataclass
class Rates:
    """How many entries a second each worker settles, over the last RATED_OVER_S."""

    _counts: deque[tuple[float, Mapping[str, int | None]]] = field(default_factory=deque)

    def of(self, seen: Look, at: float) -> dict[str, float | None]:
        """The rates up to this look (time.monotonic); None where they are not known, as on the first."""
        self._counts.append((at, {one.worker: one.settled for one in _everyone(seen)}))
        while len(self._counts) > 2 and self._counts[1][0] <= at - RATED_OVER_S:
            self._counts.popleft()
        since, before = self._counts[0]
        return {one.worker: _rate(before.get(one.worker), one.settled, at - since) for one in _everyone(seen)}


@dataclass
class Undecided:
    """How many pairs no mind could tell about, counted now and then."""

    _count: Unsure = field(default_factory=Unsure)
    _at: float = float("-inf")

    async def count(self, database: Database) -> Unsure:
        """As it was within the last UNSURE_EVERY_S. Raises Outage and Contended."""
        if time.monotonic() >= self._at + UNSURE_EVERY_S:
            async with database.overview() as db:
                self._count, self._at = await unsure(db), time.monotonic()
        return self._count


@dataclass
class Held:
    """What the streams hold, looked at now and then."""

    _settings: Settings
    _kept: Sequence[Kept] = ()
    _at: float = float("-inf")

    async def by(self, redis: Redis) -> Sequence[Kept]:
        """As it was within the last STREAMS_EVERY_S. Raises Outage."""
        if time.monotonic() >= self._at + STREAMS_EVERY_S:
            self._kept = await retention.kept(redis, workers.consumers(), keep_s=self._settings.stream_keep_s)
            self._at = time.monotonic()
        return self._kept


# ── the three ways to show a look ─────────────────────────────────────────────────────────────────────────────────────────


class Show(Protocol):
    """Shows looks, one after another."""

    def seen(self, seen: Look, rates: Mapping[str, float | None], at: datetime) -> None:
        """Show what was seen."""

    def away(self, why: str) -> None:
        """Show that nothing could be seen, and why."""


@dataclass
class Screen:
    """On a terminal: each look in the place of the one before."""

    live: Live
    last: RenderableType = ""

    def seen(self, seen: Look, rates: Mapping[str, float | None], at: datetime) -> None:
        self.last = Group(_heading(seen, rates, at), Text(), _table(seen, rates), Text(), *notes(seen))
        self.live.update(self.last, refresh=True)

    def away(self, why: str) -> None:
        self.live.update(Group(screen.said(f"{why}; looking again", "yellow"), self.last), refresh=True)


@dataclass
class Blocks:
    """In a pipe: a block a look, and an empty line."""

    console: Console

    def seen(self, seen: Look, rates: Mapping[str, float | None], at: datetime) -> None:
        self._print(_heading(seen, rates, at), _table(seen, rates), *notes(seen))

    def away(self, why: str) -> None:
        self._print(screen.said(f"{why}; looking again"))

    def _print(self, *parts: RenderableType) -> None:
        for part in (*parts, Text()):
            self.console.print(part)
        self.console.file.flush()


class Lines:
    """A JSON object a look, on one line."""

    def seen(self, seen: Look, rates: Mapping[str, float | None], at: datetime) -> None:
        told = {worker: None if rate is None else screen.rounded(rate) for worker, rate in rates.items()}
        self._print({"at": at, "verdict": asdict(verdict(seen, seen.streams)), **seen.as_data(), "per_second": told})

    def away(self, why: str) -> None:
        self._print({"at": clock.now(), "away": why})

    def _print(self, data: Mapping[str, object]) -> None:
        print(screen.as_json(data, indent=None), flush=True)


@contextmanager
def _shown(*, is_json: bool) -> Iterator[Show]:
    console = screen.out()
    if is_json:
        yield Lines()
    elif console.is_terminal:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            yield Screen(live)
    else:
        yield Blocks(console)


# ── what is shown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _heading(seen: Look, rates: Mapping[str, float | None], at: datetime) -> Text:
    known = [rate for one in seen.workers if (rate := rates[one.worker]) is not None]
    stands = verdict(seen, seen.streams)
    told = [f"{at:%Y-%m-%d %H:%M:%S} UTC", stands.title]
    told += [f"{sum(known):,.0f}/s"] if known else []
    told += [f"outbox {seen.outbox:,}", f"for the mind {seen.unadjudicated:,}"]
    return Text(" · ".join(told), style=f"bold {TONES[stands.tone]}")


def _table(seen: Look, rates: Mapping[str, float | None]) -> Table:
    counts = ("lag", "pending", "/s", "retrying", "parked", "oldest")
    table = screen.table("worker", *counts, "replicas", right=counts)
    table.columns[0].no_wrap = True
    for one in _everyone(seen):
        rate = rates[one.worker]
        table.add_row(
            one.worker,
            f"{one.lag:,}",
            f"{one.pending:,}",
            "" if rate is None else f"{rate:,.0f}",
            counted(one, one.retrying),
            counted(one, one.parked),
            lasting(one.oldest_s),
            replicas(one),
            style="" if one.is_through and not one.parked else "yellow",
        )
    return table


def _everyone(seen: Look) -> Sequence[Standing]:
    return (*seen.workers, seen.archivist)


def _rate(before: int | None, now: int | None, seconds: float) -> float | None:
    """None when it is not known, as after Redis was restarted without its data."""
    return (now - before) / seconds if before is not None and now is not None and now >= before and seconds > 0 else None
