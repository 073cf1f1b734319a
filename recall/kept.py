"""Parts of long memories that were found within the last hour, in this process: nobody pays for a memory's part twice in a conversation.

    a part is found ─▶ those of the memory as it was before go, and all that are older than an hour ─▶ it is kept

A memory of which something was forgotten has another version since, so what was found in it before is told no more.
"""

from collections import OrderedDict
from datetime import datetime, timedelta

from nous import clock

KEPT_FOR = timedelta(hours=1)  # spec 003
MOST = 2_000

Key = tuple[str, ...]
"""Agent, kind, id and version of the memory, and the question."""

_MEMORY, _VERSION = slice(0, 3), 3


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
        for gone in [one for one, (at, _) in self._known.items() if _is_of_before(one, key) or clock.now() - at >= KEPT_FOR]:
            del self._known[gone]
        self._known[key] = (clock.now(), part)
        self._known.move_to_end(key)
        while len(self._known) > MOST:
            self._known.popitem(last=False)


def _is_of_before(one: Key, now: Key) -> bool:
    """Whether it is of the same memory in another version."""
    return one[_MEMORY] == now[_MEMORY] and one[_VERSION] != now[_VERSION]
