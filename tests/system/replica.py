"""One replica in a process of its own, for tests that kill it: `python -m tests.system.replica WORKER...`.

Settings come from NOUS_...; the embedder is the zero-cost one, the mind the offline one unless NOUS_MIND says claude. Two faults can be
built in by what an event says: a content with KILL_ME ends the process with kill -9 while it is thought about, one with FAIL_ME raises.

With --nursery it works nothing itself: for each line on its standard input it forks a replica and prints its process id, which takes
milliseconds where a start takes seconds, so that one can be killed many times.
"""

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import workers
from events import Event
from nous import log
from nous.settings import Settings
from providers import mind
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store import database
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
    async with app.kit(settings, settings.database_url or "", ZeroEmbedder(), asked) as kit:
        await app.Process([faulty(table[name]) for name in names], kit, settings.redis_url or "").run(stop)


def nursery(names: Sequence[str]) -> None:
    """Fork a replica for each line, and wait for it to be killed before the next. What takes long to load is loaded before."""
    import pgvector.asyncpg  # noqa: F401

    import providers.claude  # noqa: F401

    workers.table()
    database.engine("postgresql://nobody@127.0.0.1/none", pool=1)
    certificates = ssl.create_default_context()
    ssl.create_default_context = lambda *_, **__: certificates  # type: ignore[assignment]
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(main(names))
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    if "--nursery" in sys.argv:
        nursery([name for name in sys.argv[1:] if name != "--nursery"])
    else:
        asyncio.run(main(sys.argv[1:]))
