"""What is measured, in order, and what it is held against. Each figure stands beside its limit, measured in the same run.

embedder alone ──────▶ the limit of a worker with that embedder
bare loop ───────────▶ the limit of a worker whose embedder costs nothing
worker, each way; one event on an idle stack; a worker with nothing to do
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import islice

import psutil

from nous.settings import EmbedderName, Settings
from providers import Embedder, embedder

from .consumers import BARE, WORKER, consuming
from .sentences import sentences
from .stand import Stand, receipts

EMBEDDED_EVENTS = 3_000
ZERO_EVENTS = 10_000
WARM_EVENTS = 500
ROUNDS = 3
SINGLE_EVENTS = 100
IDLE_S = 20.0


@dataclass(frozen=True)
class Figure:
    """One measured figure: what, how much, in which unit, and what was asked of it."""

    what: str
    value: float
    unit: str
    target: str = ""
    is_met: bool | None = None


async def figures(stand: Stand, settings: Settings, say: Callable[[str], None]) -> AsyncIterator[Figure]:
    """Measure one after another; `say` is told what is under way."""
    say("the embedder alone")
    alone = await embedder_alone(settings)
    yield Figure(f"embedder alone ({settings.embedder}, pages of {settings.page})", alone, "sentences/s")
    say("a worker with that embedder")
    worker, idle = await bundled_worker(stand, settings, say)
    yield Figure("worker with that embedder, XADD to receipt", worker, "events/s")
    yield Figure("  of the embedder alone", worker / alone, "ratio", "at least 0.70", worker / alone >= 0.7)
    say("the bare loop")
    bare = await throughput(stand, BARE, "zero")
    yield Figure("bare loop: read and insert, decide nothing", bare, "events/s")
    say("a worker whose embedder costs nothing")
    zero = await throughput(stand, WORKER, "zero")
    yield Figure("worker with a zero-cost embedder", zero, "events/s", "at least 1,000", zero >= 1_000)
    yield Figure("  of the bare loop", zero / bare, "ratio")
    yield Figure("one event on an idle stack, median", statistics.median(idle.latencies_ms), "ms")
    p95 = statistics.quantiles(idle.latencies_ms, n=20)[-1]
    yield Figure("one event on an idle stack, p95", p95, "ms", "under 250", p95 < 250)
    yield Figure("idle worker, processor", idle.cpu_percent, "% of a core", "under 2", idle.cpu_percent < 2)
    yield Figure("idle worker, memory", idle.memory_mb, "MB", "under 400", idle.memory_mb < 400)


async def embedder_alone(settings: Settings) -> float:
    """Sentences a second of the embedder in pages of the worker's size, with its threads and nothing beside it."""
    chosen = embedder(settings)
    await chosen.open()
    said = list(islice(sentences(seed=1), WARM_EVENTS + EMBEDDED_EVENTS))
    await _embed(chosen, said[:WARM_EVENTS], settings.page)
    rates = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        await _embed(chosen, said[WARM_EVENTS:], settings.page)
        rates.append(EMBEDDED_EVENTS / (time.perf_counter() - started))
    await chosen.close()
    return statistics.median(rates)


async def _embed(chosen: Embedder, said: list[str], page: int) -> None:
    for start in range(0, len(said), page):
        await chosen.embed(said[start : start + page])


@dataclass(frozen=True)
class Idle:
    """A worker with next to nothing to do."""

    latencies_ms: list[float]
    cpu_percent: float
    memory_mb: float


async def bundled_worker(stand: Stand, settings: Settings, say: Callable[[str], None]) -> tuple[float, Idle]:
    """Events a second of one worker process with the chosen embedder, and the same process idle."""
    url = await stand.database(embedder(settings))
    async with consuming(stand, WORKER, url, embedder=settings.embedder) as process:
        await stand.through(stand.events(WARM_EVENTS))
        rate = statistics.median([EMBEDDED_EVENTS / await stand.through(stand.events(EMBEDDED_EVENTS)) for _ in range(ROUNDS)])
        await _all_there(url, WARM_EVENTS + ROUNDS * EMBEDDED_EVENTS)
        say("one event at a time")
        latencies = [1_000 * await stand.through([event]) for event in stand.events(SINGLE_EVENTS)]
        say("a worker with nothing to do")
        family = [process, *process.children(recursive=True)]  # the embedder's model stands in a process of its own
        return rate, Idle(latencies, await _idle_cpu_percent(family), sum(one.memory_info().rss for one in family) / 1e6)


async def throughput(stand: Stand, command: list[str], named: EmbedderName) -> float:
    """Events a second of a process that reads the stream, over agents of 100 facts each."""
    url = await stand.database(embedder(Settings(embedder=named)))
    async with consuming(stand, command, url, embedder=named):
        await stand.through(stand.events(WARM_EVENTS))
        rate = ZERO_EVENTS / await stand.through(stand.events(ZERO_EVENTS))
    await _all_there(url, WARM_EVENTS + ZERO_EVENTS)
    return rate


async def _idle_cpu_percent(family: list[psutil.Process]) -> float:
    before, started = _cpu_s(family), time.perf_counter()
    await asyncio.sleep(IDLE_S)
    return 100 * (_cpu_s(family) - before) / (time.perf_counter() - started)


def _cpu_s(family: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (one.cpu_times() for one in family))


async def _all_there(url: str, expected: int) -> None:
    """A speed counts only if the work was done."""
    done = await receipts(url)
    if done != expected:
        raise RuntimeError(f"{expected} events were published and {done} have a receipt; nothing was measured")
