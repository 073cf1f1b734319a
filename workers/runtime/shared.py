"""What every process sees the same, for Prometheus: looked at when somebody scrapes, and at most once in a few seconds.

    scrape ─┬─ seen a moment ago ──▶ told again
            └─ else: one look at Redis and Postgres ─┬─ told
                                                     └─ one of them is away ▶ nous_look_succeeded 0, and nothing made up

Every process tells the same, so these are aggregated with max, never with sum.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from redis.asyncio import Redis

import workers
from nous.errors import Contended, Misconfigured, Outage
from nous.settings import Settings
from store import receipts
from store.database import Database

from . import retention
from .look import Look, look
from .retention import Kept

LOOKED_AT_EVERY_S = 5.0
LOOK_LIMIT_S = 5.0

Gauges = Sequence[Metric]


class Shared:
    """Looks for one process, and remembers what was seen."""

    def __init__(self, settings: Settings, database: Database, redis: Redis) -> None:
        self._settings = settings
        self._database = database
        self._redis = redis
        self._one_at_a_time = asyncio.Lock()
        self._seen: Gauges = ()
        self._seen_at = float("-inf")

    async def gauges(self) -> Gauges:
        """Every gauge as it was within the last LOOKED_AT_EVERY_S."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._seen_at + LOOKED_AT_EVERY_S:
                self._seen, self._seen_at = await self._look(), time.monotonic()
            return self._seen

    async def _look(self) -> Gauges:
        try:
            async with asyncio.timeout(LOOK_LIMIT_S):
                seen = await look(self._settings, self._database, self._redis)
                kept = await retention.kept(self._redis, workers.consumers(), keep_s=self._settings.stream_keep_s)
                async with self._database.overview() as db:
                    parked = await receipts.parked_classes(db)
        except (Outage, Contended, Misconfigured, TimeoutError):
            return [_succeeded(is_seen=False)]
        return [_succeeded(is_seen=True), *_of_workers(seen), *_of_the_whole(seen), *_of_streams(kept), _parked(parked)]


def _succeeded(*, is_seen: bool) -> Metric:
    return GaugeMetricFamily("nous_look_succeeded", "Whether Redis and Postgres could both be looked at.", value=float(is_seen))


def _of_workers(seen: Look) -> Gauges:
    lag = GaugeMetricFamily("nous_stream_lag", "Entries not delivered to the worker yet.", labels=("stream", "worker"))
    pending = GaugeMetricFamily("nous_stream_pending", "Entries delivered and not acknowledged.", labels=("stream", "worker"))
    oldest = GaugeMetricFamily(
        "nous_oldest_pending_seconds", "Since the oldest pending entry was published; 0 when none is.", labels=("stream", "worker")
    )
    waiting = GaugeMetricFamily(
        "nous_waiting", "Deliveries set aside for another attempt, for a mind, or for what they overtook.", labels=("worker",)
    )
    for one in (*seen.workers, seen.archivist):
        where = (one.stream, one.worker)
        lag.add_metric(where, one.lag)
        pending.add_metric(where, one.pending)
        oldest.add_metric(where, one.oldest_s or 0.0)
    for one in seen.workers:
        waiting.add_metric((one.worker,), one.retrying)
    return lag, pending, oldest, waiting


def _of_streams(kept: Sequence[Kept]) -> Gauges:
    length = GaugeMetricFamily("nous_stream_entries", "Entries a stream holds.", labels=("stream",))
    held = GaugeMetricFamily(
        "nous_trim_held_seconds",
        "For how long a group has kept a stream from being trimmed; nothing when none does.",
        labels=("stream", "group"),
    )
    for one in kept:
        length.add_metric((one.stream,), one.entries)
        if one.needed_by and one.held_s:
            held.add_metric((one.stream, one.needed_by), one.held_s)
    return length, held


def _of_the_whole(seen: Look) -> Gauges:
    return (
        GaugeMetricFamily("nous_outbox_unpublished", "Derived events that Redis does not have yet.", value=seen.outbox),
        GaugeMetricFamily("nous_unadjudicated", "Checks of facts and episodes that wait for a mind.", value=seen.unadjudicated),
    )


def _parked(counts: Mapping[tuple[str, str], int]) -> Metric:
    parked = GaugeMetricFamily("nous_parked", "Deliveries that wait for a person.", labels=("worker", "reason"))
    for (worker, reason), count in counts.items():
        parked.add_metric((worker, reason), count)
    return parked
