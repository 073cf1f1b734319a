"""What is broken, when: an order and moments that follow from the seed, one fault after another, each written down with its time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

from redis.asyncio import Redis

from tests.system.proxy import Cable

from .eyes import Eyes
from .losses import Missing, missing, present
from .producers import Producer
from .replicas import Replicas
from .servers import SYNCED_EVERY_S, Servers

KILLED = "a replica killed with -9"
RESTARTED = "Redis killed and started with its data"
UNSYNCED = "Redis started without its last second"
EMPTIED = "Redis started without its data"
CRASHED = "Postgres stopped with -m immediate"
CUT_REDIS = "connections to Redis cut"
CUT_POSTGRES = "connections to Postgres cut"
CUT_S = 1.5
PORTIONS = {KILLED: 8, RESTARTED: 2, UNSYNCED: 1, EMPTIED: 1, CRASHED: 2, CUT_REDIS: 2, CUT_POSTGRES: 2}


@dataclass(frozen=True)
class Fault:
    """One fault: when it came and when what was broken stood again (monotonic), and what it said."""

    kind: str
    at: float
    over_at: float
    told: str = ""


@dataclass
class Faults:
    """Breaks things, and tells producers what Redis lost of theirs."""

    servers: Servers
    replicas: Replicas
    to_redis: Cable
    to_postgres: Cable
    redis: Redis
    eyes: Eyes
    producers: list[Producer]
    gate: asyncio.Event
    dice: Random
    done: list[Fault] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    on_fault: Callable[[Fault], None] = lambda _: None

    async def run(self, plan: list[str], *, within_s: float) -> None:
        """Each fault of the plan in its turn, at a moment of its share of the time."""
        loop, began = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        share = within_s / len(plan)
        for number, kind in enumerate(plan):
            await asyncio.sleep(max(began + share * (number + self.dice.uniform(0.1, 0.4)) - loop.time(), 0))
            at = time.monotonic()
            told = await self._kinds()[kind]()
            self.done.append(Fault(kind, at, time.monotonic(), told))
            self.on_fault(self.done[-1])

    def _kinds(self) -> dict[str, Callable[[], Awaitable[str]]]:
        return {
            KILLED: self._kill,
            RESTARTED: lambda: self._restart_redis(RESTARTED),
            UNSYNCED: lambda: self._restart_redis(UNSYNCED),
            EMPTIED: lambda: self._restart_redis(EMPTIED),
            CRASHED: self._crash_postgres,
            CUT_REDIS: lambda: self._cut(self.to_redis),
            CUT_POSTGRES: lambda: self._cut(self.to_postgres),
        }

    async def _kill(self) -> str:
        return f"process {self.replicas.kill(self.dice)}"

    async def _crash_postgres(self) -> str:
        await asyncio.to_thread(self.servers.crash_postgres)
        await asyncio.to_thread(self.servers.start_postgres)
        return ""

    async def _cut(self, cable: Cable) -> str:
        await cable.cut()
        await asyncio.sleep(CUT_S)
        await cable.mend()
        return f"for {CUT_S:g} s"

    async def _restart_redis(self, how: str) -> str:
        """Producers stand at the gate until it is known what it kept. Replicas go on: what is trimmed meanwhile, all have settled."""
        self.gate.clear()
        await asyncio.to_thread(self.servers.crash_valkey)
        gone = ""
        if how == UNSYNCED:
            gone = f"{await asyncio.to_thread(self.servers.forget_since, SYNCED_EVERY_S):,} bytes, "
        if how == EMPTIED:
            await asyncio.to_thread(self.servers.forget)
        await asyncio.to_thread(self.servers.start_valkey)
        there = await present(self.redis)
        told_soon = {said for producer in self.producers for said in producer.again}
        log = [said for producer in self.producers for said in producer.log if said not in told_soon]
        absent = await missing(self.eyes, there, log, after=how)
        self.missing += absent
        names = {one.said for one in absent}
        for producer in self.producers:
            producer.again += [said for said in producer.log if said in names]
        self.gate.set()
        return f"{gone}{len(absent)} of the acknowledged events missing"


def plan(dice: Random, rounds: int) -> list[str]:
    """Every kind of fault in its portion, in an order of its own."""
    kinds = [kind for kind, times in PORTIONS.items() for _ in range(times * rounds)]
    dice.shuffle(kinds)
    return kinds


def short_plan(dice: Random) -> list[str]:
    """Every kind once."""
    kinds = list(PORTIONS)
    dice.shuffle(kinds)
    return kinds
