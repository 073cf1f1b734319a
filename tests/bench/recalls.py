"""How long memory takes to answer: `python -m tests.bench.recalls [--json] [--rows N]`, half an hour for a million facts.

    a store of a million facts ─▶ nous serve ─▶ agents of 100, 1,000, 10,000, 100,000 facts ─▶ one client, then eight
                                                   each question new to the process, then the same again, whose vectors it has kept
    the same in this process   ─▶ what the milliseconds go into, step by step
    recall_counter             ─▶ what counting use costs: events a second, and what publishing adds to an answer
    the same store once more, in a Postgres that has room for it (ROOM): recall, and its steps

"Without the embedding" is the same question asked again: everything but the embedding is done as before, the search by cosine too, which an
embedder that is away, or one that costs nothing, would change.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from events import MemoryRecalled, RecalledMemory, derived, encode
from nous import clock, ids, log
from nous.api import telling
from nous.api.service import Service, opened
from nous.embedded import postgres
from nous.settings import Settings
from nous.terms import terms
from providers import embedder
from recall import asking, choosing, looking, sessions
from recall import telling as words_of
from recall.asking import Wish
from recall.dates import span
from recall.remembering import Remembered
from store import embedders, facts, usage
from store.search import search
from workers.runtime import streams

from . import client, filled
from .beside import Stretch, measured
from .consumers import WORK, consuming
from .sentences import sentences
from .stand import LOOK_EVERY_S, TOO_LONG_S, Stand, standing

ROWS = 1_000_000
SIZES = (100, 1_000, 10_000, 100_000)
CLIENTS = (1, 8)
NEW, KEPT = "with", "without"
REQUESTS = 200
WITHIN_S = 25.0  # of one cell, however many it was by then
WARM = 20
STEPS = 60  # questions of which the steps are timed, as far as time allows
COUNTED_EVENTS = 10_000
COUNTED_MEMORIES = 8  # of each
COUNTED_OF = 1_000  # facts of the agent
COUNTER = "recall_counter"
ROOM = "2GB"  # of shared buffers, for a table of a million facts
LARGE = 10_000  # facts of an agent, from which on it is asked there too

Begin = Callable[[str, int], Callable[[int], None]]
Ask = Callable[..., client.Waits]


@dataclass(frozen=True)
class Cell:
    """One agent, route and number of clients, with or without the embedding: milliseconds, answers a second, cores others used."""

    facts: int
    route: str
    clients: int
    embedding: str
    requests: int
    p50: float
    p95: float
    p99: float
    per_s: float
    others: float
    room: str


@dataclass(frozen=True)
class Steps:
    """What recall for an agent of so many facts goes through: the median of each step, in milliseconds, one question at a time."""

    facts: int
    room: str
    steps: dict[str, float]
    hits: float


@dataclass(frozen=True)
class Counting:
    """What counting use costs: events a second through one worker, and what each answer of recall waits for its events, in milliseconds."""

    events_per_s: float
    publish_p50: float
    publish_p95: float
    boosts_p50: float


@dataclass(frozen=True)
class All:
    """Everything measured."""

    rows: int
    fill_s: float
    cells: list[Cell]
    steps: list[Steps]
    counting: Counting


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.recalls", description="How long memory takes to answer.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--rows", type=int, default=ROWS, help="facts in the table; agents of more than half of them are left out")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    found = uvloop.run(_all(options.rows))
    if options.json:
        print(json.dumps(asdict(found), indent=1))
    else:
        console = Console(width=None if sys.stdout.isatty() else 140)
        for table in _tables(found):
            console.print(table, "")
    return 0


async def _all(rows: int) -> All:
    sizes = [size for size in SIZES if size <= rows // 2]
    settings, asked = Settings(), _questions()
    with tempfile.TemporaryDirectory(prefix="nous-recalls-") as folder, _progress() as begin:
        home = Path(folder) / "home"
        async with standing(home) as stand:
            chosen = embedder(settings)
            url = await stand.database(chosen)
            started = time.perf_counter()
            await chosen.open()
            await filled.fill(url, chosen, sizes, rows, begin("facts", rows))
            await chosen.close()
            fill_s = time.perf_counter() - started
            cells = await _cells(stand, url, sizes, asked, (client.recalls, client.turns), begin, postgres.SETTINGS["shared_buffers"])
            async with _service(stand, url, settings) as service:
                steps = [await _steps(service, size, list(islice(asked, STEPS)), postgres.SETTINGS["shared_buffers"]) for size in sizes]
                counting = await _counting(stand, url, service, sizes[-1], list(islice(asked, STEPS)))
        large = [size for size in sizes if size >= LARGE]
        with _room(ROOM):
            async with standing(home) as stand:
                url = f"{stand.stack.database_url.rpartition('/')[0]}/{url.rpartition('/')[2]}"
                cells += await _cells(stand, url, large, asked, (client.recalls,), begin, ROOM)
                async with _service(stand, url, settings) as service:
                    steps += [await _steps(service, size, list(islice(asked, STEPS)), ROOM) for size in large]
        return All(rows, fill_s, cells, steps, counting)


@contextmanager
def _room(buffers: str) -> Iterator[None]:
    """Postgres started within the block has so much memory of its own for pages, as a server that is not embedded has."""
    before = postgres.SETTINGS["shared_buffers"]
    postgres.SETTINGS["shared_buffers"] = buffers
    try:
        yield
    finally:
        postgres.SETTINGS["shared_buffers"] = before


@asynccontextmanager
async def _service(stand: Stand, url: str, settings: Settings) -> AsyncIterator[Service]:
    async with opened(settings, url, stand.stack.redis_url, is_open=True) as service:
        await service.recall.embedder.open()
        yield service


def _questions() -> Iterator[str]:
    """Questions in the words of facts, none of them about a time: that would be two searches."""
    for said in sentences(seed=6):
        question = f"What do you know about {' '.join(said.rstrip('.').split()[1:7])}?"
        if span(question, clock.now()) is None:
            yield question


# ── over HTTP ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _cells(
    stand: Stand, url: str, sizes: Sequence[int], asked: Iterator[str], routes: Sequence[Ask], begin: Begin, room: str
) -> list[Cell]:
    advance = begin(f"requests, {room}", len(sizes) * len(CLIENTS) * len(routes) * 2 * REQUESTS)
    with client.served(url, stand.stack.redis_url) as (address, _):
        await _embedder_is_there(address, asked)
        return [cell for size in sizes async for cell in _cells_of(address, size, asked, routes, advance, room)]


async def _cells_of(
    address: str, size: int, asked: Iterator[str], routes: Sequence[Ask], advance: Callable[[int], None], room: str
) -> AsyncIterator[Cell]:
    agent = filled.agent(size)
    await asyncio.to_thread(client.recalls, address, agent, list(islice(asked, WARM)), clients=1, within_s=WITHIN_S)
    for clients in CLIENTS:
        for ask in routes:
            words = list(islice(asked, REQUESTS))
            for embedding in (NEW, KEPT):
                with measured() as stretch:
                    waits = await asyncio.to_thread(ask, address, agent, words, clients=clients, within_s=WITHIN_S)
                if waits.doubts:
                    raise RuntimeError(f"recall went without: {', '.join(waits.doubts)}; nothing was measured")
                words = words[: max(map(len, waits.by_route.values()))]  # those that the process has the vectors of
                for route, some in waits.by_route.items():
                    cell = _cell(size, route, clients, embedding, some, stretch, room)
                    print(cell, file=sys.stderr, flush=True)  # half an hour is long: what was measured is not lost
                    yield cell
                advance(REQUESTS)


async def _embedder_is_there(address: str, asked: Iterator[str]) -> None:
    async with asyncio.timeout(TOO_LONG_S):
        while (await asyncio.to_thread(client.recalls, address, "nobody", [next(asked)], clients=1, within_s=TOO_LONG_S)).doubts:
            await asyncio.sleep(LOOK_EVERY_S)


def _cell(facts: int, route: str, clients: int, embedding: str, waits: Sequence[float], stretch: Stretch, room: str) -> Cell:
    p50, p95, p99 = (_quantile(waits, share) for share in (0.5, 0.95, 0.99))
    return Cell(facts, route, clients, embedding, len(waits), p50, p95, p99, len(waits) / stretch.seconds, stretch.others, room)


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that so many of these do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


# ── step by step ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _steps(service: Service, size: int, questions: Sequence[str], room: str) -> Steps:
    """The steps of recall.remembering, and the parts of its look at the store by themselves."""
    tools, agent, waits = service.recall, filled.agent(size), _Waits()
    hits = []
    deadline = time.monotonic() + 2 * WITHIN_S
    for question in questions:
        if time.monotonic() > deadline:
            break
        with waits.of("read the question"):
            asked = await asking.read(tools, agent, question, (), Wish(otherwise="question"))
        with waits.of("look at the store"):
            seen = await looking.look(tools, asked, None)
        with waits.of("choose"):
            best, _ = await choosing.chosen(tools, asked, seen.ranked)
        with waits.of("tell"):
            await words_of.tell(tools, asked, seen, best)
        async with service.database.read([agent]) as db:
            registered, said = await embedders.active(db), terms(asked.own)
            with waits.of("  of the look: search by meaning and words"):
                found = await search(db, agent, asked.plan.kinds, vector=asked.vector, embedder=registered, terms=said)
            with waits.of("  of it: facts"):
                await search(db, agent, ["fact"], vector=asked.vector, embedder=registered, terms=said)
            with waits.of("  facts by words alone"):
                await search(db, agent, ["fact"], vector=None, embedder=registered, terms=said)
            with waits.of("  facts by meaning alone"):
                await search(db, agent, ["fact"], vector=asked.vector, embedder=registered, terms=())
            with waits.of("  of the look: use"):
                await usage.worth(db, agent, [(one.kind, one.memory_id) for one in found], clock.now())
        with waits.of("keep a turn (not in a recall)"):
            await sessions.start_turn(service.recall, agent, str(ids.new()), question)
        hits.append(sum(one.words > 0 for one in found))
    steps = Steps(size, room, waits.medians(), statistics.mean(hits))
    print(steps, file=sys.stderr, flush=True)
    return steps


class _Waits:
    """Times by name."""

    def __init__(self) -> None:
        self._all: dict[str, list[float]] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Time the block."""
        started = time.perf_counter()
        yield
        self._all.setdefault(name, []).append(1e3 * (time.perf_counter() - started))

    def medians(self) -> dict[str, float]:
        """Of each, in milliseconds."""
        return {name: statistics.median(some) for name, some in self._all.items()}

    def __getitem__(self, name: str) -> list[float]:
        return self._all[name]


# ── counting use ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _counting(stand: Stand, url: str, service: Service, size: int, questions: Sequence[str]) -> Counting:
    agent, waits = filled.agent(size), _Waits()
    for question in questions:
        asked = await asking.read(service.recall, agent, question, (), Wish(otherwise="question"))
        seen = await looking.look(service.recall, asked, None)
        best, _ = await choosing.chosen(service.recall, asked, seen.ranked)
        told = await words_of.tell(service.recall, asked, seen, best)
        remembered = Remembered(told.text, asked.plan.frame, told.tokens, told.memories)
        with waits.of("publish"):
            await telling.publish(service, telling.recalled(agent, ids.new(), remembered))
        async with service.database.read([agent]) as db:
            with waits.of("boosts"):
                await usage.worth(db, agent, [(one.found.kind, one.found.memory_id) for one in seen.ranked], asked.now)
    publish = waits["publish"]
    return Counting(
        await _through(stand, url, service, size), _quantile(publish, 0.5), _quantile(publish, 0.95), _quantile(waits["boosts"], 0.5)
    )


async def _through(stand: Stand, url: str, service: Service, size: int) -> float:
    """Recalls a second through one counter, of eight facts each."""
    agent = filled.agent(size)
    async with service.database.read([agent]) as db:
        known = [one.fact_id for one in await facts.listed(db, agent=agent, inactive=False, limit=COUNTED_OF)]
    chance = random.Random(7)
    events = [_recalled(agent, number, chance.sample(known, COUNTED_MEMORIES)) for number in range(COUNTED_EVENTS)]
    async with consuming(stand, [*WORK, COUNTER], url, stream=MemoryRecalled.stream, group=COUNTER):
        await _settled(stand)
        started = time.perf_counter()
        await streams.append(stand.redis, [(one.stream, agent, encode(one)) for one in events])
        await _settled(stand)
        return COUNTED_EVENTS / (time.perf_counter() - started)


async def _settled(stand: Stand) -> None:
    async with asyncio.timeout(TOO_LONG_S):
        while (state := await streams.group_state(stand.redis, MemoryRecalled.stream, COUNTER)).lag or state.pending:
            await asyncio.sleep(LOOK_EVERY_S)


def _recalled(agent: str, number: int, memories: Sequence[UUID]) -> MemoryRecalled:
    recall_id = ids.derived("bench", agent, str(number))
    return MemoryRecalled(
        event_id=derived("bench", agent, str(number)),
        agent_id=agent,
        occurred_at=clock.now(),
        recall_id=recall_id,
        frame="question",
        memories=tuple(RecalledMemory(kind="fact", id=one) for one in memories),
    )


# ── told ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tables(found: All) -> list[Table]:
    times = Table(
        "facts",
        "route",
        "clients",
        "embedding",
        "requests",
        "p50, ms",
        "p95",
        "p99",
        "answers/s",
        "others, cores",
        box=None,
        header_style="bold",
    )
    for one in found.cells:
        figures = (f"{one.p50:.1f}", f"{one.p95:.1f}", f"{one.p99:.1f}", f"{one.per_s:.0f}", f"{one.others:.1f}", one.room)
        times.add_row(f"{one.facts:,}", one.route, str(one.clients), one.embedding, str(one.requests), *figures)
    steps = Table("step, ms (median)", *(f"{one.facts:,} ({one.room})" for one in found.steps), box=None, header_style="bold")
    for name in found.steps[0].steps:
        steps.add_row(name, *(f"{one.steps[name]:.1f}" for one in found.steps))
    steps.add_row("found that say a word of it", *(f"{one.hits:.0f}" for one in found.steps))
    counting = Table("counting use", "", box=None, header_style="bold")
    counting.add_row("recalls of 8 facts counted, one process, events/s", f"{found.counting.events_per_s:,.0f}")
    counting.add_row("publishing what was told, ms: p50, p95", f"{found.counting.publish_p50:.2f}, {found.counting.publish_p95:.2f}")
    counting.add_row("reading use on the way, ms: p50", f"{found.counting.boosts_p50:.2f}")
    counting.add_row("filling the store, s", f"{found.fill_s:.0f}")
    return [times, steps, counting]


@contextmanager
def _progress() -> Iterator[Begin]:
    """A bar for each of what is under way."""
    with Progress(console=Console(stderr=True)) as bars:

        def begin(name: str, total: int) -> Callable[[int], None]:
            task = bars.add_task(name, total=total)
            return lambda count: bars.advance(task, count)

        yield begin


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
