"""Running workers in one process, from what they need being there to a stop that finishes what is in flight.

kit ─▶ Process ─┬─ a Host for each worker
                ├─ the sweep of the outbox
                └─ chores: what else is done again and again
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
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

from . import streams
from .host import Host, broker
from .life import Life
from .patience import stopped_within
from .sweep import sweep
from .worker import Kit, Worker

SWEEP_EVERY_S = 5.0
LOOK_AGAIN_S = 1.0  # after something was away

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True)
class Chore:
    """Something that is done every so often while a process runs; harmless to do in several at once."""

    do: Callable[[], Awaitable[object]]
    every_s: float


class Process:
    """The workers of one process, and its chores."""

    def __init__(self, chosen: Sequence[Worker[Any, Any]], kit: Kit, redis_url: str, *, chores: Sequence[Chore] = ()) -> None:
        self.kit = kit
        self.chores = chores
        self.redis = streams.connect(redis_url)
        self.consumer = f"{socket.gethostname()}-{os.getpid()}-{str(ids.new())[:8]}"
        self.broker = broker(redis_url, graceful_s=kit.settings.graceful_s)
        self.failure: Misconfigured | None = None
        self.must_stop = asyncio.Event()
        self.hosts = [Host(Life(worker, kit, self.redis, self.consumer, workers.consumers()), self.broker, self.fail) for worker in chosen]

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then finish what is in flight. Raises Misconfigured when going on makes no sense."""
        asked = asyncio.create_task(stop.wait())
        asked.add_done_callback(lambda _: self.must_stop.set())
        sweeping = Chore(lambda: sweep(self.kit.database, self.redis, workers.consumers()), SWEEP_EVERY_S)
        tasks = [asyncio.create_task(self._guarded(partial(self._do, chore))) for chore in (sweeping, *self.chores)]
        tasks += [
            asyncio.create_task(self._guarded(loop)) for host in self.hosts for loop in (host.watch, host.reclaim, host.retry, host.resume)
        ]
        log.info("workers.started", workers=[host.life.worker.name for host in self.hosts], consumer=self.consumer)
        try:
            await self.must_stop.wait()
        finally:
            asked.cancel()
            await self._stop(tasks)
        if self.failure is not None:
            raise self.failure

    def fail(self, error: Misconfigured) -> None:
        """Going on makes no sense: stop, and say why."""
        self.failure = error
        self.must_stop.set()

    async def _guarded(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a loop's step again and again until the stop; what is away is waited for, what is misconfigured stops the process."""
        is_away = False
        while not self.must_stop.is_set():
            try:
                await step()
                is_away = False
            except (Outage, Contended) as error:
                if not is_away:
                    log.warning("loop.delayed", reason=str(error), next="tried again by itself")
                is_away = True
                await stopped_within(LOOK_AGAIN_S, self.must_stop)
            except Misconfigured as error:
                self.fail(error)
            except Exception:
                log.exception("loop.failed", next="tried again by itself; please report it")
                await stopped_within(LOOK_AGAIN_S, self.must_stop)

    async def _do(self, chore: Chore) -> None:
        await chore.do()
        await stopped_within(chore.every_s, self.must_stop)

    async def _stop(self, loops: Sequence[asyncio.Task[None]]) -> None:
        """Everything in flight has the graceful time, all of it together; what is not finished then is left to another replica."""
        log.info("stop.requested", finishing=sum(len(host.pages) for host in self.hosts))
        ending = [*loops, *(asyncio.create_task(host.finish()) for host in self.hosts)]
        _, late = await asyncio.wait(ending, timeout=self.kit.settings.graceful_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*ending, *(host.abandon() for host in self.hosts), return_exceptions=True)
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
