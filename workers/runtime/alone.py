"""Working alone: what failed, or was left by several dead replicas, is worked one at a time, so that only the event at fault pays.

left pending by a dead replica ─▶ a page again ─▶ smaller pages ─▶ a row of bus.retries, acknowledged
what waited together, for a mind or for what it overtook ─▶ a page again, when it is due
a row that is due ─▶ taken: its attempt counted and its lease committed ─▶ worked ─┬─ ended ──▶ the row goes
                                                                                 ├─ failed ─▶ due later, or parked
                                                                                 └─ away ───▶ due again, uncounted
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from events import MalformedEvent, decode
from nous import clock
from nous.errors import Contended, Misconfigured, Outage, Overlong, Refused
from store import receipts, retries
from store.retries import Retry

from . import outcomes, parked, record, streams
from .life import Life
from .patience import PAUSE_S, repeating, through_outages
from .record import Delivery, Ended
from .streams import Entry
from .worker import GiveUp, RetryLater

TAKEN_OVER_ONCE = 2  # deliveries of an entry, as Redis counts them: the first, and that to who took it over
SMALLER = {TAKEN_OVER_ONCE: 1, 3: 8, 4: 64}
"""How many times smaller than a page those are in which an entry is worked that was delivered so often; more often, or one by one, it is
worked alone.
"""
DIED = "its replica died while it was being worked"


class Alone:
    """Works what was set aside of one worker in one process, and hands over what dead replicas left."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.worker = life.worker
        self.database = life.kit.database
        self.settings = life.kit.settings
        self.log = life.log

    async def take_over(self, count: int, work: Callable[[list[list[Entry]]], None]) -> bool:
        """Take over up to `count` entries that a dead replica left pending, and have them worked in pages; whether there were any.

        What is left again may hold an event that kills whoever works it: it is worked in smaller pages each time, and at last alone.
        Raises Outage and Contended.
        """
        redis, stream, group = self.life.redis, self.life.stream, self.worker.name
        idle_ms = int(self.settings.claim_after_s * 1000)
        claimed = await streams.claim(redis, stream, group, self.life.consumer, idle_ms=idle_ms, count=count)
        left = [entry for entry in claimed if entry.entry_id not in self.life.in_flight]
        times: Mapping[str, int] = {}
        with suppress(Outage):  # they are claimed: who is away now will be waited for
            times = await streams.times_delivered(redis, stream, group, [entry.entry_id for entry in left])
        pages: list[list[Entry]] = []
        suspects: list[Entry] = []
        for delivered, entries in _grouped(left, times).items():
            size = self.life.page // SMALLER.get(delivered, self.life.page + 1)
            then = f"worked in pages of {size}" if size > 1 or delivered == TAKEN_OVER_ONCE else "each is worked alone"
            self.log.warning("replica.lost", entries=len(entries), idle_s=self.settings.claim_after_s, deliveries=delivered, next=then)
            if size > 1 or delivered == TAKEN_OVER_ONCE:
                pages += [entries[start : start + size] for start in range(0, len(entries), size)]
            else:
                suspects += entries
        work(pages)
        if suspects:
            await self._set_aside(suspects)
        return bool(claimed)

    async def _set_aside(self, entries: Sequence[Entry]) -> None:
        deliveries, malformed = record.opened(self.worker, entries, now=clock.now())
        for entry, error in malformed:
            await self.life.parking.malformed(entry, error)
        unsettled = await self.life.unsettled(deliveries)
        await self.life.set_aside([(delivery, DIED) for delivery in unsettled], since=time.monotonic())
        await streams.acknowledge(self.life.redis, self.life.stream, self.worker.name, [one.entry_id for one in deliveries])

    async def work_one(self) -> bool:
        """Work the delivery that has been due longest; False when none is due. Raises Outage, Contended and Misconfigured."""
        async with self.database.queue() as db:
            retry = await retries.take(db, self.worker.name, now=clock.now(), lease=self._lease())
        if retry is None:
            return False
        try:
            if await self._is_another(retry):
                return True
            async with self._leased(retry):
                ended = await self._work(retry)
        except Overlong as error:  # alone there is no less of it to be done
            await self._failed(retry, record.why(error), wait_s=self.settings.retry_cap_s)
        except (Outage, Contended, Misconfigured) as error:
            await self._give_back(retry, str(error))
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(retry, "its process was stopped"))
            raise
        except (MalformedEvent, Refused) as error:
            await self.life.parking.worked_alone(retry, str(error))
        except Exhausted as error:
            await self._failed_for_good(retry, str(error))
        except Exception as error:
            await self._failed(retry, record.why(error))
        else:
            await self._finish(retry, ended)
        return True

    async def work_together(self) -> bool:
        """Work a page of what waited together and is due; False when nothing is. Raises Outage and Contended."""
        lease = self._lease()
        async with self.database.queue() as db:
            limit = self.worker.side_by_side or self.settings.page
            taken = await retries.take_together(db, self.worker.name, now=clock.now(), lease=lease, limit=limit)
        if not taken:
            return False
        async with self._leased_together(taken, lease):
            attempts = {one.entry_id: one.attempts for one in taken}
            await self.life.work([Entry(one.entry_id, {b"data": one.body}) for one in taken], attempts=attempts)
            await self._forget_settled(taken)
        return True

    async def _forget_settled(self, taken: Sequence[Retry]) -> None:
        """What has its receipt already waits for nothing: another delivery of it was settled elsewhere, meanwhile or before."""
        keys = [(one.agent_id, one.event_id) for one in taken]
        async with self.database.read({agent for agent, _ in keys}) as db:
            settled = await receipts.settled(db, self.worker.name, keys)
        async with self.database.queue() as db:
            await retries.clear_together(db, self.worker.name, settled)

    async def _is_another(self, retry: Retry) -> bool:
        """Whether its body, which could not be read before, is another event than was thought: it then waits under that one's name."""
        event = decode(self.worker.on, retry.body, retry.entry_id, now=clock.now())
        if (event.agent_id, event.event_id) == (retry.agent_id, retry.event_id):
            return False
        await parked.renamed(self.database, retry, event)
        return True

    async def _work(self, retry: Retry) -> list[Ended]:
        since = time.monotonic()
        event = decode(self.worker.on, retry.body, retry.entry_id, now=clock.now())
        delivery = Delivery(event, retry.entry_id, retry.body, retry.attempts)
        if not await self.life.unsettled([delivery]):
            return []
        if retry.attempts > (tries := self._tries(retry)):
            raise Exhausted(f"{retry.reason} (after {tries} attempts)")
        return await self.life.write(await self.life.think([delivery]), since=since)

    def _tries(self, retry: Retry) -> int:
        """How often it may be tried: less often when each attempt until now was the end of a replica, for its neighbours pay for these."""
        return self.settings.max_deaths if retry.reason == DIED else self.settings.max_attempts

    async def _finish(self, retry: Retry, ended: Sequence[Ended]) -> None:
        await self.life.announced(ended)
        match [one.ending for one in ended]:
            case [RetryLater(wait=wait, why=why, counted=counted)]:
                await self._again(retry, wait.total_seconds(), why, counted=counted)  # together or alone, as its row says now
            case [GiveUp(why=why)]:
                await self.life.parking.worked_alone(retry, why)
            case _:
                async with self.database.queue() as db:
                    await retries.clear(db, self.worker.name, [(retry.agent_id, retry.event_id)])

    async def _failed(self, retry: Retry, why: str, *, wait_s: float | None = None) -> None:
        """Again later, or parked when that was the last attempt; the wait grows from attempt to attempt, unless it is given."""
        if retry.attempts >= self.settings.max_attempts:
            await self._failed_for_good(retry, f"{why} (after {self.settings.max_attempts} attempts)")
            return
        outcomes.failed(retry, why, is_last=False)
        wait_s = self._backoff_s(retry.attempts) if wait_s is None else wait_s
        self.log.warning(
            "delivery.failed",
            event_id=retry.event_id,
            agent_id=retry.agent_id,
            attempt=retry.attempts,
            of=self.settings.max_attempts,
            again_in_s=round(wait_s, 1),
            error=why,
            next="tried again by itself, alone",
        )
        await self._again(retry, wait_s, why, counted=True)

    async def _failed_for_good(self, retry: Retry, why: str) -> None:
        outcomes.failed(retry, why, is_last=True)
        await self.life.parking.worked_alone(retry, why)

    async def _give_back(self, retry: Retry, why: str) -> None:
        """It was not at fault: due again and not counted, as soon as Postgres can be told."""

        async def give_back() -> None:
            await self._again(retry, PAUSE_S, why, counted=False)

        await through_outages(give_back, stopping=self.life.stopping, log=self.log)

    async def _again(self, retry: Retry, wait_s: float, reason: str, *, counted: bool) -> None:
        change = retries.postpone if counted else retries.give_back
        async with self.database.queue() as db:
            await change(db, retry, due_at=clock.now() + timedelta(seconds=wait_s), reason=reason)

    def _backoff_s(self, attempts: int) -> float:
        wait_s: float = min(self.settings.retry_cap_s, self.settings.retry_base_s * 2 ** (attempts - 1))
        return wait_s * random.uniform(0.75, 1.25)

    def _lease(self) -> datetime:
        return clock.now() + timedelta(seconds=self.settings.claim_after_s)

    @asynccontextmanager
    async def _leased(self, retry: Retry) -> AsyncIterator[None]:
        """Keep this delivery from falling due elsewhere while this process works it."""

        async def renew() -> None:
            async with self.database.queue() as db:
                await retries.renew(db, retry, lease=self._lease())

        async with repeating(renew, every_s=self.life.heartbeat_s, log=self.log):
            yield

    @asynccontextmanager
    async def _leased_together(self, taken: Sequence[Retry], lease: datetime) -> AsyncIterator[None]:
        """Keep this page from falling due elsewhere meanwhile; what is left of it, because the process stops, is due at once."""

        async def due_again(due_at: datetime) -> None:
            nonlocal lease
            async with self.database.queue() as db:
                await retries.due_again(db, taken, lease=lease, due_at=due_at)
            lease = due_at

        async def renew() -> None:
            await due_again(self._lease())

        async def let_go() -> None:
            with suppress(Outage, Contended):
                async with self.database.queue() as db:
                    await retries.let_go(db, taken, lease=lease, due_at=clock.now())

        try:
            async with repeating(renew, every_s=self.life.heartbeat_s, log=self.log):
                yield
        finally:
            await asyncio.shield(let_go())


def _grouped(entries: Sequence[Entry], times: Mapping[str, int]) -> dict[int, list[Entry]]:
    """The entries by how often each was delivered; one of which Redis knows nothing any more was taken over just now."""
    groups: dict[int, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(max(times.get(entry.entry_id, 0), TAKEN_OVER_ONCE), []).append(entry)
    return groups


class Exhausted(Exception):
    """Its attempts were used up by processes that died on it."""
