"""The life of one delivery, from the stream to its receipt.

    fetched ─▶ opened ─▶ unsettled ─▶ thought about ─▶ written with its receipt ─▶ announced ─▶ acknowledged
                 │            │              │                    │
                 │            │              └────── failed ──────┴─▶ set aside: a row in bus.retries, acknowledged
                 │            └─ has its receipt: acknowledged
                 └─ malformed: parked

    set aside, or left by a dead replica ─▶ worked alone, its attempt counted before ─▶ done, again later, or parked

A page is worked as one and written in a few transactions; whatever goes wrong with it is worked alone afterwards, where only
the event at fault pays for it. While something outside is away the page waits where it is, uncounted.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from redis.asyncio import Redis

from events import MalformedEvent, body_of, decode, derived
from nous import clock
from nous.errors import Contended, Misconfigured, Outage
from store import outbox, receipts, retries
from store.database import Write, lock_key
from store.retries import Retry

from . import record, streams
from .patience import PAUSE_S, repeating, through_outages
from .record import Delivery, Ended
from .streams import Entry
from .sweep import Consumers, announce
from .worker import GiveUp, Job, Kit, RetryLater, Worker

TRANSACTIONS_PER_PAGE = 8  # one for all gives replicas nothing to do side by side; one per agent is five times slower (measured)
CONTENDED_TRIES = 10
BYTES_PER_THOUGHT = 512 * 1024

log = structlog.get_logger()


class Life:
    """Works the deliveries of one worker in one process."""

    def __init__(self, worker: Worker[Any, Any], kit: Kit, redis: Redis, consumer: str, consumers: Consumers) -> None:
        """`consumers` names the workers on each stream: a derived event is kept until each of them has its receipt."""
        self.worker = worker
        self.kit = kit
        self.redis = redis
        self.consumer = consumer
        self.consumers = consumers
        self.stream = worker.on.stream
        self.stopping = asyncio.Event()
        self.log = log.bind(worker=worker.name)

    # ── a page ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def work(self, entries: Sequence[Entry]) -> None:
        """Work a page to its end, waiting out what is away; leaves it pending only when stopped while waiting."""
        async with self._kept_ours(entries):
            await through_outages(lambda: self._work(entries), stopping=self.stopping, log=self.log)

    async def _work(self, entries: Sequence[Entry]) -> None:
        deliveries = await self._opened(entries)
        unsettled = await self._unsettled(deliveries)
        failed: list[tuple[Delivery, str]] = []
        jobs = await self._thought(unsettled, failed)
        ended = await self._written(jobs, failed)
        await self._set_aside(failed)
        await self._announced(ended)
        await self._parked(ended)
        await streams.acknowledge(self.redis, self.stream, self.worker.name, [entry.entry_id for entry in entries])

    async def _opened(self, entries: Sequence[Entry]) -> list[Delivery]:
        deliveries = []
        for entry in entries:
            try:
                body = body_of(entry.fields)
                deliveries.append(Delivery(decode(self.worker.on, body, entry.entry_id), entry.entry_id, body))
            except MalformedEvent as error:
                await self._park_malformed(entry, error)
        return deliveries

    async def _unsettled(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those without a receipt; of several deliveries of one event, the first."""
        first = {delivery.key: delivery for delivery in reversed(deliveries)}
        async with self.kit.database.read({agent for agent, _ in first}) as db:
            settled = await receipts.settled(db, self.worker.name, first)
        return [delivery for delivery in deliveries if first[delivery.key] is delivery and delivery.key not in settled]

    async def _thought(self, deliveries: Sequence[Delivery], failed: list[tuple[Delivery, str]]) -> list[tuple[Delivery, Any]]:
        if not deliveries:
            return []
        try:
            return await self._think(deliveries)
        except (Outage, Contended, Misconfigured):
            raise
        except Exception as error:
            failed += [(delivery, record.why(error)) for delivery in deliveries]
            return []

    async def _written(self, jobs: Sequence[tuple[Delivery, Any]], failed: list[tuple[Delivery, str]]) -> list[Ended]:
        ended: list[Ended] = []
        for group in _by_agent(jobs):
            try:
                ended += await self._write(group)
            except (Outage, Misconfigured):
                raise
            except Exception as error:
                failed += [(delivery, record.why(error)) for delivery, _ in group]
        return ended

    async def _set_aside(self, failed: Sequence[tuple[Delivery, str]]) -> None:
        """Each of these is worked alone next; what it costs then, it costs itself."""
        if failed:
            self.log.warning("page.set_aside", deliveries=len(failed), reason=failed[0][1], next="each is worked alone")
            async with self.kit.database.queue() as db:
                await retries.set_aside(db, [self._row(delivery, reason) for delivery, reason in failed])

    # ── thinking and writing, for a page or for one ───────────────────────────────────────────────────────────────────

    async def _think(self, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Any]]:
        thoughts: list[Any] = []
        for some in _bounded(deliveries):
            async with asyncio.timeout(self.kit.settings.time_limit_s):
                thoughts += await self.worker.think([delivery.event for delivery in some], self.kit)
        return list(zip(deliveries, thoughts, strict=True))

    async def _write(self, group: Sequence[tuple[Delivery, Any]]) -> list[Ended]:
        """Effects, receipts and derived events of a group, in one transaction; a lost contest starts again, uncounted."""
        for again in range(CONTENDED_TRIES):
            try:
                async with asyncio.timeout(self.kit.settings.time_limit_s):
                    return await self._write_once(group)
            except Contended as error:
                self.log.info("page.contended", reason=str(error), again=again + 1)
                await asyncio.sleep(random.uniform(0, 0.05 * 2**again))
        raise Outage("Postgres", f"{CONTENDED_TRIES} transactions in a row met other writers")

    async def _write_once(self, group: Sequence[tuple[Delivery, Any]]) -> list[Ended]:
        async with self.kit.database.write({delivery.event.agent_id for delivery, _ in group}) as db:
            settled = await receipts.settled(db, self.worker.name, [delivery.key for delivery, _ in group])
            open_ = [(delivery, thought) for delivery, thought in group if delivery.key not in settled]
            if not open_:
                return []
            endings = await self.worker.write(db, [Job(delivery.event, thought) for delivery, thought in open_], self.kit)
            ended = [Ended(delivery, ending) for (delivery, _), ending in zip(open_, endings, strict=True)]
            await self._record(db, ended)
            return ended

    async def _record(self, db: Write, ended: Sequence[Ended]) -> None:
        now = clock.now()
        await receipts.insert(db, [record.receipt(self.worker, one, now) for one in ended if not isinstance(one.ending, RetryLater)])
        await outbox.insert(db, record.letters(ended), now=now)
        await retries.set_aside(
            db,
            [self._row(one.delivery, one.ending.why, wait=one.ending.wait) for one in ended if isinstance(one.ending, RetryLater)],
        )

    async def _announced(self, ended: Sequence[Ended]) -> None:
        await announce(self.kit.database, self.redis, record.letters(ended), self.consumers)

    # ── one alone ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def take_over(self) -> int:
        """Set aside what a dead replica left pending, to be worked alone; returns how many entries."""
        idle_ms = int(self.kit.settings.claim_after_s * 1000)
        entries = await streams.claim(
            self.redis, self.stream, self.worker.name, self.consumer, idle_ms=idle_ms, count=self.kit.settings.page
        )
        if not entries:
            return 0
        self.log.warning("replica.lost", entries=len(entries), idle_s=self.kit.settings.claim_after_s, next="each is worked alone")
        unsettled = await self._unsettled(await self._opened(entries))
        async with self.kit.database.queue() as db:
            await retries.set_aside(db, [self._row(delivery, "its replica died while it was being worked") for delivery in unsettled])
        await streams.acknowledge(self.redis, self.stream, self.worker.name, [entry.entry_id for entry in entries])
        return len(entries)

    async def work_one(self) -> bool:
        """Work the delivery that has been due longest, alone; False when none is due. Raises Outage."""
        async with self.kit.database.queue() as db:
            retry = await retries.take(db, self.worker.name, now=clock.now(), lease=self._lease())
        if retry is None:
            return False
        if retry.attempts > self.kit.settings.max_attempts:
            await self._park(retry, f"{retry.reason} (after {self.kit.settings.max_attempts} attempts)")
            return True
        try:
            async with self._leased(retry):
                ended = await self._work_alone(retry)
        except (Outage, Contended) as error:
            await self._again(retry, PAUSE_S, str(error), counted=False)
            raise
        except MalformedEvent as error:
            await self._park(retry, str(error))
        except Exception as error:
            await self._failed(retry, error)
        else:
            await self._finish(retry, ended)
        return True

    async def _work_alone(self, retry: Retry) -> list[Ended]:
        delivery = Delivery(decode(self.worker.on, retry.body, retry.entry_id), retry.entry_id, retry.body)
        if not await self._unsettled([delivery]):
            return []
        return await self._write(await self._think([delivery]))

    async def _finish(self, retry: Retry, ended: Sequence[Ended]) -> None:
        await self._announced(ended)
        match [one.ending for one in ended]:
            case [RetryLater(wait=wait, why=why)]:
                await self._again(retry, wait.total_seconds(), why, counted=False)
            case [GiveUp(why=why)]:
                await self._park(retry, why)
            case _:
                async with self.kit.database.queue() as db:
                    await retries.clear(db, self.worker.name, [(retry.agent_id, retry.event_id)])

    async def _failed(self, retry: Retry, error: Exception) -> None:
        if retry.attempts >= self.kit.settings.max_attempts:
            await self._park(retry, f"{record.why(error)} (after {retry.attempts} attempts)")
            return
        wait_s = self._backoff_s(retry.attempts)
        self.log.warning(
            "delivery.failed",
            event_id=retry.event_id,
            agent_id=retry.agent_id,
            attempt=retry.attempts,
            of=self.kit.settings.max_attempts,
            again_in_s=round(wait_s, 1),
            error=record.why(error),
        )
        await self._again(retry, wait_s, record.why(error), counted=True)

    async def _again(self, retry: Retry, wait_s: float, reason: str, *, counted: bool) -> None:
        change = retries.postpone if counted else retries.give_back
        async with self.kit.database.queue() as db:
            await change(db, retry, due_at=clock.now() + timedelta(seconds=wait_s), reason=reason)

    def _backoff_s(self, attempts: int) -> float:
        settings = self.kit.settings
        wait_s: float = min(settings.retry_cap_s, settings.retry_base_s * 2 ** (attempts - 1))
        return wait_s * random.uniform(0.75, 1.25)

    # ── parking ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _parked(self, ended: Iterable[Ended]) -> None:
        """Those that gave up: their receipts say so already; now the stream where a person looks."""
        for one in ended:
            if isinstance(one.ending, GiveUp):
                await self._to_parked_stream(one.delivery.body, one.delivery.key, one.delivery.entry_id, one.ending.why, attempts=1)

    async def _park(self, retry: Retry, reason: str) -> None:
        """Out of attempts. The stream first: a crash in between parks it there twice, never nowhere."""
        key = (retry.agent_id, retry.event_id)
        await self._to_parked_stream(retry.body, key, retry.entry_id, reason, attempts=retry.attempts)
        async with self.kit.database.write({retry.agent_id}) as db:
            await receipts.insert(db, [record.parked_receipt(self.worker, key, retry.entry_id, reason, clock.now())])
            await retries.clear(db, self.worker.name, [key])

    async def _park_malformed(self, entry: Entry, error: MalformedEvent) -> None:
        """It never was an event. The receipt first: a crash in between parks it again, and the second receipt changes nothing."""
        body = entry.fields.get(b"data", entry.fields.get(b"__data__", b""))
        key = (error.agent_id, error.event_id or derived(self.stream, entry.entry_id))
        async with self.kit.database.write({error.agent_id}) as db:
            await receipts.insert(db, [record.parked_receipt(self.worker, key, entry.entry_id, str(error), clock.now())])
        await self._to_parked_stream(body, key, entry.entry_id, str(error), attempts=1, acknowledge=True)

    async def _to_parked_stream(
        self, body: bytes, key: receipts.Key, entry_id: str, reason: str, *, attempts: int, acknowledge: bool = False
    ) -> None:
        self.log.error(
            "delivery.parked",
            event_id=key[1],
            agent_id=key[0],
            entry_id=entry_id,
            reason=reason,
            next=f"it waits in {self.stream}{streams.PARKED_SUFFIX}; nothing else was affected",
        )
        fields = record.parked_fields(self.worker, body, key, entry_id, reason, attempts=attempts, now=clock.now())
        await streams.park(self.redis, self.stream, self.worker.name, fields, entry_id if acknowledge else None)

    # ── holding on ────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def _kept_ours(self, entries: Sequence[Entry]) -> AsyncIterator[None]:
        """Keep these entries from being taken over while this process lives."""
        ids = [entry.entry_id for entry in entries]
        renew = partial(streams.renew, self.redis, self.stream, self.worker.name, self.consumer, ids)
        async with repeating(renew, every_s=self.kit.settings.claim_after_s / 3):
            yield

    @asynccontextmanager
    async def _leased(self, retry: Retry) -> AsyncIterator[None]:
        """Keep this delivery from falling due elsewhere while this process works it."""

        async def renew() -> None:
            async with self.kit.database.queue() as db:
                await retries.renew(db, retry, lease=self._lease())

        async with repeating(renew, every_s=self.kit.settings.claim_after_s / 3):
            yield

    def _row(self, delivery: Delivery, reason: str, *, wait: timedelta = timedelta(0)) -> Retry:
        now = clock.now()
        return record.retry(self.worker, delivery, reason, now=now, due_at=now + wait)

    def _lease(self) -> datetime:
        return clock.now() + timedelta(seconds=self.kit.settings.claim_after_s)


def _bounded(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """The page in runs of at most BYTES_PER_THOUGHT, so that a page of very long texts does not meet the time limit as one."""
    some: list[Delivery] = []
    size = 0
    for delivery in deliveries:
        if some and size + len(delivery.body) > BYTES_PER_THOUGHT:
            yield some
            some, size = [], 0
        some.append(delivery)
        size += len(delivery.body)
    if some:
        yield some


def _by_agent(jobs: Sequence[tuple[Delivery, Any]]) -> list[list[tuple[Delivery, Any]]]:
    """The jobs in a few groups, each agent's all in one and in order."""
    groups: dict[int, list[tuple[Delivery, Any]]] = {}
    for job in jobs:
        groups.setdefault(lock_key(job[0].event.agent_id) % TRANSACTIONS_PER_PAGE, []).append(job)
    return list(groups.values())
