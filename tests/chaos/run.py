"""One run: the stand is built, life goes on under faults, all comes to rest, and what is is compared with what must be.

servers ─▶ schema, censors ─▶ replicas ─▶ producers ∥ faults ∥ the mind's moods ─▶ rest ─▶ the faultless retried ─▶ check
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from redis.asyncio import Redis

from providers.zero import DIMENSION, PROFILE
from store import parked
from store.database import Database
from store.migrate import migrate
from tests.model_server import ModelServer
from tests.system.replica import FAIL, KILL
from workers.runtime import parked as parking
from workers.runtime import streams

from . import check, invariants, lives, mind, rest, stand
from .check import Verdict
from .eyes import Eyes
from .faults import Fault, Faults
from .losses import Missing
from .model import expected
from .recovery import Pulse, Recovery
from .replicas import Replicas
from .stand import PRODUCERS

NO_FAULT = ("has no decision", "has no procedure", "has no episode", "its replica died")  # it came too early, or in bad company
RETRIES = 5


@dataclass(frozen=True)
class Size:
    """How much, how long and how patient a run is. Times in seconds; `waits` are the settings of the replicas."""

    events: int
    replicas: int
    publishing_s: float
    settling_s: float
    plan: Callable[[Random], list[str]]
    waits: Mapping[str, object]


@dataclass
class Outcome:
    """What came out."""

    seed: int
    size: Size
    took_s: float = 0.0
    published_s: float = 0.0
    settled_s: float = 0.0
    accepted: int = 0
    entries: int = 0
    unanswered: int = 0
    by_stream: Counter[str] = field(default_factory=Counter)
    wrong_kinds: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[Fault, Recovery]] = field(default_factory=list)
    began: float = 0.0
    moods: list[str] = field(default_factory=list)
    asked: int = 0
    missing: list[Missing] = field(default_factory=list)
    lost: list[Missing] = field(default_factory=list)
    retried: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    died: int = 0
    memory: dict[str, list[float]] = field(default_factory=dict)
    not_at_rest: list[str] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def is_proven(self) -> bool:
        """Nothing is wrong."""
        return not self.verdict.wrong


async def run(home: Path, size: Size, seed: int, *, say: Callable[[str], None]) -> Outcome:
    """Everything, in a folder of its own."""
    outcome, dice = Outcome(seed, size), Random(seed)
    began = time.monotonic()
    async with stand.servers(home / "stack") as (servers, database_url, redis_url):
        await migrate(database_url, embedder=PROFILE.name, dimension=DIMENSION)
        eyes, redis = Eyes(database_url), streams.connect(redis_url)
        producers = stand.producers(size.events, seed)
        agents = [agent for producer in producers for agent in lives.agents(producer.number, size.events // PRODUCERS)]
        await stand.add_censors(database_url, agents)
        async with ModelServer(mind.knowing()) as server, stand.cables(redis_url, database_url) as (to_redis, to_postgres):
            urls = [(redis_url, database_url), (to_redis.url, to_postgres.url)]  # every second one over the cables
            environments = [stand.environment(size.waits, *urls[number % 2]) | server.environment for number in range(size.replicas)]
            replicas = await asyncio.to_thread(Replicas, environments, home / "replicas.log")
            try:
                world = Faults(servers, replicas, to_redis, to_postgres, redis, eyes, producers, asyncio.Event(), dice)
                world.on_fault = lambda fault: say(f"{fault.at - outcome.began:6.1f} s  {fault.kind} {fault.told}")
                async with stand.company(servers, replicas, redis_url) as pulse:
                    await _live(world, server, size, outcome, redis_url, say)
                    await _come_to_rest(world, size, outcome, database_url, say)
                    _note(outcome, world, pulse, server)
                    outcome.memory = stand.memory(servers, replicas)
                await _judge(world, outcome, agents)
                await _stop(replicas, eyes, outcome)
            finally:
                await asyncio.to_thread(replicas.end)
        await redis.aclose()
    outcome.took_s = time.monotonic() - began
    return outcome


async def _live(world: Faults, server: ModelServer, size: Size, outcome: Outcome, redis_url: str, say: Callable[[str], None]) -> None:
    redis = Redis.from_url(redis_url)  # a client as any: what is not answered its producer tells again
    say(f"{size.events:,} events from {PRODUCERS} producers in {size.publishing_s:g} s, {size.replicas} replicas, seed {outcome.seed}")
    outcome.began = time.monotonic()
    world.gate.set()
    plan = size.plan(Random(outcome.seed))
    async with asyncio.TaskGroup() as group:
        moods = group.create_task(mind.moody(server, Random(outcome.seed), within_s=size.publishing_s * 0.8))
        group.create_task(world.run(plan, within_s=size.publishing_s * 0.95))
        for one in world.producers:
            group.create_task(one.publish(redis, world.gate, within_s=size.publishing_s))
    for one in world.producers:  # what was lost after the last of its life
        await one.tell_again(redis, world.gate)
    await redis.aclose()
    outcome.moods = moods.result()
    outcome.published_s = time.monotonic() - outcome.began
    say(f"{outcome.published_s:6.1f} s  everything is published")


async def _come_to_rest(world: Faults, size: Size, outcome: Outcome, database_url: str, say: Callable[[str], None]) -> None:
    """Wait until nothing is left; what is parked without fault is retried, as by `nous dead retry --all`."""
    deadline = time.monotonic() + size.settling_s
    for _ in range(RETRIES):
        outcome.not_at_rest = await _at_rest(world, deadline)
        async with stand.opened(database_url) as database:
            again = await _retried(world, database, outcome)
        if outcome.not_at_rest or not again:
            break
        say(f"{time.monotonic() - outcome.began:6.1f} s  {again} that were parked without fault are retried")
    outcome.settled_s = time.monotonic() - outcome.began
    say(f"{outcome.settled_s:6.1f} s  {'at rest' if not outcome.not_at_rest else 'not at rest: ' + '; '.join(outcome.not_at_rest)}")


async def _at_rest(world: Faults, deadline: float) -> list[str]:
    """Two looks in a row that find nothing to do, or what is left when the time is over."""
    clean = 0
    while True:
        left = await rest.left(world.eyes, world.redis)
        clean = 0 if left else clean + 1
        if clean == 2 or time.monotonic() > deadline:
            return left
        await asyncio.sleep(0.3)


async def _retried(world: Faults, database: Database, outcome: Outcome) -> int:
    """Of what is parked, all that is at no fault itself; how many."""
    poison = {said.event_id for producer in world.producers for said in producer.life if said.wrong in (FAIL, KILL)}
    async with database.overview() as db:
        found = await parked.listed(db, parked.Wanted())
    innocent = [one for one in found if one.event_id not in poison and any(words in one.reason for words in NO_FAULT)]
    outcome.retried.update(one.worker for one in innocent)
    return sum([len(page.done) async for page in parking.retry(database, world.redis, innocent)])


def _note(outcome: Outcome, world: Faults, pulse: Pulse, server: ModelServer) -> None:
    log = [said for producer in world.producers for said in producer.log]
    outcome.accepted = len(log)
    outcome.entries = sum(len(said.entries) for said in log)
    outcome.unanswered = sum(producer.unanswered for producer in world.producers)
    outcome.by_stream = Counter(said.stream for said in log)
    outcome.wrong_kinds = Counter(said.wrong for said in log if said.wrong)
    ends = [*(fault.at for fault in world.done), float("inf")][1:]
    outcome.faults = [(fault, pulse.after(fault.at, until=end)) for fault, end in zip(world.done, ends, strict=True)]
    outcome.missing = world.missing
    outcome.asked = len(server.asked)
    outcome.killed, outcome.died = world.replicas.killed, world.replicas.died - world.replicas.killed


async def _judge(world: Faults, outcome: Outcome, agents: list[str]) -> None:
    """Compare, promise by promise."""
    verdict, log = outcome.verdict, [said for producer in world.producers for said in producer.log]
    verdict.found("at rest within its time", outcome.not_at_rest)
    rows = await world.eyes.rows("SELECT worker, stream, agent_id, event_id, entry_id FROM bus.receipts")
    entries = {(row["stream"], row["agent_id"], row["event_id"]): row["entry_id"] for row in rows}
    known = expected(log, agents, entries)
    outcome.lost = _lost(outcome.missing, rows)
    verdict.found("every event is published", {p.number: len(p.life) - len(p.log) for p in world.producers if len(p.log) != len(p.life)})
    await check.receipts(world.eyes, known, verdict)
    await check.archived(world.eyes, log, verdict)
    await check.memory(world.eyes, known, verdict)
    for promise, breaches in (await invariants.breaches(world.eyes)).items():
        verdict.found(promise, breaches)


def _lost(missing: list[Missing], rows: list[Any]) -> list[Missing]:
    """Those of the missing that no replica had in its hands: only another entry, of a second publication, had their effect."""
    worked = {(row["stream"], row["entry_id"]) for row in rows}
    return [one for one in missing if not any((one.said.stream, entry) in worked for entry in one.entries)]


async def _stop(replicas: Replicas, eyes: Eyes, outcome: Outcome) -> None:
    codes = await asyncio.to_thread(replicas.stop)
    outcome.verdict.found("a stop ends every replica cleanly", [code for code in codes if code != 0])
    for promise, breaches in (await rest.open_still(eyes)).items():
        outcome.verdict.found(promise, breaches)
