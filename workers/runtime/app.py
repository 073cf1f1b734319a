"""Running workers in one process, from what they need being there to a stop that finishes what is in flight.

kit ─▶ Process ─┬─ a Host for each worker, the archivist
                ├─ the sweep of the outbox
                └─ chores: what else is done again and again
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog

import workers
from nous import ids
from nous.errors import Contended, Misconfigured, Outage
from nous.settings import Settings
from providers.embedder import Embedder
from providers.mind import Mind
from store import embedders
from store.database import Database

from . import filling, parked, record, streams
from .archivist import Archivist
from .calibrated import calibrated
from .due import Due
from .host import Host, broker
from .life import Life
from .patience import stopped_within
from .sweep import Sweep
from .turns import Turn
from .worker import Kit, Worker

SWEEP_EVERY_S = 5.0
TIDY_EVERY_S = 300.0
GIVEN_BACK_WITHIN_S = 2.0
LOOK_AGAIN_S = 1.0  # after something was away

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True)
class Chore:
    """Something that is done every so often while a process runs; harmless to do in several at once."""

    do: Callable[[], Awaitable[object]]
    every_s: float
    name: str = "chore"


class Process:
    """The workers of one process, and its chores."""

    def __init__(
        self, chosen: Sequence[Worker[Any, Any]], kit: Kit, redis_url: str, *, chores: Sequence[Chore] = (), archives: bool = False
    ) -> None:
        """`archives`, the archivist is one of them."""
        self.kit = kit
        self.chores = chores
        self.redis = streams.connect(redis_url, partitions=kit.settings.stream_partitions)
        self.consumer = f"{socket.gethostname()}-{os.getpid()}-{str(ids.new())[:8]}"
        self.broker = broker(redis_url, graceful_s=kit.settings.graceful_s)
        self.failure: Misconfigured | None = None
        self.must_stop = asyncio.Event()
        self.turns: list[Turn] = []
        due = Due(kit.database, [worker.name for worker in chosen])
        self.hosts = [Host(Life(worker, kit, self.redis, self.consumer), self.broker, due, self.fail) for worker in chosen]
        self.archivist = Archivist(kit, self.redis, self.consumer, workers.consumers()) if archives else None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then finish what is in flight. Raises Misconfigured when going on makes no sense."""
        asked = asyncio.create_task(stop.wait())
        asked.add_done_callback(lambda _: self.must_stop.set())
        sweep = Sweep(self.kit.database, self.redis, workers.consumers(), archives=self.archivist is not None)
        sweeping = Chore(sweep.round, SWEEP_EVERY_S, "sweep")
        tidying = Chore(self._tidy, TIDY_EVERY_S, "tidy")
        fill = Chore(partial(filling.fill, self.kit), filling.FILL_EVERY_S, "fill")
        chores = (sweeping, tidying, fill, *self.chores)
        tasks = [asyncio.create_task(self._guarded(partial(self._do, chore), chore.name)) for chore in chores]
        tasks += [
            asyncio.create_task(self._guarded(loop, f"{host.life.worker.name}.{loop.__name__}"))
            for host in self.hosts
            for loop in (host.watch, host.reclaim, host.retry, host.resume)
        ]
        if self.archivist:
            tasks += [
                asyncio.create_task(self._guarded(loop, f"{streams.ARCHIVIST}.{loop.__name__}"))
                for loop in (self.archivist.read, self.archivist.take_over, self.archivist.trim)
            ]
        log.info("workers.started", workers=self.names(), consumer=self.consumer)
        try:
            await self.must_stop.wait()
        finally:
            asked.cancel()
            await self._stop(tasks)
        if self.failure is not None:
            raise self.failure

    def names(self) -> list[str]:
        """The workers that run here."""
        return [*(host.life.worker.name for host in self.hosts), *([streams.ARCHIVIST] if self.archivist else [])]

    def fail(self, error: Misconfigured) -> None:
        """Going on makes no sense: stop, and say why."""
        self.failure = error
        self.must_stop.set()

    async def _guarded(self, step: Callable[[], Awaitable[None]], name: str) -> None:
        """Do a loop's step again and again until the stop; what is away is waited for, what is misconfigured stops the process."""
        is_away = False
        self.turns.append(turn := Turn(name))
        while not self.must_stop.is_set():
            turn.begins()
            try:
                await step()
                is_away = False
                turn.went_well()
            except (Outage, Contended) as error:
                turn.went_well()
                if not is_away:
                    log.warning("loop.delayed", reason=str(error), next="tried again by itself")
                is_away = True
                await stopped_within(LOOK_AGAIN_S, self.must_stop)
            except Misconfigured as error:
                self.fail(error)
            except Exception as error:
                turn.failed(record.why(error))
                log.exception("loop.failed", loop=name, next="tried again by itself; please report it")
                await stopped_within(LOOK_AGAIN_S, self.must_stop)

    async def _do(self, chore: Chore) -> None:
        await chore.do()
        await stopped_within(chore.every_s, self.must_stop)

    async def _tidy(self) -> None:
        """Remove parked entries that nobody needs any more."""
        for stream in workers.consumers():
            if gone := await parked.tidy(self.kit.database, self.redis, stream):
                log.info("parked.tidied", stream=stream, entries=gone)

    async def _stop(self, loops: Sequence[asyncio.Task[None]]) -> None:
        """Everything in flight has the graceful time, all of it together; what is not finished then is left to another replica."""
        log.info("stop.requested", finishing=sum(len(host.pages) for host in self.hosts))
        if self.archivist:
            self.archivist.stopping.set()
        ending = [*loops, *(asyncio.create_task(host.finish()) for host in self.hosts)]
        _, late = await asyncio.wait(ending, timeout=self.kit.settings.graceful_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*ending, *(host.abandon() for host in self.hosts), return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*(host.give_back() for host in self.hosts)), GIVEN_BACK_WITHIN_S)
        await self.broker.stop()
        await self.redis.aclose()
        log.info("workers.stopped", left_to_others=len(late))


@asynccontextmanager
async def kit(settings: Settings, database_url: str, embedder: Embedder, mind: Mind) -> AsyncIterator[Kit]:
    """What workers work with, opened and checked: the database is there and its vectors are this embedder's. Raises Misconfigured."""
    database = Database(database_url, pool=settings.database_pool)
    try:
        await _patiently("the embedder", embedder.open)
        registered = await _patiently("the database", lambda: _registered(database))
        embedders.require(registered, name=embedder.name, dimension=embedder.dimension)
        yield Kit(database=database, embedder=embedder, registered=registered, settings=settings, mind=mind)
    finally:
        await mind.close()
        await embedder.close()
        await database.close()


async def calibrated_patiently(settings: Settings, database_url: str) -> Settings:
    """The settings with the thresholds that the store keeps for their embedder; waits for Postgres. Raises Misconfigured."""
    database = Database(database_url, pool=1)
    try:
        return await _patiently("the database", lambda: calibrated(database, settings))
    finally:
        await database.close()


async def _registered(database: Database) -> embedders.Registered:
    async with database.read(()) as db:
        return await embedders.active(db)


async def _patiently(what: str, step: Callable[[], Awaitable[T]]) -> T:
    """Do `step`, waiting for as long as something is away."""
    is_away = False
    while True:
        try:
            return await step()
        except Outage as error:
            if not is_away:
                log.warning("start.delayed", waiting_for=what, reason=str(error), next="tried again by itself")
            is_away = True
            await asyncio.sleep(LOOK_AGAIN_S)
