"""What is measured, in order, and what it is held against. Each figure stands beside its limit, measured in the same run.

embedder alone ─┐ in turns, so that a machine whose speed wanders
worker with it ─┘ wanders for both; the ratio is the median turn's ─▶ then that worker with one event at a time, and with none
bare loop ──────┐
worker, zero ───┘ in turns ─▶ then episodes that close, with a mind that is slow
"""

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import psutil

from events import publish
from nous import clock
from nous.settings import EmbedderName, Settings
from providers import Embedder, embedder

from .beside import Stretch, family, family_cpu_s, measured
from .closings import ANSWER_S, AT_ONCE, LONG, WORKERS, closings, mind
from .consumers import BARE, WORK, WORKER, consuming
from .stand import LOOK_EVERY_S, TOO_LONG_S, Stand, receipts, visible

ROUNDS = 3
EMBEDDED_EVENTS = 3_000
ALONE_SENTENCES = 1_500
ZERO_EVENTS = 10_000
WARM_EVENTS = 500
SINGLE_EVENTS = 100
SINGLE_APART_S = (0.05, 0.12)  # so that the stack is idle again, and no beat of its loops is met each time
SETTLED_S = 5.0
IDLE_S = 20.0


@dataclass(frozen=True)
class Figure:
    """One measured figure: how much, in which unit, each turn's if it is a median, and what was asked of it."""

    what: str
    value: float
    unit: str
    turns: Sequence[float] = ()
    target: str = ""
    is_met: bool | None = None


@dataclass
class Run:
    """One run of everything: the stand, the settings, whom to tell what is under way, and what others did meanwhile."""

    stand: Stand
    settings: Settings
    say: Callable[[str], None]
    figures: list[Figure] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    async def all(self) -> None:
        """Measure one after another."""
        await self._with_the_embedder()
        await self._without()
        await self._closings()

    # ── the chosen embedder ───────────────────────────────────────────────────────────────────────────────────────────

    async def _with_the_embedder(self) -> None:
        chosen = embedder(self.settings)
        url = await self.stand.database(chosen)
        async with consuming(self.stand, WORKER, url, embedder=self.settings.embedder) as process:
            self.say("the embedder alone, and a worker with it, in turns")
            await self._embedded(chosen, url)
            self.say("one event at a time")
            await self._one_at_a_time(url)
            self.say("a worker with nothing to do")
            await self._idle(process)

    async def _embedded(self, chosen: Embedder, url: str) -> None:
        await self.stand.through(self.stand.events(WARM_EVENTS))
        await chosen.open()
        await self._alone(chosen, WARM_EVENTS)
        alone, worker = [], []
        for _ in range(ROUNDS):
            alone.append(ALONE_SENTENCES / await self._alone(chosen, ALONE_SENTENCES))
            worker.append(EMBEDDED_EVENTS / await self._through(EMBEDDED_EVENTS))
        await chosen.close()
        await _all_there(url, WARM_EVENTS + ROUNDS * EMBEDDED_EVENTS)
        self._median(f"embedder alone ({self.settings.embedder}, pages of {self.settings.page})", alone, "sentences/s")
        self._median("one worker process with it, XADD to committed receipt", worker, "events/s")
        self._ratio("  of the embedder alone", worker, alone, at_least=0.7)

    async def _alone(self, chosen: Embedder, count: int) -> float:
        said = [event.content for event in self.stand.events(count)]
        with self._measured() as stretch:
            for start in range(0, count, self.settings.page):
                await chosen.embed(said[start : start + self.settings.page])
        return stretch.seconds

    async def _one_at_a_time(self, url: str) -> None:
        with self._measured():
            waits = [1_000 * wait async for wait in visible(self.stand, url, self.stand.events(SINGLE_EVENTS), apart_s=SINGLE_APART_S)]
        p95 = statistics.quantiles(waits, n=20)[-1]
        self.figures.append(Figure("one event on an idle stack, XADD to visible receipt: median", statistics.median(waits), "ms"))
        self._asked("  95th percentile", p95, "ms", "under 250", is_met=p95 < 250)
        self.figures.append(Figure("  slowest", max(waits), "ms"))

    async def _idle(self, process: psutil.Process) -> None:
        await asyncio.sleep(SETTLED_S)
        before, started = family_cpu_s(process), time.perf_counter()
        with self._measured():
            await asyncio.sleep(IDLE_S)
        percent = 100 * (family_cpu_s(process) - before) / (time.perf_counter() - started)
        memory = sum(one.memory_info().rss for one in family(process)) / 1e6
        self._asked("that worker idle, with its model's process: processor", percent, "% of a core", "under 2", is_met=percent < 2)
        self._asked("  memory", memory, "MB", "under 400", is_met=memory < 400)

    # ── an embedder that costs nothing ────────────────────────────────────────────────────────────────────────────────

    async def _without(self) -> None:
        self.say("a bare loop, and a worker whose embedder costs nothing, in turns")
        bare, worker = [], []
        for _ in range(ROUNDS):
            bare.append(await self._throughput(BARE, "zero"))
            worker.append(await self._throughput(WORKER, "zero"))
        rate = statistics.median(worker)
        self._median("bare loop: reads the stream, inserts the same rows, decides nothing", bare, "events/s")
        self._asked("one worker process, zero-cost embedder", rate, "events/s", "at least 1,000", turns=worker, is_met=rate >= 1_000)
        self._ratio("  of the bare loop", worker, bare)

    async def _throughput(self, command: Sequence[str], named: EmbedderName) -> float:
        """Events a second of a process that reads the stream, over agents of 100 facts each, on a database of its own."""
        url = await self.stand.database(embedder(Settings(embedder=named)))
        async with consuming(self.stand, command, url, embedder=named):
            await self.stand.through(self.stand.events(WARM_EVENTS))
            seconds = await self._through(ZERO_EVENTS)
        await _all_there(url, WARM_EVENTS + ZERO_EVENTS)
        return ZERO_EVENTS / seconds

    # ── episodes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _closings(self) -> None:
        self.say(f"{AT_ONCE} episodes that close at once, with a mind that takes {ANSWER_S:.0f} s for an answer")
        url = await self.stand.database(embedder(Settings(embedder="zero")))
        summarized: list[float] = []
        learned: list[float] = []
        async with (
            mind() as server,
            consuming(self.stand, [*WORK, *WORKERS], url, environment=server.environment, embedder="zero", mind="claude"),
        ):
            for turn in range(ROUNDS):
                closed_at = clock.now()
                with self._measured():
                    await publish(self.stand.redis, closings(turn))
                    for worker, waits in (("episode_summarizer", summarized), ("deduplicator", learned)):
                        written = await _written(url, worker, (turn + 1) * AT_ONCE)
                        waits += [(at - closed_at).total_seconds() for at in written if at > closed_at]
        p95 = statistics.quantiles(summarized, n=20)[-1]
        self._asked(f"{AT_ONCE} episodes closed at once, {LONG} of them long: p95 to the summary", p95, "s", "under 30", is_met=p95 < 30)
        p95 = statistics.quantiles(learned, n=20)[-1]
        self._asked("  to what was learned from it", p95, "s", "under 30", is_met=p95 < 30)

    # ── writing it down ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _through(self, count: int) -> float:
        events = self.stand.events(count)
        with self._measured():
            return await self.stand.through(events)

    @contextmanager
    def _measured(self) -> Iterator[Stretch]:
        with measured() as stretch:
            yield stretch
        self.others.append(stretch.others)

    def _median(self, what: str, turns: Sequence[float], unit: str) -> None:
        self.figures.append(Figure(what, statistics.median(turns), unit, turns))

    def _asked(self, what: str, value: float, unit: str, target: str, *, is_met: bool, turns: Sequence[float] = ()) -> None:
        self.figures.append(Figure(what, value, unit, turns, target, is_met))

    def _ratio(self, what: str, of: Sequence[float], to: Sequence[float], *, at_least: float | None = None) -> None:
        turns = [one / other for one, other in zip(of, to, strict=True)]
        value = statistics.median(turns)
        if at_least is None:
            self.figures.append(Figure(what, value, "ratio", turns))
        else:
            self._asked(what, value, "ratio", f"at least {at_least:.2f}", turns=turns, is_met=value >= at_least)


async def _all_there(url: str, expected: int) -> None:
    """A speed counts only if the work was done."""
    done = len(await receipts(url))
    if done != expected:
        raise RuntimeError(f"{expected} events were published and {done} have a receipt; nothing was measured")


async def _written(url: str, worker: str, expected: int) -> list[datetime]:
    """When each of the worker's receipts was written, once there are so many."""
    async with asyncio.timeout(TOO_LONG_S):
        while len(written := await receipts(url, worker)) < expected:
            await asyncio.sleep(LOOK_EVERY_S)
    return written
