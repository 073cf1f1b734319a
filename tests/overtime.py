"""A test that is over its time ends, and says where it waited; pyproject.toml says how long one has (`timeout`), or its mark does.

its time             every task of the loop is cancelled, or the test fails where no loop runs
its time and a half  what goes on is aborted with its process, which prints every thread's stack; xdist names the test and begins its file
                     again in another process, and a second abort ends the run (Makefile)
all of them          no test begins after `session_timeout`

pytest-timeout reads the settings and stops the clock. Its own alarm ends nothing that waits on uvloop, which runs the handler of a
signal in a callback of its own and drops what that raises.
"""

import asyncio
import os
import signal
import threading
from typing import Any

import pytest
import pytest_timeout

ABORTED_AFTER = 1.5


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """Start the clock of a test with its fixtures."""
    over = f"over its time, {settings.timeout:g} s"

    def alarm(*_: object) -> None:
        if pytest_timeout.is_debugging():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            pytest.fail(over)
        for task in asyncio.all_tasks(loop):
            task.print_stack()
            loop.call_soon_threadsafe(task.cancel, over)  # which wakes any loop

    def end() -> None:
        if not pytest_timeout.is_debugging():
            os.abort()

    abort = threading.Timer(settings.timeout * ABORTED_AFTER, end)
    abort.daemon = True

    def cancel() -> None:
        abort.cancel()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout)
    abort.start()
    return True


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Start it anew for what is put away after a test that failed; pytest-timeout has just stopped it."""
    if isinstance(node, pytest.Item) and not node.config.getoption("usepdb"):
        settings = pytest_timeout._get_item_settings(node)
        if settings.timeout and not settings.func_only:
            pytest_timeout_set_timer(node, settings)
