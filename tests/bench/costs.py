"""What one event costs, stage by stage: `python -m tests.bench.costs [--json] [--events N]`, about a minute. docs/scale.md counts with it.

    deduplicator alone                 ─▶ its processor time, Postgres', Redis'
    ... with the supersession checker  ─▶ what that adds
    ... with the archivist             ─▶ what that adds, for the two entries of a fact
    afterwards                         ─▶ bytes: of a row and its index entries, of write-ahead log, of an entry in Redis

Processor time, not the clock: it hardly changes with what else the machine does. The embedder costs nothing and the mind is the offline
one; what those cost is measured elsewhere (tests.bench, tests.evals).
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg
import psutil
import uvloop
from rich.console import Console
from rich.table import Table

from events import FactLearned, FactStored
from nous import log
from nous.settings import Settings
from providers import embedder
from workers.runtime import streams

from .beside import family_cpu_s
from .consumers import WORK, consuming
from .stand import LOOK_EVERY_S, TOO_LONG_S, Stand, standing

EVENTS = 6_000
ROUNDS = 2  # of each set of stages the cheapest counts: what disturbs only adds
DEDUPLICATOR, CHECKER, ARCHIVIST = "deduplicator", "supersession_checker", streams.ARCHIVIST
STREAMS = {DEDUPLICATOR: FactLearned.stream, CHECKER: FactStored.stream, ARCHIVIST: FactLearned.stream}
STAGES: Sequence[Sequence[str]] = ((DEDUPLICATOR,), (DEDUPLICATOR, CHECKER), (DEDUPLICATOR, ARCHIVIST))
TABLES = (
    "heart.facts",
    "heart.fact_versions",
    "heart.fact_mentions",
    "heart.vectors_zero_f9194e",
    "bus.receipts",
    "bus.events",
)


@dataclass(frozen=True)
class Cost:
    """What one fact cost in a stage: processor milliseconds of the worker, of Postgres, of Redis; bytes of write-ahead log."""

    worker_ms: float
    postgres_ms: float
    redis_ms: float
    wal_bytes: float


@dataclass(frozen=True)
class Size:
    """What stands in a table for each of its rows: bytes of the row, bytes in its indexes."""

    table: str
    rows: int
    row_bytes: float
    index_bytes: float


@dataclass(frozen=True)
class Costs:
    """All of it: by stage, by table, and bytes of an entry by stream."""

    stages: dict[str, Cost]
    tables: list[Size]
    entries: dict[str, float]


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.costs", description="What one event costs, stage by stage.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--events", type=int, default=EVENTS, help="facts learned in each round")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    costs = uvloop.run(measured(options.events))
    if options.json:
        print(json.dumps(asdict(costs), indent=1))
    else:
        for table in _tables(costs):
            Console(width=None if sys.stdout.isatty() else 120).print(table, "")
    return 0


async def measured(events: int) -> Costs:
    """Run every stage, and look at what it left."""
    with tempfile.TemporaryDirectory(prefix="nous-costs-") as folder:
        async with standing(Path(folder) / "home") as stand:
            rounds: dict[str, list[Cost]] = {}
            for _ in range(ROUNDS):
                for names in STAGES:
                    url = await stand.database(embedder(Settings(embedder="zero")))
                    rounds.setdefault(names[-1], []).append(await _round(stand, url, names, events))
            entries = {stream: await _entry_bytes(stand, stream) for stream in (FactLearned.stream, FactStored.stream)}
            return Costs(_by_stage({stage: _cheapest(turns) for stage, turns in rounds.items()}), await _sizes(url), entries)


async def deduplicating(stand: Stand, events: int) -> Cost:
    """What a fact costs where only the deduplicator runs."""
    url = await stand.database(embedder(Settings(embedder="zero")))
    return await _round(stand, url, (DEDUPLICATOR,), events)


async def _round(stand: Stand, url: str, names: Sequence[str], count: int) -> Cost:
    """What a fact costs with these workers: the last one's own time, and all of the servers'."""
    async with AsyncExitStack() as running:
        processes = [await running.enter_async_context(_worker(stand, url, name)) for name in names]
        before = [_servers_cpu_s(), [family_cpu_s(one) for one in processes], await _wal(url)]
        await _through(stand, names, count)
        after = [_servers_cpu_s(), [family_cpu_s(one) for one in processes], await _wal(url)]
    (postgres, redis), worker, wal = (
        [late - early for early, late in zip(before[0], after[0], strict=True)],
        after[1][-1] - before[1][-1],
        after[2] - before[2],
    )
    return Cost(worker / count * 1e3, postgres / count * 1e3, redis / count * 1e3, wal / count)


@asynccontextmanager
async def _worker(stand: Stand, url: str, name: str) -> AsyncIterator[psutil.Process]:
    async with consuming(
        stand, [*WORK, name], url, stream=STREAMS[name], group=name, embedder="zero", mind="offline", stream_keep_s=3600
    ) as process:
        yield process


async def _through(stand: Stand, names: Sequence[str], count: int) -> None:
    await stand.through(stand.events(count))
    expected = {(name, STREAMS[name]) for name in names} | ({(ARCHIVIST, FactStored.stream)} if ARCHIVIST in names else set())
    async with asyncio.timeout(TOO_LONG_S):
        for name, stream in sorted(expected):
            while await stand.redis.xlen(stream) < count or not await _is_through(stand, stream, name):
                await asyncio.sleep(LOOK_EVERY_S)


async def _is_through(stand: Stand, stream: str, group: str) -> bool:
    state = await streams.group_state(stand.redis, stream, group)
    return not state.lag and not state.pending


def _servers_cpu_s() -> tuple[float, float]:
    """Processor seconds of Postgres and of Redis, with the processes of theirs that ended."""
    spent = {"postgres": 0.0, "redis": 0.0}
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            kind = "postgres" if "postgres" in one.name() else "redis" if "valkey" in one.name() or "redis" in one.name() else ""
            if kind:
                times = one.cpu_times()
                spent[kind] += times.user + times.system + times.children_user + times.children_system
    return spent["postgres"], spent["redis"]


def _cheapest(turns: Sequence[Cost]) -> Cost:
    return Cost(*(min(getattr(one, name) for one in turns) for name in Cost.__dataclass_fields__))


def _by_stage(together: dict[str, Cost]) -> dict[str, Cost]:
    """What each later stage adds to the servers' work of the first."""
    alone = together[DEDUPLICATOR]
    added = {
        stage: Cost(
            cost.worker_ms,
            *(max(getattr(cost, name) - getattr(alone, name), 0.0) for name in ("postgres_ms", "redis_ms", "wal_bytes")),
        )
        for stage, cost in together.items()
    }
    return added | {DEDUPLICATOR: alone}


async def _entry_bytes(stand: Stand, stream: str) -> float:
    return float(await stand.redis.memory_usage(stream, samples=0)) / await stand.redis.xlen(stream)


async def _wal(url: str) -> float:
    connection = await asyncpg.connect(url)
    try:
        return float(await connection.fetchval("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))
    finally:
        await connection.close()


async def _sizes(url: str) -> list[Size]:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET ROLE nous_operator")
        sizes = []
        for table in TABLES:
            rows, whole, heap = await connection.fetchrow(
                f"SELECT (SELECT count(*) FROM {table}), sum(pg_total_relation_size(r)), sum(pg_table_size(r)) FROM"
                f" (SELECT inhrelid AS r FROM pg_inherits WHERE inhparent = '{table}'::regclass UNION ALL SELECT '{table}'::regclass) q"
            )
            if rows:
                sizes.append(Size(table.replace("_zero_f9194e", ""), rows, float(heap) / rows, float(whole - heap) / rows))
        return sizes
    finally:
        await connection.close()


def _tables(costs: Costs) -> list[Table]:
    stages = Table("for one fact", "worker ms", "Postgres ms", "Redis ms", "write-ahead log, bytes", box=None, header_style="bold")
    for stage, cost in costs.stages.items():
        stages.add_row(stage, f"{cost.worker_ms:.2f}", f"{cost.postgres_ms:.2f}", f"{cost.redis_ms:.3f}", f"{cost.wal_bytes:,.0f}")
    tables = Table("for one row", "rows", "bytes", "in indexes", box=None, header_style="bold")
    for one in costs.tables:
        tables.add_row(one.table, f"{one.rows:,}", f"{one.row_bytes:,.0f}", f"{one.index_bytes:,.0f}")
    entries = Table("for one entry in Redis", "bytes", box=None, header_style="bold")
    for stream, size in costs.entries.items():
        entries.add_row(stream, f"{size:,.0f}")
    return [stages, tables, entries]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
