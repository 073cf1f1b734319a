"""One worker in one process: FastStream reads its stream, pages are worked a few at a time, four small loops keep it going.

FastStream subscriber ─▶ accept ─▶ pages in flight (bounded) ─▶ Life.work
watch      a lost group is created again and read from the beginning; receipts make that harmless
reclaim    what a dead replica left pending is set aside
retry      what is set aside is worked alone, when it is due
resume     what waits for a mind is worked in pages, when it is due
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from faststream import AckPolicy
from faststream.redis import RedisBroker, StreamSub
from faststream.redis.message import FAKE_CONSUMER, RedisBatchStreamMessage

from nous.errors import Misconfigured, Outage

from . import streams
from .alone import Alone
from .life import Life
from .patience import stopped_within
from .streams import Entry
from .worker import Worker

POLLING_INTERVAL_MS = 1_000  # redis-py gives up a read after 5 s; latency does not depend on this
RETRY_POLL_S = 1.0
IDLE_POLL_S = 5.0  # while nothing was set aside lately: looking is most of what an idle worker costs (measured, docs/performance.md)
WATCH_EVERY_S = 0.5
RECLAIMS_PER_CLAIM_TIME = 4
CONSUMERS_FORGOTTEN_EVERY = 100  # reclaim rounds

log = structlog.get_logger()


class Host:
    """One worker in this process, from its start to its stop."""

    def __init__(self, life: Life, redis_broker: RedisBroker, fail: Callable[[Misconfigured], None]) -> None:
        """`fail` is told when going on makes no sense."""
        self.life = life
        self.alone = Alone(life)
        self.fail = fail
        self.broker = redis_broker
        self.pages: set[asyncio.Task[None]] = set()
        self.rounds = 0
        self.was_away = False
        self.was_reading = False
        self.subscriber = subscribe(redis_broker, life.worker, self.accept, consumer=life.consumer, page=life.page)

    async def accept(self, entries: list[Entry]) -> None:
        """Take a page, and return when there is room for the next: nothing is ever fetched and left unstarted."""
        task = asyncio.create_task(self._work(entries))
        self.pages.add(task)
        task.add_done_callback(self.pages.discard)
        while len(self.pages) >= self.life.pages_in_flight:
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
            is_new = await streams.ensure_group(self.life.redis, self.life.stream, self.life.worker.name)
            if is_new and self.was_reading:
                then = "created again and read from the beginning; receipts skip what was done"
                self.life.log.warning("group.lost", stream=self.life.stream, group=self.life.worker.name, next=then)
            await self._start_reading()
            self.was_reading = True
        await self._pause(WATCH_EVERY_S)

    async def _start_reading(self) -> None:
        try:
            async with streams.reachable():
                await self.broker.connect()
                await self.subscriber.start()
                if self.life.stopping.is_set():  # the stop came meanwhile, and found nothing to stop yet
                    await self._stop_reading()
        except TimeoutError as error:
            raise Outage("Redis", "it did not answer the first read in time") from error

    async def _stop_reading(self) -> None:
        """Stop the subscriber, and wait for its reading to end: a connection that it is still making would outlive the pool."""
        reading = list(self.subscriber.tasks)
        await self.subscriber.stop()
        await asyncio.gather(*reading, return_exceptions=True)

    async def reclaim(self) -> None:
        """Take over what dead replicas left."""
        try:
            await self._let_the_living_speak()
            while await self.alone.take_over():
                pass
            if self.rounds % CONSUMERS_FORGOTTEN_EVERY == 0:
                await streams.forget_dead_consumers(self.life.redis, self.life.stream, self.life.worker.name)
        except Outage:
            self.was_away = True
            raise
        self.rounds += 1
        await self._pause(self.life.kit.settings.claim_after_s / RECLAIMS_PER_CLAIM_TIME)

    async def retry(self) -> None:
        """Work what is due, one alone after another; look again in a moment when nothing is."""
        if await self.alone.work_one():
            self.life.stir()
        else:
            await self._rest()

    async def resume(self) -> None:
        """Work what waited for a mind in pages, when it is due."""
        if await self.alone.work_together():
            self.life.stir()
        else:
            await self._rest()

    async def finish(self) -> None:
        """Fetch no more, and finish the pages in flight; what waits for something that is away stays pending."""
        self.life.stopping.set()
        await self._stop_reading()
        if self.pages:
            await asyncio.wait(self.pages)

    async def abandon(self) -> None:
        """Leave what is still in flight to another replica."""
        for page in self.pages:
            page.cancel()
        await asyncio.gather(*self.pages, return_exceptions=True)

    async def _let_the_living_speak(self) -> None:
        """After Redis was away every pending entry looks abandoned: wait until each live replica has renewed its own."""
        if self.was_away:
            async with streams.reachable():
                await self.life.redis.ping()
            await self._pause(self.life.heartbeat_s * 1.5)
            self.was_away = False

    async def _rest(self) -> None:
        """A moment, and longer when nothing was set aside lately."""
        until = asyncio.get_running_loop().time() + IDLE_POLL_S
        await self._pause(RETRY_POLL_S)
        while not self.life.is_stirred and not self.life.stopping.is_set() and asyncio.get_running_loop().time() < until:
            await self._pause(RETRY_POLL_S)

    async def _pause(self, seconds: float) -> None:
        await stopped_within(seconds, self.life.stopping)

    def _is_consuming(self) -> bool:
        return self.subscriber.running and any(not task.done() for task in self.subscriber.tasks)


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
            log.warning("broker.failed", what=text.split("\n")[0][:300], error=error, next="read again by itself")
