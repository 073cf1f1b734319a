"""What a run stands on: servers, cables, producers and their censors, the settings of the replicas; and what goes on beside it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import psutil
from redis.asyncio import Redis

from store import censors
from store.database import Database
from tests.factories import a_censor
from tests.system.proxy import Cable

from . import lives
from .producers import Producer
from .recovery import Pulse
from .replicas import Replicas
from .servers import Servers

PRODUCERS = 20
NOTED_EVERY_S = 0.2


def producers(events: int, seed: int) -> list[Producer]:
    """Twenty, of which one's clock is a day ahead, one's a day behind, one says everything twice, and every fourth names no event."""
    fails, kills = max(events // 10_000, 2), max(events // 50_000, 1)
    shares = zip(*(lives.spread(count, PRODUCERS) for count in (events, fails, kills)), strict=True)
    made = [
        Producer(number, lives.a_life(number, share, seed, fails=some, kills=few), names_events=number % 4 != 3)
        for number, (share, some, few) in enumerate(shares)
    ]
    made[10].clock_off, made[12].clock_off, made[14].times = timedelta(days=1), timedelta(days=-1), 2
    return made


async def add_censors(database_url: str, agents: list[str]) -> None:
    async with opened(database_url) as database, database.write(agents) as db:
        for agent in agents:
            for censor in lives.censors_of(agent):
                await censors.insert(db, a_censor(agent_id=agent, censor_id=censor, escalation_threshold=lives.THRESHOLD))


def environment(waits: Mapping[str, object], redis_url: str, database_url: str) -> dict[str, str]:
    settings = {
        "redis_url": redis_url,
        "database_url": database_url,
        "mind": "claude",
        "embedder": "zero",
        "log_level": "warning",
    } | dict(waits)
    return {f"NOUS_{name.upper()}": str(value) for name, value in settings.items()}


def memory(servers: Servers, replicas: Replicas) -> dict[str, list[float]]:
    """Megabytes resident of each process, by what it is."""
    postmaster = psutil.Process(servers.pids()["postgres"])
    found = {
        "process of a replica (the workers that ask a mind, or the others and the archivist)": [
            psutil.Process(pid) for pid in replicas.pids()
        ],
        "Valkey": [psutil.Process(servers.pids()["valkey"])],
        "Postgres": [postmaster, *postmaster.children()],
        "producers, cables and the mind": [psutil.Process()],
    }
    return {what: [_megabytes(one) for one in processes] for what, processes in found.items()}


def _megabytes(process: psutil.Process) -> float:
    """Memory that is its own and its part of what it shares, for Postgres' processes share their buffers."""
    return round(process.memory_full_info().pss / 1e6, 1)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """Opened anew each time: what was open when Postgres crashed is closed now."""
    database = Database(url, pool=1)
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def servers(home: Path) -> AsyncIterator[tuple[Servers, str, str]]:
    servers = await asyncio.to_thread(Servers, home)
    try:
        yield servers, *(await asyncio.to_thread(servers.start))
    finally:
        await asyncio.to_thread(servers.close)


@asynccontextmanager
async def cables(redis_url: str, database_url: str) -> AsyncIterator[tuple[Cable, Cable]]:
    cables = Cable(redis_url), Cable(database_url)
    for cable in cables:
        await cable.mend()
    try:
        yield cables
    finally:
        for cable in cables:
            await cable.cut()


@asynccontextmanager
async def company(servers: Servers, replicas: Replicas, redis_url: str) -> AsyncIterator[Pulse]:
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
