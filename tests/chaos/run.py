"""One run: the stand is built, life goes on under faults, all comes to rest, and what is is compared with what must be.

servers ─▶ schema, censors ─▶ replicas ─▶ producers ∥ faults ∥ the mind's moods ─▶ rest ─▶ what overtook is retried ─▶ check
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import psutil
from redis.asyncio import Redis

from providers.zero import DIMENSION, PROFILE
from store import censors, parked
from store.database import Database
from store.migrate import migrate
from tests.factories import a_censor
from tests.model_server import ModelServer
from tests.system.proxy import Cable
from workers.runtime import parked as parking
from workers.runtime import streams

from . import check, faults, invariants, lives, mind, rest
from .check import Verdict
from .eyes import Eyes
from .faults import Fault, Faults
from .losses import Missing
from .model import expected
from .producers import Producer
from .recovery import Pulse, Recovery
from .replicas import Replicas
from .servers import Servers

PRODUCERS = 20
NOTED_EVERY_S = 0.2
OVERTAKEN = ("has no decision", "has no procedure", "has no episode", "its replica died")
RETRIES = 5


@dataclass(frozen=True)
class Size:
    """How much, how long and how patient a run is. Times in seconds; `waits` are the settings of the replicas."""

    events: int
    replicas: int
    publishing_s: float
    settling_s: float
    plan: Callable[[Random], list[str]]
    waits: dict[str, object]


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
    async with _servers(home / "stack") as (servers, database_url, redis_url):
        await migrate(database_url, embedder=PROFILE.name, dimension=DIMENSION)
        eyes, redis = Eyes(database_url), streams.connect(redis_url)
        producers = _producers(size, seed)
        agents = [agent for producer in producers for agent in lives.agents(producer.number, size.events // PRODUCERS)]
        await _add_censors(database_url, agents)
        async with ModelServer(mind.knowing()) as server, _cables(redis_url, database_url) as (to_redis, to_postgres):
            urls = [(redis_url, database_url), (to_redis.url, to_postgres.url)]  # every second one over the cables
            environments = [_environment(size, *urls[number % 2]) | server.environment for number in range(size.replicas)]
            replicas = await asyncio.to_thread(Replicas, environments, home / "replicas.log")
            try:
                world = Faults(servers, replicas, to_redis, to_postgres, redis, eyes, producers, asyncio.Event(), dice)
                world.on_fault = lambda fault: say(f"{fault.at - outcome.began:6.1f} s  {fault.kind} {fault.told}")
                async with _company(servers, replicas, redis_url) as pulse:
                    await _live(world, server, size, outcome, redis_url, say)
                    await _come_to_rest(world, size, outcome, database_url, say)
                    _note(outcome, world, pulse, server)
                    outcome.memory = _memory(servers, replicas)
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
    for one in world.producers:
        await one.tell_again(redis, world.gate)
    await redis.aclose()
    outcome.moods = moods.result()
    outcome.published_s = time.monotonic() - outcome.began
    say(f"{outcome.published_s:6.1f} s  everything is published")


async def _come_to_rest(world: Faults, size: Size, outcome: Outcome, database_url: str, say: Callable[[str], None]) -> None:
    """Wait until nothing is left; what overtook another event for too long is retried, as a person would (nous dead retry --all)."""
    deadline = time.monotonic() + size.settling_s
    for _ in range(RETRIES):
        outcome.not_at_rest = await _at_rest(world, deadline)
        async with _database(database_url) as database:
            again = await _retried(world.redis, database, outcome)
        if outcome.not_at_rest or not again:
            break
        say(f"{time.monotonic() - outcome.began:6.1f} s  {again} retried: they had overtaken what they are about")
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


async def _retried(redis: Redis, database: Database, outcome: Outcome) -> int:
    async with database.overview() as db:
        waiting = [one for one in await parked.listed(db, parked.Wanted()) if any(words in one.reason for words in OVERTAKEN)]
    waiting = [one for one in waiting if lives.KILL not in one.reason and not _is_poison(one)]
    if not waiting:
        return 0
    outcome.retried.update(one.worker for one in waiting)
    return sum([len(page.done) async for page in parking.retry(database, redis, waiting)])


def _is_poison(one: parked.Parked) -> bool:
    return one.worker == "deduplicator"


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
    await check.archived(world.eyes, log, verdict, losses=any(one.kind in faults.LOSSES for one in world.done))
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


def _producers(size: Size, seed: int) -> list[Producer]:
    """Twenty, of which one's clock is a day ahead, one's a day behind, one says everything twice, and every fourth names no event."""
    fails, kills = max(size.events // 10_000, 2), max(size.events // 50_000, 1)
    shares = zip(*(lives.spread(count, PRODUCERS) for count in (size.events, fails, kills)), strict=True)
    made = [
        Producer(number, lives.a_life(number, events, seed, fails=some, kills=few), names_events=number % 4 != 3)
        for number, (events, some, few) in enumerate(shares)
    ]
    made[10].clock_off, made[12].clock_off, made[14].times = timedelta(days=1), timedelta(days=-1), 2
    return made


async def _add_censors(database_url: str, agents: list[str]) -> None:
    async with _database(database_url) as database, database.write(agents) as db:
        for agent in agents:
            for censor in lives.censors_of(agent):
                await censors.insert(db, a_censor(agent_id=agent, censor_id=censor, escalation_threshold=lives.THRESHOLD))


def _environment(size: Size, redis_url: str, database_url: str) -> dict[str, str]:
    settings = {
        "redis_url": redis_url,
        "database_url": database_url,
        "mind": "claude",
        "embedder": "zero",
        "log_level": "warning",
    } | size.waits
    return {f"NOUS_{name.upper()}": str(value) for name, value in settings.items()}


def _memory(servers: Servers, replicas: Replicas) -> dict[str, list[float]]:
    """Megabytes resident of each process, by what it is."""
    postmaster = psutil.Process(servers.pids()["postgres"])
    found = {
        "replica (all workers and the archivist)": [psutil.Process(pid) for pid in replicas.pids()],
        "Valkey": [psutil.Process(servers.pids()["valkey"])],
        "Postgres": [postmaster, *postmaster.children()],
        "producers, cables and the mind": [psutil.Process()],
    }
    return {what: [_megabytes(one) for one in processes] for what, processes in found.items()}


def _megabytes(process: psutil.Process) -> float:
    """Memory that is its own and its part of what it shares, for Postgres' processes share their buffers."""
    return round(process.memory_full_info().pss / 1e6, 1)


@asynccontextmanager
async def _database(url: str) -> AsyncIterator[Database]:
    """Opened anew each time: what was open when Postgres crashed is closed now."""
    database = Database(url, pool=1)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def _servers(home: Path) -> AsyncIterator[tuple[Servers, str, str]]:
    servers = await asyncio.to_thread(Servers, home)
    try:
        yield servers, *(await asyncio.to_thread(servers.start))
    finally:
        await asyncio.to_thread(servers.close)


@asynccontextmanager
async def _cables(redis_url: str, database_url: str) -> AsyncIterator[tuple[Cable, Cable]]:
    cables = Cable(redis_url), Cable(database_url)
    for cable in cables:
        await cable.mend()
    try:
        yield cables
    finally:
        for cable in cables:
            await cable.cut()


@asynccontextmanager
async def _company(servers: Servers, replicas: Replicas, redis_url: str) -> AsyncIterator[Pulse]:
    """What goes on beside: dead replicas are replaced, progress is looked at, what Valkey has written is noted."""

    async def note() -> None:
        while True:
            servers.note_what_is_written()
            await asyncio.sleep(NOTED_EVERY_S)

    redis = Redis.from_url(redis_url, socket_timeout=1)
    pulse = Pulse(redis)
    beside = [asyncio.create_task(one) for one in (replicas.look_after(), pulse.beat(), note())]
    try:
        yield pulse
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await redis.aclose()
