"""What 1,000, 100,000 and 10 million agents need: `python -m tests.bench.scale [--json]`, at once; `--check` measures first, two minutes.

    a life  ─▶ sessions that close, by the second, through a day ─▶ facts ─▶ each worker's queue ─▶ how long they wait
                                                                      └─▶ processor time, bytes, tokens ─▶ servers, disks, dollars

What an event costs is measured (tests.bench.costs, docs/quality.md) and stands below; that twice the events cost twice as much is an
assumption, which `--check` tries as far as two cores go: the same costs, measured anew, against the throughput of 1, 2 and 4 replicas.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
import uvloop
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from nous import log
from nous.settings import Settings
from providers import embedder

from . import costs
from .beside import measured
from .consumers import WORKER, consuming
from .stand import standing

AGENTS = (1_000, 100_000, 10_000_000)
DAY_S = 86_400
MONTH_DAYS = 30
PEAK = 2.44  # the busiest moment of a day, times its mean; the quietest is 0.2
BUSY = 0.7  # of what a replica or server could do, at the busiest moment
FEWEST = 2  # of each worker, so that one may die


@dataclass(frozen=True)
class Life:
    """What one agent does in a day."""

    name: str
    sessions: float
    facts: float = 9.5  # a session's, as in LoCoMo: 943 facts in 99 sessions
    is_new: float = 0.9  # of its facts; assumed
    characters: float = 2_650  # a session's turns, as in LoCoMo


LIVES = (
    Life("low: talks every ninth day, as LoCoMo's friends", 0.11),
    Life("middle: talks twice a day", 2),
    Life("high: talks 20 times a day", 20),
)


@dataclass(frozen=True)
class Stage:
    """What one event costs in a worker: processor milliseconds of its own, of Postgres, of Redis; bytes of write-ahead log."""

    worker_ms: float
    postgres_ms: float
    redis_ms: float
    wal_bytes: float


# Measured by tests.bench.costs, for each fact (the archivist: for the two entries of one).
DEDUPLICATOR = Stage(0.77, 0.49, 0.040, 6_600)
CHECKER = Stage(5.4, 3.1, 0.24, 12_700)
ARCHIVIST = Stage(0.22, 0.07, 0.027, 1_800)
MEMORY_BYTES = 3_200  # a new fact: its row, first version, wording and vector, with their indexes
RECEIPT_BYTES = 2_200  # both receipts of a fact, with their indexes
ARCHIVED_BYTES = 1_570  # both entries of a fact
ENTRY_BYTES = 760  # both entries of a fact in Redis

# Measured elsewhere: docs/performance.md (the slower of its two machines), docs/quality.md.
EMBEDDED_S = 431  # facts a second through one deduplicator with the bundled embedder, which takes a core of its own
QUESTIONS, TOKENS_READ, PAIRS = 0.177, 428, 9.1  # for one new fact, brought session by session
EPISODE_READ, EPISODE_WRITTEN = 1_696, 497  # tokens, for one session
IDLE_P95_S = 0.036

# Assumed.
TOKENS_A_PAIR = 40  # written: a relation and a reason of at most fifteen words
TOKENS_A_SECOND = 60  # one answer's
PRICE_READ, PRICE_WRITTEN = 3.0, 15.0  # dollars a million tokens: NOUS_MIND_PRICE_IN, NOUS_MIND_PRICE_OUT
QUESTIONS_AT_ONCE = 64  # of one process: NOUS_MIND_CONCURRENCY, 8 unless set
KEPT_S = 60  # an entry stays in its stream: NOUS_STREAM_KEEP_S
OUTAGE_S = 3_600  # of everything behind Redis, to be outlived
SHARD_GB = 16
PRIMARY_CORES = 16
PRIMARY_WAL_MB_S = 100
PRIMARY_GB = 4_000


@dataclass(frozen=True)
class Need:
    """What so many agents of one life need."""

    agents: int
    life: str
    facts_s: float
    peak_facts_s: float
    deduplicators: int
    checkers: int
    archivists: int
    p95_s: float
    redis_gb: float
    outage_gb: float
    shards: int
    postgres_cores: float
    wal_mb_s: float
    memory_gb_month: float
    archive_gb_month: float
    primaries: int
    questions_day: float
    at_once: int
    dollars_day: float


def need(agents: int, life: Life) -> Need:
    """Simulate a day and add up."""
    facts_day = agents * life.sessions * life.facts
    mean, peak = facts_day / DAY_S, facts_day / DAY_S * PEAK
    new_peak = peak * life.is_new
    deduplicators = _replicas(peak, EMBEDDED_S)
    at_once = new_peak * PAIRS * TOKENS_A_PAIR / TOKENS_A_SECOND  # written a second, over what one answer writes
    checkers = max(_replicas(new_peak, alone(CHECKER)), math.ceil(at_once / QUESTIONS_AT_ONCE / BUSY))
    cores = (peak * (DEDUPLICATOR.postgres_ms + ARCHIVIST.postgres_ms) + new_peak * CHECKER.postgres_ms) / 1e3
    wal = (peak * (DEDUPLICATOR.wal_bytes + ARCHIVIST.wal_bytes) + new_peak * CHECKER.wal_bytes) / 1e6
    redis_s = peak * (DEDUPLICATOR.redis_ms + CHECKER.redis_ms + ARCHIVIST.redis_ms) / 1e3
    memory = facts_day * MONTH_DAYS * (life.is_new * MEMORY_BYTES + RECEIPT_BYTES) / 1e9
    sessions_day = agents * life.sessions
    archive = (facts_day * ARCHIVED_BYTES + sessions_day * life.characters) * MONTH_DAYS / 1e9
    outage = peak * OUTAGE_S * ENTRY_BYTES / 1e9
    return Need(
        agents=agents,
        life=life.name,
        facts_s=mean,
        peak_facts_s=peak,
        deduplicators=deduplicators,
        checkers=checkers,
        archivists=_replicas(peak, alone(ARCHIVIST)),
        p95_s=IDLE_P95_S + _p95_wait(agents, life, deduplicators * EMBEDDED_S),
        redis_gb=peak * KEPT_S * ENTRY_BYTES / 1e9,
        outage_gb=outage,
        shards=max(1, math.ceil(redis_s / BUSY), math.ceil(outage / SHARD_GB)),
        postgres_cores=cores,
        wal_mb_s=wal,
        memory_gb_month=memory,
        archive_gb_month=archive,
        primaries=max(
            1,
            math.ceil(cores / PRIMARY_CORES / BUSY),
            math.ceil(wal / PRIMARY_WAL_MB_S),
            math.ceil((memory + archive) * 12 / PRIMARY_GB),
        ),
        questions_day=sessions_day + facts_day * life.is_new * QUESTIONS,
        at_once=math.ceil(at_once),
        dollars_day=dollars(sessions_day, facts_day * life.is_new),
    )


def dollars(sessions: float, new_facts: float) -> float:
    """What a mind costs for so many sessions read and new facts compared."""
    read = sessions * EPISODE_READ + new_facts * TOKENS_READ
    written = sessions * EPISODE_WRITTEN + new_facts * PAIRS * TOKENS_A_PAIR
    return (read * PRICE_READ + written * PRICE_WRITTEN) / 1e6


# ── the model of a replica ────────────────────────────────────────────────────────────────────────────────────────────────


def alone(stage: Stage, *, pages: int = 2) -> float:
    """Events a second through one replica with servers to itself: `pages` go round between its loop and Postgres (mean value analysis)."""
    queued = [0.0, 0.0]
    rate = 0.0
    for customers in range(1, pages + 1):
        stays = [ms * (1 + waiting) for ms, waiting in zip((stage.worker_ms, stage.postgres_ms), queued, strict=True)]
        rate = customers / sum(stays)
        queued = [rate * stay for stay in stays]
    return rate * 1e3


def together(stage: Stage, replicas: int, cores: float) -> float:
    """Events a second through so many replicas that share `cores` with their servers."""
    return min(replicas * alone(stage), cores * 1e3 / (stage.worker_ms + stage.postgres_ms + stage.redis_ms))


def _replicas(rate: float, each: float) -> int:
    return max(FEWEST, math.ceil(rate / each / BUSY))


def _p95_wait(agents: int, life: Life, capacity: float) -> float:
    """Seconds that 95 of 100 facts wait at most, over a day by the second, when sessions close at random and bring their facts at once."""
    chance = np.random.default_rng(1)
    sessions = chance.poisson(agents * life.sessions / DAY_S * _shape())
    facts = chance.poisson(sessions * life.facts)
    backlog = np.zeros(DAY_S)
    left = 0.0
    for second, came in enumerate(facts.tolist()):
        left = max(0.0, left + came - capacity)
        backlog[second] = left
    own = life.facts / capacity  # behind those that came with it
    return _weighted_p95(backlog / capacity + own, facts)


def _shape() -> NDArray[np.float64]:
    """How much of its mean rate each second of a day has: a bell around noon that never ends at night."""
    sharpness = 1.25
    of_day = np.arange(DAY_S) / DAY_S * 2 * np.pi
    return np.exp(-sharpness * np.cos(of_day)) / np.i0(sharpness)


def _weighted_p95(values: NDArray[np.float64], weights: NDArray[np.int64]) -> float:
    if not weights.any():
        return 0.0
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(share, 0.95)])


# ── held against what is measured ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Point:
    """So many replicas: what was measured, and what the model says for the cores that were left."""

    replicas: int
    measured: float
    cores: float
    modelled: float


async def checked(events: int) -> tuple[Stage, list[Point]]:
    """Measure a deduplicator's costs, and its throughput at 1, 2 and 4 replicas, on this machine."""
    cores = psutil.cpu_count() or 1
    points: list[tuple[int, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="nous-scale-") as folder:
        async with standing(Path(folder) / "home") as stand:
            zero = embedder(Settings(embedder="zero"))
            cost = await costs.deduplicating(stand, events)
            for replicas in (1, 2, 4):
                turns = []
                for _ in range(2):
                    url = await stand.database(zero)
                    async with AsyncExitStack() as running:
                        for _ in range(replicas):
                            await running.enter_async_context(consuming(stand, WORKER, url, embedder="zero"))
                        await stand.through(stand.events(500))
                        told = stand.events(events)
                        with measured() as stretch:
                            seconds = await stand.through(told)
                    turns.append((events / seconds, stretch.others))
                points.append((replicas, *max(turns)))
    stage = Stage(**asdict(cost))
    return stage, [Point(n, rate, cores - others, together(stage, n, cores - others)) for n, rate, others in points]


# ── told ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def main(arguments: list[str]) -> int:
    """Print what is needed, or how the model stands to what is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description="What so many agents need.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--check", action="store_true", help="hold the model against throughput measured here")
    parser.add_argument("--events", type=int, default=5_000, help="with --check: facts learned in each turn")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    console = Console(width=None if sys.stdout.isatty() else 150)
    if options.check:
        stage, points = uvloop.run(checked(options.events))
        if options.json:
            print(json.dumps({"stage": asdict(stage), "points": [asdict(one) for one in points]}, indent=1))
        else:
            console.print(_points(points))
            console.print(
                f"\na fact costs {stage.worker_ms:.2f} ms of the worker, {stage.postgres_ms:.2f} of Postgres, {stage.redis_ms:.3f} of Redis"
            )
        return 0
    needs = [need(agents, life) for life in LIVES for agents in AGENTS]
    if options.json:
        print(json.dumps([asdict(one) for one in needs], indent=1))
    else:
        for life in LIVES:
            console.print(_needs(life, [one for one in needs if one.life == life.name]), "")
    return 0


def _points(points: Sequence[Point]) -> Table:
    table = Table("replicas", "measured, events/s", "cores left", "modelled", "off by", box=None, header_style="bold")
    for one in points:
        off = one.modelled / one.measured - 1
        table.add_row(str(one.replicas), f"{one.measured:,.0f}", f"{one.cores:.1f}", f"{one.modelled:,.0f}", f"{off:+.0%}")
    return table


_ROWS = {
    "facts a second, mean and at the peak": lambda n: f"{_short(n.facts_s)}, {_short(n.peak_facts_s)}",
    "deduplicators, two cores each": lambda n: f"{n.deduplicators:,}",
    "checkers (questions at once)": lambda n: f"{n.checkers:,} ({n.at_once:,})",
    "archivists": lambda n: f"{n.archivists:,}",
    "p95, published to receipt, s": lambda n: f"{n.p95_s:.2f}",
    "Redis, GB; after an hour's outage": lambda n: f"{_short(n.redis_gb)}; {_short(n.outage_gb)}",
    "Redis shards": lambda n: f"{n.shards:,}",
    "Postgres, cores busy at the peak": lambda n: _short(n.postgres_cores),
    "write-ahead log, MB/s at the peak": lambda n: _short(n.wal_mb_s),
    "memory and receipts, GB a month": lambda n: _short(n.memory_gb_month),
    "archive, GB a month": lambda n: _short(n.archive_gb_month),
    "Postgres primaries": lambda n: f"{n.primaries:,}",
    "questions to a mind a day": lambda n: f"{n.questions_day:,.0f}",
    "dollars a day": lambda n: f"{n.dollars_day:,.0f}",
}


def _needs(life: Life, needs: Sequence[Need]) -> Table:
    table = Table(life.name, *(f"{one.agents:,} agents" for one in needs), box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for what, told in _ROWS.items():
        table.add_row(what, *(told(one) for one in needs))
    return table


def _short(value: float) -> str:
    if value < 0.01:
        return "< 0.01"
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
