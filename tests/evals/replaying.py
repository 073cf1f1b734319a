"""Real conversations, lived by one replica and by four, each replayed twice: is it the same store, row for row, and how fast?

LoCoMo observations ──▶ every worker, so many replicas, the archivist ──▶ nous replay, twice ──▶ every table of both compared

The mind says of two texts what follows from their letters, after a moment of its own, so that claims merge, conflict and supersede in
an order that no two runs share; what it says of them is no measure of quality.
"""

import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

import workers
from events import FactLearned, publish
from nous import embedded, log
from nous.cli import replay
from nous.replaying.wanted import Wanted
from nous.settings import Settings
from providers.mind import A, Comparison, Judgement, Judgements, NoAnswer, Question, Reply, Task
from store import replays
from store.migrate import migrate
from tests.nous.living import COMPARED, dump
from workers.runtime.app import Process, kit
from workers.runtime.look import settled

from .locomo_stream import conversations, observations
from .vectors import bundled

REPLICAS = (1, 4)
TURNS = 2
RELATIONS = ("compatible",) * 12 + ("same", "refines", "updates", "contradicts", "unsure")
TOO_LONG_S = 900.0


@dataclass(frozen=True)
class Replayed:
    """One replay: of so many decisions by so many replicas; rows that are alike and rows that differ, and how fast it was."""

    replicas: int
    turn: int
    events: int
    decisions: int
    alike: int
    differing: int
    per_second: float


def measure(data: Path) -> list[Replayed] | None:
    """Each number of replicas on a store of its own; None where the folder has no LoCoMo conversations."""
    found = conversations(data)
    if not found:
        return None
    log.configure(log_format="auto", level="error")
    observed = [event for conversation in found for event in observations(conversation)]
    return [one for count in REPLICAS for one in asyncio.run(_measured(count, observed))]


def report(measured: Sequence[Replayed], console: Console, *, curves: bool) -> None:
    """Print the table."""
    table = Table(title="LoCoMo observations, lived and replayed as they were applied", title_justify="left")
    for name in ("replicas", "replay", "root events", "decisions", "rows alike", "rows that differ", "decisions a second"):
        table.add_column(name, justify="right")
    for one in measured:
        table.add_row(*(f"{value:,.0f}" for value in asdict(one).values()))
    console.print(table)


def as_json(measured: Sequence[Replayed]) -> list[dict[str, Any]]:
    """The table for a machine."""
    return [asdict(one) for one in measured]


class Moody:
    """A mind that takes a moment, and says of any two texts what follows from their letters."""

    def __init__(self) -> None:
        self._dice = random.Random(5)

    def model(self, task: Task) -> str:
        """One name for everything."""
        return "moody"

    async def ask(self, question: Question[A]) -> Reply[A]:
        """A judgement for each pair."""
        if not isinstance(question.about, Comparison):
            raise NoAnswer("it only compares")
        await asyncio.sleep(self._dice.uniform(0, 0.2))
        given: Any = Judgements(
            judgements=[_judged(number, one.older.content, one.newer.content) for number, one in enumerate(question.about.pairs, 1)]
        )
        return Reply(given)

    async def close(self) -> None:
        """Nothing to let go of."""


def _judged(number: int, older: str, newer: str) -> Judgement:
    relation: Any = RELATIONS[uuid5(NAMESPACE_URL, "\n".join(sorted((older, newer)))).int % len(RELATIONS)]
    return Judgement(pair=number, relation=relation, richer="newer" if relation == "refines" else None)


async def _measured(replicas: int, observed: Sequence[FactLearned]) -> list[Replayed]:
    chosen = bundled("use-multilingual-v3")
    with tempfile.TemporaryDirectory(prefix="nous-eval-") as folder, embedded.running(Path(folder) / "home", durable=False) as stack:
        await migrate(stack.database_url, embedder=chosen.name, dimension=chosen.dimension)
        settings = Settings(home=stack.home, database_url=stack.database_url, redis_url=stack.redis_url, page=32)
        await _live(settings, replicas, observed, chosen)
        there = await dump(stack.database_url)
        return [await _replayed(settings, replicas, turn, len(observed), there) for turn in range(1, TURNS + 1)]


async def _live(settings: Settings, replicas: int, observed: Sequence[FactLearned], chosen: Any) -> None:
    stop = asyncio.Event()
    redis_url = settings.redis_url or ""
    async with kit(settings, settings.database_url or "", chosen, Moody()) as made:
        each = [Process(list(workers.table().values()), made, redis_url, archives=True) for _ in range(replicas)]
        running = [asyncio.create_task(one.run(stop)) for one in each]
        redis = Redis.from_url(redis_url)
        await publish(redis, observed)
        is_settled, left = await settled(settings, made.database, redis, timeout_s=TOO_LONG_S)
        await redis.aclose()
        stop.set()
        await asyncio.gather(*running)
    if not is_settled:
        raise TimeoutError(f"not settled after {TOO_LONG_S:g} s: {left}")


async def _replayed(settings: Settings, replicas: int, turn: int, events: int, there: dict[str, list[Any]]) -> Replayed:
    name = f"turn{turn}"
    asked = replay.Asked(Wanted(), None, name, "applied", asks=False, steps=False, sets=(), source=replay.ARCHIVE)
    began = time.perf_counter()
    await replay.run(settings, asked, is_json=True)
    seconds = time.perf_counter() - began
    here = await dump(replays.url_of(settings.database_url or "", name))
    await replays.drop(settings.database_url or "", name)
    pairs = [(there[table], here[table]) for table in COMPARED]
    alike = sum(one == other for ours, theirs in pairs for one, other in zip(ours, theirs, strict=False))
    rows = sum(max(len(ours), len(theirs)) for ours, theirs in pairs)
    decisions = len(there["bus.receipts"])
    return Replayed(replicas, turn, events, decisions, alike, rows - alike, decisions / seconds)
