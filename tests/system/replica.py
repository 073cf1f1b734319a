"""One replica in a process of its own, for tests that kill it.

Settings come from NOUS_...; the embedder is the zero-cost one unless NOUS_EMBEDDER says openai, the mind the offline one unless
NOUS_MIND says claude. Two faults can be built in by what an event says: a content with KILL_ME ends the process with kill -9 while it is
thought about, one with FAIL_ME raises.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import workers
from events import Event
from nous import cli, log
from nous.settings import Settings
from providers import embedder, mind
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from workers.runtime import app
from workers.runtime.worker import Kit, Worker

KILL = "KILL_ME"
FAIL = "FAIL_ME"


def faulty(worker: Worker[Any, Any]) -> Worker[Any, Any]:
    """The worker, with faults that contents can set off."""

    async def think(events: Sequence[Event], kit: Kit) -> Sequence[Any]:
        thoughts = await worker.think(events, kit)
        for event in events:
            content = getattr(event, "content", "") or ""
            if KILL in content:
                os.kill(os.getpid(), signal.SIGKILL)
            if FAIL in content:
                raise ValueError(f"cannot work {content!r}")
        return thoughts

    return replace(worker, think=think)


async def main(names: Sequence[str]) -> None:
    settings = Settings()
    log.configure(log_format="json", level=settings.log_level)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    table = workers.table()
    asked = mind(settings) if settings.mind == "claude" else OfflineMind()
    chosen = embedder(settings) if settings.embedder == "openai" else ZeroEmbedder()
    async with app.kit(settings, settings.database_url or "", chosen, asked) as kit:
        await app.Process([faulty(table[name]) for name in names], kit, settings.redis_url or "").run(stop)


def run(names: Sequence[str], environment: Mapping[str, str], log_file: Path) -> None:
    """Be a replica of these workers until told to stop."""
    _as(environment, log_file)
    asyncio.run(main(names))


def command(words: Sequence[str], environment: Mapping[str, str], log_file: Path) -> None:
    """Be the `nous` command with these words."""
    _as(environment, log_file)
    sys.argv = ["nous", *words]
    cli.main()


def _as(environment: Mapping[str, str], log_file: Path) -> None:
    os.environ.update(environment)
    with log_file.open("ab") as log_:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log_.fileno(), stream.fileno())
