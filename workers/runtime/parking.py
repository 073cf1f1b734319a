"""Parking: a delivery that cannot succeed waits for a person, with its reason and its body as it came. Nothing else is affected.

A parked delivery has a receipt that says so, which is what counts, and with it, in one transaction, a row of the archive with its body;
and an entry in `<stream>.parked`, which a crash between the two leaves once too many, or not at all: parked.py finds the body either way,
also when Redis has lost it. What was settled is not parked any more.
"""

from collections.abc import Iterable
from typing import Any

import structlog
from redis.asyncio import Redis

from events import MalformedEvent, kept_body
from nous import clock
from store import archive, parked, receipts, retries
from store.database import Database
from store.receipts import Receipt
from store.retries import Retry

from . import outcomes, record, streams
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
        row = record.archived(self._worker.on, entry, now=clock.now())
        key = (row.agent_id, row.event_id)
        async with self._database.write({row.agent_id}) as db:
            is_known = await receipts.is_parked(db, self._worker.name, key, entry.entry_id)
            is_known = is_known or bool(await receipts.settled(db, self._worker.name, [key]))
            if not is_known:
                await archive.insert(db, [row])
                await receipts.insert(db, [self._receipt(key, entry.entry_id, str(error), attempts=1)])
        if is_known:
            log.info(
                "delivery.known", worker=self._worker.name, event_id=key[1], agent_id=key[0], entry_id=entry.entry_id, reason=str(error)
            )
            await streams.acknowledge(self._redis, self._stream, self._worker.name, [entry.entry_id])
            return
        await self._append(kept_body(entry.fields), key, entry.entry_id, str(error), attempts=1, acknowledge=True)

    async def given_up(self, ended: Iterable[Ended]) -> None:
        """Those a page gave up on: their receipts say so already; now the stream where a person looks. Raises Outage."""
        for one in ended:
            if isinstance(one.ending, GiveUp):
                delivery, ending = one.delivery, one.ending
                await self._append(delivery.body, delivery.key, delivery.entry_id, ending.why, attempts=ending.attempts)

    async def worked_alone(self, retry: Retry, reason: str) -> None:
        """One that was worked alone and will not be again. Raises Outage."""
        key = (retry.agent_id, retry.event_id)
        await self._append(retry.body, key, retry.entry_id, reason, attempts=retry.attempts)
        kept = record.kept(self._stream, key, retry.entry_id, retry.body, now=clock.now())
        async with self._database.write({retry.agent_id}) as db:
            await archive.insert(db, [kept])
            await receipts.insert(db, [self._receipt(key, retry.entry_id, reason, attempts=retry.attempts)])
            await retries.clear(db, self._worker.name, [key])

    def _receipt(self, key: receipts.Key, entry_id: str, reason: str, *, attempts: int) -> Receipt:
        return record.parked_receipt(self._worker, key, entry_id, reason, attempts=attempts, now=clock.now())

    async def _append(
        self, body: bytes, key: receipts.Key, entry_id: str, reason: str, *, attempts: int, acknowledge: bool = False
    ) -> None:
        fields = record.parked_fields(self._worker, body, key, entry_id, reason, attempts=attempts, now=clock.now())
        await streams.park(self._redis, self._stream, self._worker.name, fields, entry_id, is_settled=acknowledge)
        outcomes.parked(self._worker.name, self._stream, key, entry_id, body, reason)
        name = parked.handle(self._worker.name, key)
        log.error(
            "delivery.parked",
            parked=name,
            worker=self._worker.name,
            event_id=key[1],
            agent_id=key[0],
            entry_id=entry_id,
            reason=reason,
            next=f"nothing else was affected; look with: nous dead show {name}; mend the cause, then: nous dead retry {name}",
        )
