"""Waiting: for what is away, and while something takes long."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from structlog.typing import FilteringBoundLogger

from nous.errors import Contended, Outage

PAUSE_S = 0.5
PAUSE_CAP_S = 10.0


async def through_outages(step: Callable[[], Awaitable[None]], *, stopping: asyncio.Event, log: FilteringBoundLogger) -> None:
    """Do `step`; while something outside is away, wait and do it again, until it succeeds or `stopping` is set.

    What was done before the outage has its receipts, so doing the step again is harmless.
    """
    since = time.monotonic()
    pause_s = PAUSE_S
    while not stopping.is_set():
        try:
            await step()
        except (Outage, Contended) as error:
            log.warning("work.waiting", reason=str(error), for_s=round(time.monotonic() - since), next="tried again by itself")
            with suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), pause_s)
            pause_s = min(pause_s * 2, PAUSE_CAP_S)
        else:
            if pause_s > PAUSE_S:
                log.info("work.resumed", after_s=round(time.monotonic() - since))
            return


@asynccontextmanager
async def repeating(renew: Callable[[], Awaitable[None]], *, every_s: float) -> AsyncIterator[None]:
    """Call `renew` every so often for as long as the block takes; one that fails is called again the next time."""

    async def run() -> None:
        while True:
            await asyncio.sleep(every_s)
            with suppress(Outage, Contended):
                await renew()

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
