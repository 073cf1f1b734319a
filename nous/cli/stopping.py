"""How a command that runs for long is stopped: Ctrl-C and SIGTERM end it gently, and that is no error.

stoppable() ─▶ a signal ─▶ stop.then, what to do at this point of the command ─▶ the block ends
"""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial


class Stop:
    """What Ctrl-C and SIGTERM do. The first one counts: it calls `then`, or interrupts when there is nothing to call yet."""

    def __init__(self) -> None:
        self.then: Callable[[], object] | None = None
        self.is_heard = False

    def hear(self, *_: object) -> None:
        """A signal has come. Stopping takes bounded time, so a second one changes nothing."""
        if self.is_heard:
            return
        self.is_heard = True
        if self.then is None:
            raise KeyboardInterrupt
        self.then()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM end the block, and that is no error."""
    stop = Stop()
    before = {which: signal.signal(which, stop.hear) for which in (signal.SIGINT, signal.SIGTERM)}
    try:
        with suppress(KeyboardInterrupt, asyncio.CancelledError):
            yield stop
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)


def interrupt_with(stop: Stop) -> None:
    """While something is still starting, a signal cancels it."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine that runs has a task
    stop.then = partial(asyncio.get_running_loop().call_soon_threadsafe, task.cancel)


def set_by(stop: Stop) -> asyncio.Event:
    """From now on a signal sets this, and whoever waits for it finishes what is in flight."""
    asked = asyncio.Event()
    stop.then = partial(asyncio.get_running_loop().call_soon_threadsafe, asked.set)
    return asked
