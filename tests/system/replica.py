"""One replica in a process of its own, for tests that kill it.

Settings come from NOUS_...; the embedder is the zero-cost one unless NOUS_EMBEDDER says openai, the mind the offline one unless
NOUS_MIND says claude. Two faults can be built in by what an event says: a content with KILL_ME ends the process with kill -9 while it is
thought about, one with FAIL_ME raises. Waits that are no setting can be shortened: NOUS_TEST_UNANSWERED_S, after which the sweep looks for
what Redis lost, and NOUS_TEST_MIND_WAIT_S, after which a mind that did not answer is asked again.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvloop

import workers
from events import Event
from nous import cli, log
from nous.cli.running import COLLECTED_AFTER
from nous.settings import Settings
from providers import embedder, mind
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from workers.runtime import app, asking, streams, sweep
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


def _with_faults(worker: Worker[Any, Any]) -> Worker[Any, Any]:
    """Only what has contents can be told to fail; the others are as they are, and think of nothing."""
    return faulty(worker) if "content" in worker.on.model_fields else worker


async def main(names: Sequence[str]) -> None:
    settings = Settings()
    _hasten()
    log.configure(log_format="json", level=settings.log_level)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    table = workers.table()
    asked = mind(settings) if settings.mind == "claude" else OfflineMind()
    chosen = embedder(settings) if settings.embedder == "openai" else ZeroEmbedder()
    async with app.kit(settings, settings.database_url or "", chosen, asked) as kit:
        chosen_workers = [_with_faults(table[name]) for name in names if name != streams.ARCHIVIST]
        await app.Process(chosen_workers, kit, settings.redis_url or "", archives=streams.ARCHIVIST in names).run(stop)


def _hasten() -> None:
    """Shorten what is waited for, if that is asked."""
    if unanswered := os.environ.get("NOUS_TEST_UNANSWERED_S"):
        sweep.UNANSWERED_AFTER = timedelta(seconds=float(unanswered))
    if wait := os.environ.get("NOUS_TEST_MIND_WAIT_S"):
        asking.WAIT_FOR_AN_OUTAGE = asking.WAIT_FOR_SENSE = timedelta(seconds=float(wait))


def run(names: Sequence[str], environment: Mapping[str, str], log_file: Path) -> None:
    """Be a replica of these workers, of which the archivist may be one, until told to stop."""
    _as(environment, log_file)
    gc.set_threshold(*COLLECTED_AFTER)
    uvloop.run(main(names))


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
