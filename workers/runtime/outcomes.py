"""What is told of how deliveries end: counted (metrics.py), traced (traces.py), and a line in the log.

    ended       debug   delivery.ended, a line each      after the commit
    page        info    page.worked, how many of each outcome
    failed      warning, set aside warning, parked error: their lines are where they happen

At a thousand events a second a line each would cost more than the work of writing a receipt (docs/operations.md), so a page has one line
and each delivery's is for whoever asks for it (NOUS_LOG_LEVEL=debug).
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence

from structlog.typing import FilteringBoundLogger

from nous import clock
from store.receipts import Key
from store.retries import Retry

from . import metrics, traces
from .record import Delivery, Ended


def ended(worker: str, endings: Sequence[Ended], *, since: float, log: FilteringBoundLogger) -> None:
    """These were committed; they were taken up at `since` (time.monotonic)."""
    if not endings:
        return
    metrics.ended(worker, endings, now_ms=clock.now().timestamp() * 1000)
    traces.ended(worker, endings, since=since)
    if log.is_enabled_for(logging.DEBUG):
        for one in endings:
            agent_id, event_id = one.delivery.key
            log.debug("delivery.ended", outcome=metrics.outcome(one), event_id=event_id, agent_id=agent_id, entry_id=one.delivery.entry_id)


def page(worker: str, endings: Sequence[Ended], deliveries: int, *, since: float, log: FilteringBoundLogger) -> None:
    """A page of so many deliveries is through; those without an ending were settled before, or set aside."""
    seconds = time.monotonic() - since
    metrics.page(worker, seconds)
    if endings:
        counts = dict(sorted(Counter(map(metrics.outcome, endings)).items()))
        log.info("page.worked", deliveries=deliveries, milliseconds=round(seconds * 1000), outcomes=counts)


def set_aside(worker: str, failures: Sequence[tuple[Delivery, str]], *, since: float) -> None:
    """Each of these is worked alone next."""
    metrics.set_aside(worker, len(failures))
    traces.set_aside(worker, failures, since=since)


def failed(retry: Retry, why: str, *, is_last: bool) -> None:
    """One that was worked alone failed, and the attempt counts."""
    metrics.failed(retry.worker, is_last=is_last)
    if not is_last:
        key = (retry.agent_id, retry.event_id)
        traces.unsettled(retry.worker, retry.stream, "retried", key, retry.entry_id, retry.body, why)


def parked(worker: str, stream: str, key: Key, entry_id: str, body: bytes, reason: str) -> None:
    """One waits for a person."""
    metrics.parked(worker)
    traces.unsettled(worker, stream, "parked", key, entry_id, body, reason)
