"""A million events: `python -m tests.bench.million [--events N] [--json]`, half an hour. What grows, and what does not.

    facts, as fast as the slowest works them ─▶ every worker and the archivist, in two processes ─▶ bus.events
                                            every ten seconds: memory of every process, of Redis, entries in its streams

Each fact is two events, what was learned and what was stored, and both are archived. Memory of a process is its resident set less what it
shares (Postgres' buffers are shared by all of its processes, and counted once, beside them).
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg
import psutil
import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from events import CATALOGUE, FactLearned, FactStored, encode
from nous import log
from nous.settings import Settings
from providers import embedder
from workers.runtime import streams

from .consumers import WORK, consuming
from .stand import GROUP, Stand, standing

EVENTS = 1_000_000
REPLICAS = 2
AHEAD = 5_000
ON_THE_WAY = ((FactLearned.stream, GROUP), (FactStored.stream, "supersession_checker"))
AT_ONCE = 1_000
LOOK_EVERY_S = 10.0
ROWS_SHOWN = 11


@dataclass(frozen=True)
class Look:
    """How things stood: events archived, seconds since the first, and megabytes."""

    events: int
    seconds: float
    workers_mb: list[float]
    postgres_mb: float
    redis_mb: float
    redis_data_mb: float
    entries: int


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.million", description="What grows with events, and what does not.")
    parser.add_argument("--events", type=int, default=EVENTS, help="how many are archived in the end")
    parser.add_argument("--json", action="store_true", help="print every look for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    looks = uvloop.run(_all(options.events))
    if options.json:
        print(json.dumps([asdict(one) for one in looks], indent=1))
    else:
        Console(width=None if sys.stdout.isatty() else 140).print(_table(looks))
    return 0


async def _all(events: int) -> list[Look]:
    with tempfile.TemporaryDirectory(prefix="nous-million-") as folder:
        async with standing(Path(folder) / "home") as stand, AsyncExitStack() as running:
            url = await stand.database(embedder(Settings(embedder="zero")))
            workers = [
                await running.enter_async_context(consuming(stand, WORK, url, embedder="zero", mind="offline")) for _ in range(REPLICAS)
            ]
            publishing = asyncio.create_task(_publish(stand, events // 2))
            try:
                return await _looks(stand, url, workers, events, publishing)
            finally:
                publishing.cancel()


async def _looks(stand: Stand, url: str, workers: list[psutil.Process], events: int, publishing: "asyncio.Task[None]") -> list[Look]:
    looks: list[Look] = []
    began = time.perf_counter()
    connection = await asyncpg.connect(url)
    await connection.execute("SET ROLE nous_operator")
    try:
        with Progress(console=Console(stderr=True)) as progress:
            bar = progress.add_task("events archived", total=events)
            while not looks or looks[-1].events < events:
                if publishing.done():
                    publishing.result()
                await asyncio.sleep(LOOK_EVERY_S)
                looks.append(await _look(stand, connection, workers, time.perf_counter() - began))
                progress.update(bar, completed=looks[-1].events)
            await asyncio.sleep(Settings().stream_keep_s + LOOK_EVERY_S)
            return [*looks, await _look(stand, connection, workers, time.perf_counter() - began)]
    finally:
        await connection.close()


async def _publish(stand: Stand, facts: int) -> None:
    """So many facts, never more than AHEAD of the slowest of those who work them."""
    left = facts
    while left:
        events = stand.events(min(AT_ONCE, left))
        left -= len(events)
        await streams.append(stand.redis, [(event.stream, event.agent_id, encode(event)) for event in events])
        while max([(await streams.group_state(stand.redis, stream, group)).lag for stream, group in ON_THE_WAY]) > AHEAD:
            await asyncio.sleep(0.05)


async def _look(stand: Stand, connection: asyncpg.Connection, workers: list[psutil.Process], seconds: float) -> Look:
    memory = {"postgres": 0.0, "valkey": 0.0}
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            for kind in memory:
                memory[kind] += _own_mb(one) if kind in one.name() else 0.0
    return Look(
        events=await connection.fetchval("SELECT count(*) FROM bus.events"),
        seconds=seconds,
        workers_mb=[sum(_own_mb(one) for one in (worker, *worker.children(recursive=True))) for worker in workers],
        postgres_mb=memory["postgres"],
        redis_mb=memory["valkey"],
        redis_data_mb=(await stand.redis.info("memory"))["used_memory"] / 1e6,
        entries=sum([await stand.redis.xlen(stream) for stream in CATALOGUE]),
    )


def _own_mb(process: psutil.Process) -> float:
    memory = process.memory_info()
    return float(memory.rss - memory.shared) / 1e6


def _table(looks: list[Look]) -> Table:
    table = Table("events", "minutes", "workers MB", "Postgres MB", "Redis MB", "of it data", "entries", box=None, header_style="bold")
    for column in table.columns:
        column.justify = "right"
    shown = [looks[round(at * (len(looks) - 2) / (ROWS_SHOWN - 1))] for at in range(ROWS_SHOWN)] if len(looks) > ROWS_SHOWN else looks[:-1]
    for one in (*shown, looks[-1]):
        workers = " + ".join(f"{memory:,.0f}" for memory in one.workers_mb)
        figures = (one.postgres_mb, one.redis_mb, one.redis_data_mb, one.entries)
        table.add_row(f"{one.events:,}", f"{one.seconds / 60:.1f}", workers, *(f"{figure:,.0f}" for figure in figures))
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
