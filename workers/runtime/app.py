"""Running workers in one process: FastStream reads the streams, `Life` works the deliveries, and a few small loops keep it going.

for each worker    FastStream subscriber ─▶ pages in flight (bounded) ─▶ Life.work
                   reclaim loop ─▶ Alone.take_over        every quarter of the claim time
                   retry loop   ─▶ Alone.work_one         whenever one is due
                   watch        ─▶ a lost group is created again and read from the beginning; receipts make that harmless
for the process    sweep of the outbox; a stop finishes what is in flight
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from faststream import AckPolicy
from faststream.redis import RedisBroker, StreamSub
from faststream.redis.message import FAKE_CONSUMER, RedisBatchStreamMessage

import workers
from nous import ids
from nous.errors import Contended, Misconfigured, Outage
from nous.settings import Settings
from providers.embedder import Embedder
from store import embedders
from store.database import Database

from . import streams
from .alone import Alone
from .life import Life
from .streams import Entry
from .sweep import sweep
from .worker import Kit, Worker

POLLING_INTERVAL_MS = 1_000  # redis-py gives up a read after 5 s; latency does not depend on this
RETRY_POLL_S = 1.0
SWEEP_EVERY_S = 5.0
WATCH_EVERY_S = 0.5
CONSUMERS_FORGOTTEN_EVERY = 100  # reclaim rounds

log = structlog.get_logger()


class Process:
    """The workers of one process, from start to stop."""

    def __init__(self, chosen: Sequence[Worker[Any, Any]], kit: Kit, redis_url: str) -> None:
        self.kit = kit
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
        await self._until_reachable()
        tasks = [asyncio.create_task(self._guarded(loop)) for loop in self._loops()]
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

    def _loops(self) -> list[Callable[[], Awaitable[None]]]:
        loops: list[Callable[[], Awaitable[None]]] = [self._sweep]
        for host in self.hosts:
            loops += [host.watch, host.reclaim, host.retry]
        return loops

    async def _until_reachable(self) -> None:
        """Wait for Redis and make sure every group stands at the beginning of its stream."""
        while not self.must_stop.is_set():
            try:
                for host in self.hosts:
                    await streams.ensure_group(self.redis, host.life.stream, host.life.worker.name)
                await self.broker.connect()
                return
            except Outage as error:
                log.warning("start.waiting", reason=str(error), next="tried again by itself")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.must_stop.wait(), 1.0)

    async def _guarded(self, loop: Callable[[], Awaitable[None]]) -> None:
        """Run a loop's steps for ever; what is away is waited for, what is misconfigured stops the process."""
        waiting = False
        while not self.must_stop.is_set():
            try:
                await loop()
                waiting = False
            except (Outage, Contended) as error:
                if not waiting:
                    log.warning("loop.waiting", reason=str(error), next="tried again by itself")
                waiting = True
                await asyncio.sleep(RETRY_POLL_S)
            except Misconfigured as error:
                self.fail(error)
            except Exception:
                log.exception("loop.failed", next="tried again by itself; please report it")
                await asyncio.sleep(RETRY_POLL_S)

    async def _sweep(self) -> None:
        await sweep(self.kit.database, self.redis, workers.consumers())
        await asyncio.sleep(SWEEP_EVERY_S)

    async def _stop(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        log.info("workers.stopping", finishing=sum(len(host.pages) for host in self.hosts))
        await asyncio.gather(*(host.stop(self.kit.settings.graceful_s) for host in self.hosts))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(Exception):
            await self.broker.stop()
        await self.redis.aclose()
        log.info("workers.stopped")


class Host:
    """One worker in this process: its subscriber, its pages in flight, its loops."""

    def __init__(self, life: Life, redis_broker: RedisBroker, fail: Callable[[Misconfigured], None]) -> None:
        self.life = life
        self.alone = Alone(life)
        self.fail = fail
        self.pages: set[asyncio.Task[None]] = set()
        self.rounds = 0
        self.subscriber = subscribe(redis_broker, life.worker, self.accept, consumer=life.consumer, page=life.kit.settings.page)

    async def accept(self, entries: list[Entry]) -> None:
        """Take a page, and return when there is room for the next: nothing is ever fetched and left unstarted."""
        task = asyncio.create_task(self._work(entries))
        self.pages.add(task)
        task.add_done_callback(self.pages.discard)
        while len(self.pages) >= self.life.kit.settings.pages_in_flight:
            await asyncio.wait(self.pages, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self, entries: list[Entry]) -> None:
        try:
            await self.life.work(entries)
        except Misconfigured as error:
            self.fail(error)
        except Exception:
            self.life.log.exception("page.failed", entries=len(entries), next="left pending; each is worked alone after the claim time")

    async def watch(self) -> None:
        """Start the subscriber, and start it again when FastStream has stopped it because its group was lost."""
        if not self._is_consuming():
            worker, stream = self.life.worker.name, self.life.stream
            if await streams.ensure_group(self.life.redis, stream, worker):
                self.life.log.warning(
                    "group.created", stream=stream, group=worker, next="read from the beginning; receipts skip what was done"
                )
            async with streams.reachable():
                await self.subscriber.start()
        await asyncio.sleep(WATCH_EVERY_S)

    def _is_consuming(self) -> bool:
        return self.subscriber.running and any(not task.done() for task in self.subscriber.tasks)

    async def reclaim(self) -> None:
        """Take over what dead replicas left."""
        while await self.alone.take_over():
            pass
        if self.rounds % CONSUMERS_FORGOTTEN_EVERY == 0:
            await streams.forget_dead_consumers(self.life.redis, self.life.stream, self.life.worker.name)
        self.rounds += 1
        await asyncio.sleep(self.life.kit.settings.claim_after_s / 4)

    async def retry(self) -> None:
        """Work what is due, one alone after another; look again in a moment when nothing is."""
        if not await self.alone.work_one():
            await asyncio.sleep(RETRY_POLL_S)

    async def stop(self, graceful_s: float) -> None:
        """Fetch no more, and finish the pages in flight; what waits for something that is away stays pending."""
        self.life.stopping.set()
        with suppress(Exception):
            await self.subscriber.stop()
        if self.pages:
            await asyncio.wait(self.pages, timeout=graceful_s)
        for page in self.pages:
            page.cancel()
        await asyncio.gather(*self.pages, return_exceptions=True)


def broker(redis_url: str, *, graceful_s: float) -> RedisBroker:
    """FastStream's broker, set up to survive a restart of Redis and to leave bodies alone."""
    return RedisBroker(redis_url, graceful_timeout=graceful_s, apply_types=False, logger=BrokerLog(), **streams.connection_options())


def subscribe(
    redis_broker: RedisBroker, worker: Worker[Any, Any], handle: Callable[[list[Entry]], Awaitable[None]], *, consumer: str, page: int
) -> Any:
    """A batch subscriber that hands over raw entries and acknowledges nothing by itself."""
    subscriber = redis_broker.subscriber(
        stream=StreamSub(
            worker.on.stream,
            group=worker.name,
            consumer=consumer,
            batch=True,
            max_records=page,
            polling_interval=POLLING_INTERVAL_MS,
        ),
        ack_policy=AckPolicy.MANUAL,
        no_reply=True,
        parser=_parse,
        decoder=_decode,
        title=f"{worker.on.stream}:{worker.name}",
        description=worker.does,
    )
    subscriber(handle)
    return subscriber


async def _parse(message: dict[str, Any]) -> RedisBatchStreamMessage:
    """FastStream would parse the whole batch as one JSON list and fail it as one; each entry is decoded by itself instead."""
    entries = [Entry(entry_id.decode(), fields) for entry_id, fields in zip(message["message_ids"], message["data"], strict=True)]
    return RedisBatchStreamMessage(raw_message=message, body=entries, consumer=FAKE_CONSUMER, group=None)


async def _decode(message: RedisBatchStreamMessage) -> list[Entry]:
    return message.body  # type: ignore[return-value]


class BrokerLog:
    """FastStream's log lines in this project's form: its errors are one line with what happens next."""

    def log(self, level: int, message: object, *args: object, exc_info: BaseException | bool | None = None, **_: object) -> None:
        """Log warnings and worse."""
        if level >= 30:
            text = str(message) % args if args else str(message)
            error = f"{type(exc_info).__name__}: {exc_info}" if isinstance(exc_info, BaseException) else None
            log.warning("broker.trouble", what=text.split("\n")[0][:300], error=error, next="read again by itself")


@asynccontextmanager
async def kit(settings: Settings, database_url: str, embedder: Embedder) -> AsyncIterator[Kit]:
    """What workers work with, opened and checked: the database is there and its vectors are this embedder's. Raises Misconfigured."""
    database = Database(database_url, pool=settings.database_pool)
    try:
        await _patiently("embedder", embedder.open)
        registered = await _patiently("database", lambda: _registered(database))
        embedders.same(registered, name=embedder.name, dimension=embedder.dimension)
        yield Kit(database=database, embedder=embedder, registered=registered, settings=settings)
    finally:
        await embedder.close()
        await database.close()


async def _registered(database: Database) -> embedders.Registered:
    async with database.read(()) as db:
        return await embedders.active(db)


async def _patiently(what: str, step: Callable[[], Awaitable[Any]]) -> Any:
    """Do `step`, waiting for as long as something is away."""
    while True:
        try:
            return await step()
        except Outage as error:
            log.warning("start.waiting", for_=what, reason=str(error), next="tried again by itself")
            await asyncio.sleep(1.0)
