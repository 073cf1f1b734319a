"""What is due of all workers of a process, looked at for all of them at once: a worker with nothing set aside, and that is most of them
most of the time, asks Postgres nothing.
"""

import asyncio
import time
from collections.abc import Sequence

from nous import clock
from store import retries
from store.database import Database

LOOKED_AT_EVERY_S = 1.0


class Due:
    """Looks for one process, and remembers for LOOKED_AT_EVERY_S what was seen."""

    def __init__(self, database: Database, workers: Sequence[str]) -> None:
        self._database = database
        self._workers = workers
        self._seen: set[tuple[str, bool]] = set()
        self._seen_at = float("-inf")
        self._one_at_a_time = asyncio.Lock()

    async def has(self, worker: str, *, together: bool, since: float) -> bool:
        """Whether anything of this worker is due, alone or together, by a look that is not older than a moment nor than `since`
        (time.monotonic). Raises Outage and Contended.
        """
        async with self._one_at_a_time:
            if time.monotonic() >= self._seen_at + LOOKED_AT_EVERY_S or self._seen_at <= since:
                looked_at = time.monotonic()
                async with self._database.queue() as db:
                    self._seen = await retries.due(db, self._workers, now=clock.now())
                self._seen_at = looked_at
            return (worker, together) in self._seen
