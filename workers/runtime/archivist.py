"""The archivist: keeps every event of every stream, raw, and lets the streams forget what everybody has passed.

    every stream ──▶ a page as it came ──▶ bus.events (agent, event id, stream, body: once) ──▶ acknowledged ──▶ trimmed (retention)
                        └─ killed meanwhile ─▶ taken over after the claim time, and kept again: the same row

It reads what a body says of itself and no more: what no worker can read is kept too. It has no receipts, for it has no effect but the
row, and the row is its receipt. One reads all streams with one command; any number of replicas may run.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial

import structlog
from redis.asyncio import Redis

import events
from nous import clock
from store import archive

from . import record, retention, streams
from .patience import stopped_within, through_outages
from .runs import bounded
from .streams import Entry
from .sweep import Consumers
from .worker import Kit

DOES = "Keep every event of every stream, raw, and let the streams forget what everybody has passed."
PAGE = 500  # entries of each key, and fewer where streams are spread over many
PAGE_AT_LEAST = 50
BYTES_AT_ONCE = 8 * 1024 * 1024
BLOCK_MS = 1_000
TRIM_EVERY_S = 5.0
GATHERED_S = 0.1  # after a page that was not full: entries come one by one, and a transaction for each would be dear

log = structlog.get_logger().bind(worker=streams.ARCHIVIST)


class Archivist:
    """The archivist of one process, from its start to its stop."""

    def __init__(self, kit: Kit, redis: Redis, consumer: str, consumers: Consumers) -> None:
        """`consumers` names the workers on each stream: what one of them has not passed is not trimmed."""
        self.kit = kit
        self.redis = redis
        self.consumer = consumer
        self.consumers = consumers
        self.stopping = asyncio.Event()
        self.keys: Sequence[str] = ()
        self.has_groups = False
        self.looked_at = float("-inf")

    async def read(self) -> None:
        """Keep the next page of every stream. Raises Outage."""
        try:
            await self._ensure_groups()
            found = await streams.read(self.redis, streams.ARCHIVIST, self.consumer, self.keys, count=self._page, block_ms=BLOCK_MS)
        except streams.GroupLost:
            self.has_groups = False
            return
        if not found:
            return
        await through_outages(partial(self.keep, found), stopping=self.stopping, log=log)
        if sum(map(len, found.values())) < PAGE:
            await stopped_within(GATHERED_S, self.stopping)

    async def keep(self, found: Mapping[str, Sequence[Entry]]) -> None:
        """Keep these entries, by stream, and acknowledge them. Raises Outage and Contended."""
        now = clock.now()
        rows = [record.archived(events.CATALOGUE[stream], entry, now=now) for stream, entries in found.items() for entry in entries]
        for some in bounded(rows, BYTES_AT_ONCE):
            async with self.kit.database.notes({one.agent_id for one in some}) as db:
                await archive.insert(db, some)
        for stream, entries in found.items():
            await streams.acknowledge(self.redis, stream, streams.ARCHIVIST, [entry.entry_id for entry in entries])

    async def take_over(self) -> None:
        """Keep what a dead replica left pending. Raises Outage and Contended."""
        after_s, group = self.kit.settings.claim_after_s, streams.ARCHIVIST
        for stream in events.CATALOGUE:
            while entries := await streams.claim(self.redis, stream, group, self.consumer, idle_ms=int(after_s * 1000), count=PAGE):
                await self.keep({stream: entries})
        await stopped_within(after_s, self.stopping)

    async def trim(self) -> None:
        """Let the streams forget what everybody has passed. Raises Outage."""
        await retention.trim(self.redis, self.consumers, keep_s=self.kit.settings.stream_keep_s)
        await stopped_within(TRIM_EVERY_S, self.stopping)

    async def _ensure_groups(self) -> None:
        """A group in every key, looked for again now and then: somebody may spread streams further at any time."""
        if self.has_groups and time.monotonic() < self.looked_at + streams.SPREAD_LOOKED_AT_S:
            return
        keys = streams.all_keys(await streams.spread(self.redis))
        if not self.has_groups or len(keys) > len(self.keys):
            await streams.ensure_groups(self.redis, keys, streams.ARCHIVIST)
        await streams.speak(self.redis, streams.ARCHIVIST, self.consumer, keys[0])
        self.keys, self.has_groups, self.looked_at = keys, True, time.monotonic()

    @property
    def _page(self) -> int:
        return max(PAGE * len(events.CATALOGUE) // max(len(self.keys), 1), PAGE_AT_LEAST)
