"""Parking: a delivery that cannot succeed waits for a person, with its reason and its body as it came. Nothing else is affected.

A parked delivery has a receipt that says so and an entry in `<stream>.parked`. A crash between the two parks it there twice, never
nowhere; the receipt stays one.
"""

from collections.abc import Iterable
from typing import Any

import structlog
from redis.asyncio import Redis

from events import MalformedEvent, derived, kept_body
from nous import clock
from store import receipts, retries
from store.database import Database
from store.retries import Retry

from . import record, streams
from .record import Ended
from .streams import Entry
from .worker import GiveUp, Worker

log = structlog.get_logger()


class Parking:
    """Where one worker puts what it cannot work."""

    def __init__(self, worker: Worker[Any, Any], database: Database, redis: Redis) -> None:
        self._worker = worker
        self._database = database
        self._redis = redis
        self._stream = worker.on.stream

    async def malformed(self, entry: Entry, error: MalformedEvent) -> None:
        """It never was an event of this stream. Acknowledged as it is parked, and only that when read again. Raises Outage."""
        key = (error.agent_id, error.event_id or derived(self._stream, entry.entry_id))
        async with self._database.write({error.agent_id}) as db:
            was_parked = await receipts.is_parked(db, self._worker.name, key, entry.entry_id)
            await receipts.insert(db, [record.parked_receipt(self._worker, key, entry.entry_id, str(error), clock.now())])
        if was_parked:
            await streams.acknowledge(self._redis, self._stream, self._worker.name, [entry.entry_id])
            return
        await self._append(kept_body(entry.fields), key, entry.entry_id, str(error), attempts=1, acknowledge=True)

    async def given_up(self, ended: Iterable[Ended]) -> None:
        """Those a page gave up on: their receipts say so already; now the stream where a person looks. Raises Outage."""
        for one in ended:
            if isinstance(one.ending, GiveUp):
                await self._append(one.delivery.body, one.delivery.key, one.delivery.entry_id, one.ending.why, attempts=1)

    async def worked_alone(self, retry: Retry, reason: str) -> None:
        """One that was worked alone and will not be again. Raises Outage."""
        key = (retry.agent_id, retry.event_id)
        await self._append(retry.body, key, retry.entry_id, reason, attempts=retry.attempts)
        async with self._database.write({retry.agent_id}) as db:
            await receipts.insert(db, [record.parked_receipt(self._worker, key, retry.entry_id, reason, clock.now())])
            await retries.clear(db, self._worker.name, [key])

    async def _append(
        self, body: bytes, key: receipts.Key, entry_id: str, reason: str, *, attempts: int, acknowledge: bool = False
    ) -> None:
        fields = record.parked_fields(self._worker, body, key, entry_id, reason, attempts=attempts, now=clock.now())
        await streams.park(self._redis, self._stream, self._worker.name, fields, entry_id if acknowledge else None)
        parked = self._stream + streams.PARKED_SUFFIX
        log.error(
            "delivery.parked",
            worker=self._worker.name,
            event_id=key[1],
            agent_id=key[0],
            entry_id=entry_id,
            reason=reason,
            next=f"nothing else was affected; look with XRANGE {parked} - +, mend the cause, publish it again under the same event_id",
        )
