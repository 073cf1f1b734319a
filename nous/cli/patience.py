"""Doing a step again after something was away or in the way, for commands that run long and can be run again."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from nous.errors import Contended, Outage

TRIES = 20
FIRST_WAIT_S = 0.25  # doubles
LONGEST_WAIT_S = 10.0

T = TypeVar("T")

log = structlog.get_logger()


async def patiently(step: Callable[[], Awaitable[T]], *, what: str) -> T:
    """Do `step` until it is done; not for ever. `what` is delayed meanwhile, and the log says so. Raises its last Outage or Contended."""
    for again in range(1, TRIES):
        try:
            return await step()
        except (Outage, Contended) as error:
            log.warning(f"{what}.delayed", reason=str(error), next="tried again by itself")
            await asyncio.sleep(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**again))
    return await step()
