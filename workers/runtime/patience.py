"""Waiting: for what is away, and while something takes long."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from structlog.typing import FilteringBoundLogger

from nous.errors import Contended, Outage

PAUSE_S = 0.5
PAUSE_CAP_S = 10.0
LAST_BEAT_S = 1.0


async def through_outages(step: Callable[[], Awaitable[None]], *, stopping: asyncio.Event, log: FilteringBoundLogger) -> bool:
    """Do `step`; while something outside is away, wait and do it again, until it succeeds or `stopping` is set while it waits.

    Whether it succeeded. What was done before the outage has its receipts, so doing the step again is harmless.
    """
    since = time.monotonic()
    pause_s = PAUSE_S
    while True:
        try:
            await step()
        except (Outage, Contended) as error:
            log.warning("work.delayed", reason=str(error), for_s=round(time.monotonic() - since), next="tried again by itself")
            if await stopped_within(pause_s, stopping):
                return False
            pause_s = min(pause_s * 2, PAUSE_CAP_S)
        else:
            if pause_s > PAUSE_S:
                log.info("work.resumed", after_s=round(time.monotonic() - since))
            return True


async def stopped_within(seconds: float, stopping: asyncio.Event) -> bool:
    """Wait for so long, or less when the stop comes; whether it came."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), seconds)
    return stopping.is_set()


@asynccontextmanager
async def repeating(renew: Callable[[], Awaitable[None]], *, every_s: float, log: FilteringBoundLogger) -> AsyncIterator[None]:
    """Call `renew` every so often while the block runs; one that fails is called again the next time, and never fails the block.

    The block ends even if a `renew` under way does not: a cancellation that comes while a connection fails may be lost on its way.
    """
    over = asyncio.Event()

    async def run() -> None:
        while not await stopped_within(every_s, over):
            try:
                await renew()
            except Exception as error:
                log.warning("heartbeat.missed", error=str(error), next=f"tried again in {every_s:.1f} s")

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        over.set()
        await asyncio.wait({task}, timeout=LAST_BEAT_S)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
