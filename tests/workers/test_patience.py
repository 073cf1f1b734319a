"""Heartbeats end with what they beat for, whatever they are doing."""

import asyncio
from contextlib import suppress

import pytest
import structlog
from structlog.testing import capture_logs

from tests.conftest import until
from workers.runtime import patience
from workers.runtime.patience import repeating

LOG = structlog.get_logger()


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LAST_BEAT_S", 0.05)


async def test_a_heartbeat_that_loses_its_cancellation_does_not_hold_up_what_it_beat_for() -> None:
    """As a Redis client may that is cancelled while its connection fails: the page would never end, and seem alive for ever."""
    begun = asyncio.Event()

    async def renew() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionError("reset by peer") from None

    with capture_logs():
        async with asyncio.timeout(10), repeating(renew, every_s=0.001, log=LOG):
            await begun.wait()


async def test_a_heartbeat_under_way_is_finished_and_not_torn_from_its_connection() -> None:
    begun, beat = asyncio.Event(), asyncio.Event()
    finished = False

    async def renew() -> None:
        nonlocal finished
        begun.set()
        await beat.wait()
        finished = True

    async with repeating(renew, every_s=0.001, log=LOG):
        await begun.wait()
        asyncio.get_running_loop().call_soon(beat.set)
    assert finished


async def test_no_heartbeat_comes_after_the_end() -> None:
    beats = 0

    async def renew() -> None:
        nonlocal beats
        beats += 1

    async def beaten() -> bool:
        return beats >= 2

    async with repeating(renew, every_s=0.001, log=LOG):
        await until(beaten, what="two heartbeats")
    before = beats
    with suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await asyncio.Event().wait()
    assert beats == before


async def test_a_block_that_fails_fails_with_its_own_error() -> None:
    async def renew() -> None:
        raise ValueError("the heartbeat's")

    with capture_logs(), pytest.raises(KeyError, match="the block's"):
        async with repeating(renew, every_s=0.001, log=LOG):
            raise KeyError("the block's")
