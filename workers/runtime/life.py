"""The life of one delivery, from the stream to its receipt.

    fetched ─▶ opened ─▶ unsettled ─▶ thought about ─▶ written with its receipt ─▶ announced ─▶ acknowledged
                 │            │              │                    │
                 │            │              └────── failed ──────┴─▶ set aside: a row in bus.retries, acknowledged
                 │            └─ has its receipt: acknowledged
                 └─ malformed: parked

A page is worked as one and written in a few transactions. Where it fails it is worked in halves, and those in halves, until the event at
fault is alone: it alone is set aside, and pays for it (alone.py). While something outside is away the page waits where it is, uncounted.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import structlog
from redis.asyncio import Redis

from nous import clock
from nous.errors import Contended, Misconfigured, Outage, Overlong
from store import archive, forgotten, opening, outbox, receipts, retries
from store.database import Write, lock_key
from store.opening import Opening
from store.receipts import Key

from . import outcomes, record, streams
from .parking import Parking
from .patience import repeating, through_outages
from .record import NOT_SET_ASIDE, Delivery, Ended
from .runs import bounded
from .streams import Entry
from .sweep import announce
from .worker import Ending, GiveUp, Job, Kit, RetryLater, Worker

EVENTS_PER_TRANSACTION = 128  # one for all gives replicas nothing to do side by side; one per agent is five times slower (measured)
CONTENDED_TRIES = 10
BYTES_PER_THOUGHT = 512 * 1024
STIRRED_S = 20.0

J = TypeVar("J")

log = structlog.get_logger()


class Life:
    """Works the deliveries of one worker in one process."""

    def __init__(self, worker: Worker[Any, Any], kit: Kit, redis: Redis, consumer: str) -> None:
        self.worker = worker
        self.kit = kit
        self.redis = redis
        self.consumer = consumer
        self.stream = worker.on.stream
        self.parking = Parking(worker, kit.database, redis)
        self.stopping = asyncio.Event()
        self.in_flight: Counter[str] = Counter()
        self.stirred_at = time.monotonic()
        self.log = log.bind(worker=worker.name)

    # ── a page ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def work(self, entries: Sequence[Entry], *, attempts: Mapping[str, int] = NOT_SET_ASIDE) -> None:
        """Work a page to its end, waiting out what is away; leaves it pending only when stopped while waiting.

        `attempts`, by entry id, says of those that waited how often they were taken.
        """
        deliveries, malformed = record.opened(self.worker, entries, now=clock.now(), attempts=attempts)
        async with self.kept_ours(entries):
            for entry, error in malformed:
                await self._through_outages(partial(self.parking.malformed, entry, error))
            await self._through_outages(partial(self._work, deliveries))

    async def _work(self, deliveries: Sequence[Delivery]) -> None:
        since = time.monotonic()
        unsettled = await self.unsettled(deliveries) if self.worker.thinks else list(_first(deliveries).values())
        failed: list[tuple[Delivery, str]] = []
        jobs = await self._thought(unsettled, failed)
        ended = await self._written(jobs, failed, since=since)
        await self.set_aside(failed, since=since)
        await self.announced(ended)
        await self.parking.given_up(ended)
        await streams.acknowledge(self.redis, self.stream, self.worker.name, [one.entry_id for one in deliveries])
        outcomes.page(self.worker.name, ended, len(deliveries), since=since, log=self.log)

    async def unsettled(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those without a receipt; of several deliveries of one event, the first."""
        if not deliveries:
            return []
        first = _first(deliveries)
        async with self.kit.database.read({agent for agent, _ in first}) as db:
            settled = await receipts.settled(db, self.worker.name, first)
        return [delivery for key, delivery in first.items() if key not in settled]

    async def _thought(self, deliveries: Sequence[Delivery], failed: list[tuple[Delivery, str]]) -> list[tuple[Delivery, Any]]:
        """Each with its thought, but for those at fault, which are added to `failed`."""
        if not deliveries:
            return []
        try:
            return await self.think(deliveries)
        except Exception as error:
            if _is_nobodys_fault(error):
                raise
            if _is_whole_fault(deliveries, error):
                failed += [(delivery, record.why(error)) for delivery in deliveries]
                return []
        return [job for half in _halves(deliveries) for job in await self._thought(half, failed)]

    async def _written(self, jobs: Sequence[tuple[Delivery, Any]], failed: list[tuple[Delivery, str]], *, since: float) -> list[Ended]:
        """The groups side by side: while Postgres works on one, the next is thought through."""
        writing = [self._wrote(group, failed, since=since) for group in _by_agent(jobs)]
        ended: list[Ended] = []
        for wrote in await asyncio.gather(*writing, return_exceptions=True):
            if isinstance(wrote, BaseException):
                raise wrote
            ended += wrote
        return ended

    async def _wrote(self, group: Sequence[tuple[Delivery, Any]], failed: list[tuple[Delivery, str]], *, since: float) -> list[Ended]:
        """How a group ended, but for those at fault, which are added to `failed`."""
        try:
            return await self.write(group, since=since)
        except Exception as error:
            if _is_nobodys_fault(error):
                raise
            if _is_whole_fault(group, error):
                failed += [(delivery, record.why(error)) for delivery, _ in group]
                return []
        return [one for half in _halves(group) for one in await self._wrote(half, failed, since=since)]

    async def set_aside(self, failed: Sequence[tuple[Delivery, str]], *, since: float) -> None:
        """Each of these, taken up at `since` (time.monotonic), is worked alone next; what it costs then, it costs itself."""
        if failed:
            self.stir()
            self.log.warning("page.set_aside", deliveries=len(failed), reason=failed[0][1], next="each is worked alone")
            now = clock.now()
            async with self.kit.database.queue() as db:
                await retries.set_aside(db, [record.retry(self.worker, one, why, now=now, due_at=now) for one, why in failed])
            outcomes.set_aside(self.worker.name, failed, since=since)

    # ── thinking and writing, for a page or for one ───────────────────────────────────────────────────────────────────

    async def think(self, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Any]]:
        """Each delivery with the worker's thought about it, within the time limit and with no transaction open."""
        thoughts: list[Any] = []
        for some in bounded(deliveries, BYTES_PER_THOUGHT):  # very long texts would meet the time limit as one
            async with asyncio.timeout(self.kit.settings.time_limit_s * self.worker.patience):
                thoughts += await self.worker.think([delivery.event for delivery in some], self.kit)
        return list(zip(deliveries, thoughts, strict=True))

    async def write(self, group: Sequence[tuple[Delivery, Any]], *, since: float) -> list[Ended]:
        """Effects, receipts and derived events of a group, in one transaction; a lost contest starts again, uncounted.

        `since` (time.monotonic) is when its deliveries were taken up.
        """
        for again in range(CONTENDED_TRIES):
            try:
                async with asyncio.timeout(self.kit.settings.time_limit_s):
                    ended = await self._write_once(group)
            except Overlong:
                raise
            except Contended as error:
                self.log.info("page.contended", reason=str(error), tries=again + 1, of=CONTENDED_TRIES, next="tried again, uncounted")
                await asyncio.sleep(random.uniform(0, 0.05 * 2**again))
            else:
                outcomes.ended(self.worker.name, ended, since=since, log=self.log)
                return ended
        raise Outage("Postgres", f"{CONTENDED_TRIES} transactions in a row met other writers")

    async def _write_once(self, group: Sequence[tuple[Delivery, Any]]) -> list[Ended]:
        async with self.kit.database.write({delivery.event.agent_id for delivery, _ in group}) as db:
            found = await opening.of(db, self.worker.name, [delivery.key for delivery, _ in group], self.kit.registered)
            open_ = [(delivery, thought) for delivery, thought in group if delivery.key not in found.settled]
            if found.was_erased:
                refused = await forgotten.refused(db, [record.arrival(delivery) for delivery, _ in open_])
                open_ = [(delivery, thought) for delivery, thought in open_ if record.arrival(delivery) not in refused]
            if not open_:
                return []
            endings = await self.worker.write(db, [Job(delivery.event, thought) for delivery, thought in open_], self.kit)
            ended = [Ended(delivery, self._in_the_end(delivery, ending)) for (delivery, _), ending in zip(open_, endings, strict=True)]
            await self._record(db, ended, found)
            return ended

    def _in_the_end(self, delivery: Delivery, ending: Ending) -> Ending:
        """How it ends: what may never come is not waited for any more after the last attempt."""
        if isinstance(ending, RetryLater) and ending.counted and delivery.attempts >= self.kit.settings.max_attempts:
            return GiveUp(f"{ending.why} (after {delivery.attempts} attempts)", attempts=delivery.attempts)
        return ending

    async def _record(self, db: Write, ended: Sequence[Ended], found: Opening) -> None:
        now = clock.now()
        told = [record.receipt(self.worker, one, now) for one in ended if not isinstance(one.ending, RetryLater)]
        await receipts.insert(db, told, after=found.last)
        given_up = [one.delivery for one in ended if isinstance(one.ending, GiveUp)]
        await archive.insert(db, [record.kept(self.stream, one.key, one.entry_id, one.body, now=now) for one in given_up])
        await outbox.insert(db, record.letters(ended), now=now)
        for exactly in (False, True):
            later = [(one.delivery, one.ending) for one in ended if isinstance(one.ending, RetryLater) and one.ending.exactly == exactly]
            rows = [
                record.retry(self.worker, delivery, ending.why, now=now, due_at=now + ending.wait, together=ending.together)
                for delivery, ending in later
            ]
            await retries.set_aside(db, rows, exactly=exactly)
            if rows:
                self.stir()
        over = {one.delivery.key for one in ended if not isinstance(one.ending, RetryLater)}
        await retries.clear_together(db, self.worker.name, over & found.waiting)

    async def announced(self, ended: Sequence[Ended]) -> None:
        """Publish the events that follow from these."""
        await announce(self.kit.database, self.redis, record.letters(ended))

    def stir(self) -> None:
        """Something was set aside, or found due: there may be more of it soon."""
        self.stirred_at = time.monotonic()

    @property
    def is_stirred(self) -> bool:
        """Whether something was set aside or found due lately."""
        return time.monotonic() < self.stirred_at + STIRRED_S

    @property
    def page(self) -> int:
        """How many events are fetched and worked as one."""
        return 1 if self.worker.side_by_side else self.kit.settings.page

    @property
    def pages_in_flight(self) -> int:
        """How many pages are worked at the same time."""
        return self.worker.side_by_side or self.kit.settings.pages_in_flight

    # ── holding on ────────────────────────────────────────────────────────────────────────────────────────

    @asynccontextmanager
    async def kept_ours(self, entries: Sequence[Entry]) -> AsyncIterator[None]:
        """Keep these entries from being taken over, for the block, while this process lives."""
        if not entries:
            yield
            return
        ids = [entry.entry_id for entry in entries]
        renew = partial(streams.renew, self.redis, self.stream, self.worker.name, self.consumer, ids)
        self.in_flight.update(ids)
        try:
            async with repeating(renew, every_s=self.heartbeat_s, log=self.log):
                yield
        finally:
            self.in_flight -= Counter(ids)

    @property
    def heartbeat_s(self) -> float:
        """How often a live process says of its entries that they are still being worked."""
        return self.kit.settings.claim_after_s / 3

    async def _through_outages(self, step: Callable[[], Awaitable[None]]) -> bool:
        return await through_outages(step, stopping=self.stopping, log=self.log)


def _first(deliveries: Sequence[Delivery]) -> dict[Key, Delivery]:
    """Of several deliveries of one event the first, in order."""
    first: dict[Key, Delivery] = {}
    for delivery in deliveries:
        first.setdefault(delivery.key, delivery)
    return first


def _is_whole_fault(ones: Sequence[object], error: Exception) -> bool:
    """Whether halves would tell no more: it is one alone, or it took too long, which the halves would do again one after another."""
    return len(ones) == 1 or isinstance(error, TimeoutError)


def _is_nobodys_fault(error: Exception) -> bool:
    """Whether something is away or in the way, so that the same is to be done again; not where there was too much to do at once."""
    return isinstance(error, Outage | Contended | Misconfigured) and not isinstance(error, Overlong)


def _halves(ones: Sequence[J]) -> tuple[Sequence[J], Sequence[J]]:
    """The first half and the other, in order."""
    return ones[: len(ones) // 2], ones[len(ones) // 2 :]


def _by_agent(jobs: Sequence[tuple[Delivery, Any]]) -> list[list[tuple[Delivery, Any]]]:
    """The jobs in a few groups of about EVENTS_PER_TRANSACTION, each agent's all in one and in order."""
    count = -(-len(jobs) // EVENTS_PER_TRANSACTION)
    groups: dict[int, list[tuple[Delivery, Any]]] = {}
    for job in jobs:
        groups.setdefault(lock_key(job[0].event.agent_id) % count, []).append(job)
    return list(groups.values())
