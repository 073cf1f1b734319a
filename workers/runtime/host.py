"""One worker in one process: FastStream reads its stream, pages are worked a few at a time, four small loops keep it going.

the keys of its stream ─▶ FastStream subscriber ─▶ accept ─▶ pages in flight (bounded) ─▶ Life.work
                            one for all keys of one server; one for each key of a cluster, where they are on several
watch      a lost group is created again and read from the beginning, receipts make that harmless; new partitions are read too
reclaim    what a dead replica left pending is worked too, in smaller pages if it is left again
retry      what is set aside is worked alone, when it is due
resume     what waits together is worked in pages, when it is due
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

import structlog
from faststream import AckPolicy
from faststream.redis import RedisBroker, RedisClusterBroker, StreamSub
from faststream.redis.message import FAKE_CONSUMER, RedisBatchStreamMessage

from events import partitions
from nous.errors import Misconfigured, Outage

from . import servers, streams
from .alone import Alone
from .due import Due
from .life import Life
from .patience import stopped_within
from .streams import Entry
from .worker import Worker

POLLING_INTERVAL_MS = 1_000  # redis-py gives up a read after 5 s; latency does not depend on this
FEW = 4  # an entry for every so many that a page may have, or less
RETRY_POLL_S = 1.0
IDLE_POLL_S = 5.0  # while nothing was set aside lately: looking is most of what an idle worker costs (measured, docs/performance.md)
WATCH_EVERY_S = 0.5
SPOKEN_EVERY_S = 2.0
RECLAIMS_PER_CLAIM_TIME = 4
CONSUMERS_FORGOTTEN_EVERY = 100  # reclaim rounds

log = structlog.get_logger()


class Host:
    """One worker in this process, from its start to its stop."""

    def __init__(self, life: Life, redis_broker: RedisBroker, due: Due, fail: Callable[[Misconfigured], None]) -> None:
        """`due` knows what is due of all workers of the process; `fail` is told when going on makes no sense."""
        self.life = life
        self.due = due
        self.alone = Alone(life)
        self.fail = fail
        self.broker = redis_broker
        self.pages: set[asyncio.Task[None]] = set()
        self.rounds = 0
        self.was_away = False
        self.was_reading = False
        self.keys: list[str] = []
        self.spoke_at = float("-inf")
        self.looked_at = float("-inf")
        self.subscribers: dict[str, Any] = {}
        self.given_up_on: set[str] = set()
        self.more: set[bool] = set()

    async def accept(self, entries: list[Entry]) -> None:
        """Take what was fetched, page by page, and return when there is room for more. What is not started yet is kept from others.

        A worker that does not think and got few entries has room when they are through.
        """
        size = self.life.page
        async with self.life.kept_ours(entries if self._is_full else entries[size:]):
            for start in range(0, len(entries), size):
                await self._room()
                if self.life.stopping.is_set():  # what is not started then is worked, or left, by `finish`
                    return
                self._start(self._work(entries[start : start + size]))
        await self._room()
        if len(entries) * FEW < size and self.pages and not self.life.worker.thinks:
            await asyncio.wait(self.pages)  # what comes meanwhile is one page, and not a transaction for every few of it

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.pages.add(task)
        task.add_done_callback(self.pages.discard)

    def _take_up(self, pages: Sequence[list[Entry]]) -> None:
        """Work these beside what is read: those that are smaller than a page one after another, in the place of one."""
        turns: list[list[list[Entry]]] = []
        for page in pages:
            if turns and sum(map(len, turns[-1])) + len(page) <= self.life.page:
                turns[-1].append(page)
            else:
                turns.append([page])
        for turn in turns:
            self._start(self._work_in_turn(turn))

    async def _work_in_turn(self, pages: Sequence[list[Entry]]) -> None:
        async with self.life.kept_ours([entry for page in pages for entry in page]):
            for page in pages:
                if not self.life.stopping.is_set():
                    await self._work(page)

    @property
    def _is_full(self) -> bool:
        return not self._free

    @property
    def _free(self) -> int:
        """How many pages more may be worked at once."""
        return max(self.life.pages_in_flight - len(self.pages), 0)

    async def _room(self) -> None:
        while self._is_full:
            await asyncio.wait(self.pages, return_when=asyncio.FIRST_COMPLETED)

    async def _work(self, entries: list[Entry]) -> None:
        try:
            await self.life.work(entries)
        except Misconfigured as error:
            self.fail(error)
        except Exception:
            self.life.log.exception("page.failed", entries=len(entries), next="left pending, and taken up again after the claim time")

    async def watch(self) -> None:
        """Read every key of the stream, and start again when FastStream has stopped because a group was lost."""
        await self._look_for_keys()
        for subscriber in self.subscribers.values():
            if not _is_consuming(subscriber):
                await self._start_reading(subscriber)
        self.was_reading = True
        await self._speak()
        await self._pause(WATCH_EVERY_S)

    async def _speak(self) -> None:
        """Now and then, so that who looks knows that this replica lives."""
        if (now := asyncio.get_running_loop().time()) > self.spoke_at + SPOKEN_EVERY_S:
            with suppress(streams.GroupLost):  # which the reading finds out too
                await streams.speak(self.life.redis, self.life.worker.name, self.life.consumer, self.keys[0])
            self.spoke_at = now

    async def _look_for_keys(self) -> None:
        """Now and then: somebody may spread the streams further at any time."""
        if self.keys and asyncio.get_running_loop().time() < self.looked_at + streams.SPREAD_LOOKED_AT_S:
            return
        await streams.tell_spread(self.life.redis)
        keys = await streams.keys(self.life.redis, self.life.stream)
        new = [key for key in keys if key not in self.keys]
        await streams.ensure_groups(self.life.redis, new, self.life.worker.name)
        self.keys += new
        self.looked_at = asyncio.get_running_loop().time()
        for key in new if servers.is_cluster(self.life.redis) else keys[:1]:
            if key not in self.subscribers:
                self.subscribers[key] = self._subscriber(key)

    def _subscriber(self, key: str) -> Any:
        life = self.life
        made = subscribe(self.broker, life.worker, self.accept, consumer=life.consumer, page=life.page, key=key)
        if not servers.is_cluster(life.redis):
            _read_together(made, life, self.keys)
        return made

    async def _start_reading(self, subscriber: Any) -> None:
        is_new = await streams.ensure_groups(self.life.redis, self.keys, self.life.worker.name)
        if is_new and self.was_reading:
            then = "created again and read from the beginning; receipts skip what was done"
            self.life.log.warning("group.lost", stream=self.life.stream, group=self.life.worker.name, next=then)
        try:
            async with streams.reachable():
                await self.broker.connect()
                _begin_at_the_beginning(subscriber)
                await subscriber.start()
                if self.life.stopping.is_set():  # the stop came meanwhile, and found nothing to stop yet
                    await _stop_reading(subscriber)
        except TimeoutError as error:
            raise Outage("Redis", "it did not answer the first read in time") from error

    async def reclaim(self) -> None:
        """Take over what dead replicas left, as far as there is room."""
        try:
            await self._let_the_living_speak()
            while self._free and not self.life.stopping.is_set():
                if not await self.alone.take_over(self._free * self.life.page, self._take_up):
                    break
            if self.rounds % CONSUMERS_FORGOTTEN_EVERY == 0:
                await streams.forget_dead_consumers(self.life.redis, self.life.stream, self.life.worker.name)
        except Outage:
            self.was_away = True
            raise
        self.rounds += 1
        await self._pause(self.life.kit.settings.claim_after_s / RECLAIMS_PER_CLAIM_TIME)

    async def retry(self) -> None:
        """Work what is due, one alone after another; look again in a moment when nothing is."""
        await self._work_what_is_due(self.alone.work_one, together=False)

    async def resume(self) -> None:
        """Work what waited together in pages, when it is due."""
        await self._work_what_is_due(self.alone.work_together, together=True)

    async def _work_what_is_due(self, work: Callable[[], Awaitable[bool]], *, together: bool) -> None:
        """Where there was something due there may be more; else it is asked for with what else this process waits for."""
        name, since = self.life.worker.name, self.life.stirred_at
        if (together in self.more or await self.due.has(name, together=together, since=since)) and await work():
            self.more.add(together)
            self.life.stir()
        else:
            self.more.discard(together)
            await self._rest()

    async def finish(self) -> None:
        """Fetch no more, and finish the pages in flight; what waits for something that is away stays pending."""
        self.life.stopping.set()
        await asyncio.gather(*map(_stop_reading, self.subscribers.values()))
        if self.pages:
            await asyncio.wait(self.pages)
        with suppress(Outage):
            await self._finish_what_came_late()

    async def _finish_what_came_late(self) -> None:
        """Work what Redis handed over as the reading ended, and nobody has begun. Raises Outage."""
        life = self.life
        while came := [
            one
            for one in await streams.own_pending(life.redis, life.worker.name, life.consumer, self.keys, count=life.page)
            if one.entry_id not in self.given_up_on and one.entry_id not in life.in_flight
        ]:
            self.given_up_on |= {one.entry_id for one in came}  # what waits for something that is away stays pending
            await self._work(came)

    async def abandon(self) -> None:
        """Leave what is still in flight to another replica."""
        for page in self.pages:
            page.cancel()
        await asyncio.gather(*self.pages, return_exceptions=True)

    async def give_back(self) -> None:
        """What this process leaves unfinished as it stops is at no fault: whoever takes it over does so for the first time."""
        with suppress(Outage):
            await streams.give_back(self.life.redis, self.life.worker.name, self.life.consumer, self.keys)

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


def broker(redis_url: str, *, graceful_s: float) -> RedisBroker:
    """FastStream's broker, set up to survive a restart of Redis or a failover and to leave bodies alone. Raises ValueError for no URL."""
    settings: dict[str, Any] = {"graceful_timeout": graceful_s, "apply_types": False, "logger": BrokerLog(), **servers.options()}
    if not servers.is_cluster_url(redis_url):
        return RedisBroker(redis_url, **settings)
    first, others = servers.first_and_others(redis_url)
    return RedisClusterBroker(first, startup_nodes=others, max_connections=servers.CONNECTIONS_AT_MOST, **settings)


def subscribe(
    redis_broker: RedisBroker,
    worker: Worker[Any, Any],
    handle: Callable[[list[Entry]], Awaitable[None]],
    *,
    consumer: str,
    page: int,
    key: str | None = None,
) -> Any:
    """A batch subscriber of a key, or of the stream, that hands over raw entries and acknowledges nothing by itself."""
    subscriber = redis_broker.subscriber(
        stream=StreamSub(
            key or worker.on.stream,
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
        title=f"{key or worker.on.stream}:{worker.name}",
        description=worker.does,
    )
    subscriber(handle)
    return subscriber


def _read_together(subscriber: Any, life: Life, keys: Sequence[str]) -> None:
    """Have a subscriber read all of these keys with its one command, as they are at the time: one connection waits for them all.

    Of each key it takes its part of a page, counted by how many keys had something the last time.
    """
    busy = 1

    async def read(*, count: int, block: int, **_: object) -> list[tuple[bytes, list[tuple[bytes, Any]]]]:
        nonlocal busy
        part = max(count // busy, 1)
        found = await subscriber._client.xreadgroup(life.worker.name, life.consumer, dict.fromkeys(keys, ">"), count=part, block=block)
        busy = max(len(found or ()), 1)
        entries = [(_named(key, entry_id), fields) for key, some in found or () for entry_id, fields in some]
        return [(life.stream.encode(), sorted(entries, key=_age))] if entries else []

    subscriber._xreadgroup = read  # FastStream's own reads one stream


def _begin_at_the_beginning(subscriber: Any) -> None:
    """Redis may lose the group between our making it and FastStream's start, which makes one too: at the newest entry, unless told so."""
    subscriber.last_id, subscriber.read_id = "0", ">"


def _age(entry: tuple[bytes, Any]) -> tuple[int, int]:
    milliseconds, _, sequence = entry[0].partition(b"@")[0].partition(b"-")
    return int(milliseconds), int(sequence)


def _named(key: bytes, entry_id: bytes) -> bytes:
    return partitions.named(key.decode(), entry_id.decode()).encode()


def _is_consuming(subscriber: Any) -> bool:
    return subscriber.running and any(not task.done() for task in subscriber.tasks)


async def _stop_reading(subscriber: Any) -> None:
    """Stop a subscriber, and wait for its reading to end: a connection that it is still making would outlive the pool."""
    reading = list(subscriber.tasks)
    await subscriber.stop()
    await asyncio.gather(*reading, return_exceptions=True)


async def _parse(message: dict[str, Any]) -> RedisBatchStreamMessage:
    """FastStream would parse the whole batch as one JSON list and fail it as one; each entry is decoded by itself instead."""
    ids = (partitions.named(message["channel"], entry_id.decode()) for entry_id in message["message_ids"])
    entries = [Entry(entry_id, fields) for entry_id, fields in zip(ids, message["data"], strict=True)]
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
