"""What more replicas give: `python -m tests.bench.replicas [--json]`, about eight minutes. docs/performance.md has its figures.

    1, 2, 4 processes ─┬─ everything at once ────────────────▶ events a second, from the first XADD until all is at rest
                       └─ an even pace, half of what one can ─▶ each receipt's time less its entry's: median and p95

Three households: the deduplicator alone with an embedder that costs nothing, and with the default one; and every worker with the archivist.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg
import uvloop
from rich.console import Console
from rich.table import Table

from events import CATALOGUE, encode, entry_time
from nous import log
from nous.settings import EmbedderName, Settings
from providers import embedder
from workers.runtime import streams

from .beside import measured
from .consumers import WORK, consuming
from .stand import GROUP, LOOK_EVERY_S, TOO_LONG_S, Stand, standing

COUNTS = (1, 2, 4)
WARM = 500
PACED_S = 15.0
TICK_S = 0.05


@dataclass(frozen=True)
class Household:
    """What is run in how many processes: a name for it, the workers (all when none), the embedder, and events for one round."""

    name: str
    workers: tuple[str, ...]
    embedder: EmbedderName
    events: int


HOUSEHOLDS = (
    Household("deduplicator, an embedder that costs nothing", (GROUP,), "zero", 8_000),
    Household("deduplicator, the default embedder", (GROUP,), Settings().embedder, 3_000),
    Household("every worker and the archivist, an embedder that costs nothing", (), "zero", 6_000),
)


@dataclass(frozen=True)
class Reading:
    """What so many processes of a household made of it; `others` is how many cores everybody else used meanwhile."""

    household: str
    replicas: int
    events_s: float
    paced_events_s: float
    median_ms: float
    p95_ms: float
    others: float


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.replicas", description="What more replicas give.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    readings = uvloop.run(_all())
    if options.json:
        print(json.dumps([asdict(one) for one in readings], indent=1))
    else:
        Console(width=None if sys.stdout.isatty() else 140).print(_table(readings))
    return 0


async def _all() -> list[Reading]:
    readings: list[Reading] = []
    with tempfile.TemporaryDirectory(prefix="nous-replicas-") as folder:
        async with standing(Path(folder) / "home") as stand:
            with Console(stderr=True).status("measuring", refresh_per_second=2) as status:
                for household in HOUSEHOLDS:
                    pace = 0.0
                    for count in COUNTS:
                        status.update(f"measuring {household.name}: {count}")
                        readings.append(await _reading(stand, household, count, pace))
                        pace = readings[-1].paced_events_s
    return readings


async def _reading(stand: Stand, household: Household, count: int, pace: float) -> Reading:
    """`pace` is of the paced round, in events a second; 0 for half of what was just seen."""
    async with _running(stand, household, count) as url:
        await stand.through(stand.events(WARM))
        await _at_rest(stand)
        with measured() as stretch:
            await _published(stand, household.events, pace=0)
            await _at_rest(stand)
        pace = pace or household.events / stretch.seconds / 2
        waits = await _waits(stand, url, pace)
    p95 = statistics.quantiles(waits, n=20)[-1]
    return Reading(
        household.name, count, household.events / stretch.seconds, pace, statistics.median(waits) * 1e3, p95 * 1e3, stretch.others
    )


@asynccontextmanager
async def _running(stand: Stand, household: Household, count: int) -> AsyncIterator[str]:
    """So many processes on a database of their own; its URL."""
    url = await stand.database(embedder(Settings(embedder=household.embedder)))
    async with AsyncExitStack() as running:
        for _ in range(count):
            command = [*WORK, *household.workers]
            await running.enter_async_context(consuming(stand, command, url, embedder=household.embedder, mind="offline"))
        yield url


async def _waits(stand: Stand, url: str, pace: float) -> list[float]:
    """Seconds from publication to receipt of events at an even pace: the deduplicator's receipts, by the ids of their entries."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET ROLE nous_operator")
        last = await connection.fetchval("SELECT max(recorded_at) FROM bus.receipts")
        await _published(stand, int(pace * PACED_S), pace=pace)
        await _at_rest(stand)
        rows = await connection.fetch("SELECT entry_id, recorded_at FROM bus.receipts WHERE worker = $1 AND recorded_at > $2", GROUP, last)
        return [(row["recorded_at"] - entry_time(row["entry_id"])).total_seconds() for row in rows]
    finally:
        await connection.close()


async def _published(stand: Stand, count: int, *, pace: float) -> None:
    """So many facts; `pace` of 0 is at once."""
    letters = [(event.stream, event.agent_id, encode(event)) for event in stand.events(count)]
    each = max(int(pace * TICK_S), 1) if pace else count
    began = time.perf_counter()
    for start in range(0, count, each):
        if pace:
            await asyncio.sleep(max(0.0, began + start / pace - time.perf_counter()))
        await streams.append(stand.redis, letters[start : start + each])


async def _at_rest(stand: Stand) -> None:
    """Until every group has passed every stream, twice in a row: what one publishes another may not have read yet."""
    clean = 0
    async with asyncio.timeout(TOO_LONG_S):
        while clean < 2:
            is_clean = all([await _is_passed(stand, stream) for stream in CATALOGUE])
            clean = clean + 1 if is_clean else 0
            await asyncio.sleep(LOOK_EVERY_S)


async def _is_passed(stand: Stand, stream: str) -> bool:
    keys = (await streams.positions(stand.redis, [stream])).values()
    return all(not at.lag and not at.pending for key in keys for at in key.groups.values())


def _table(readings: Sequence[Reading]) -> Table:
    table = Table(
        "household", "processes", "events/s", "at events/s", "median ms", "p95 ms", "others, cores", box=None, header_style="bold"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for one in readings:
        figures = (one.events_s, one.paced_events_s, one.median_ms, one.p95_ms)
        table.add_row(one.household, str(one.replicas), *(f"{figure:,.0f}" for figure in figures), f"{one.others:.1f}")
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
