"""Parts of long memories that were found within the last hour, in this process: nobody pays for a memory's part twice in a conversation."""

from collections import OrderedDict
from datetime import datetime, timedelta

from nous import clock

KEPT_FOR = timedelta(hours=1)  # spec 003
MOST = 2_000

Key = tuple[str, ...]
"""Agent, kind, id and version of the memory, and the question."""


class Kept:
    """The last used ones."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, tuple[datetime, str]] = OrderedDict()

    def get(self, key: Key) -> str | None:
        """What is kept under this key and not older than an hour."""
        known = self._known.get(key)
        return known[1] if known and clock.now() - known[0] < KEPT_FOR else None

    def put(self, key: Key, part: str) -> None:
        """Keep it for an hour."""
        self._known[key] = (clock.now(), part)
        self._known.move_to_end(key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
