"""Tokens that were good a moment ago: whoever shows one of them costs Postgres nothing for as long as that holds.

shown ─┬─ looked up within KEPT_S ──────▶ as it was then
       ├─ looked up before ─────────────▶ looked up again, out of its own allowance
       └─ never good here, or no longer ▶ looked up, out of the allowance of whoever asks

So a token that was revoked is answered for KEPT_S more by each process that knew it, and no longer.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from store.tokens import Token

KEPT_S = 3.0
MOST_KEPT = 10_000


@dataclass
class Known:
    """Good tokens by their digest, those that were asked for lately."""

    _seen: OrderedDict[bytes, tuple[Token, float]] = field(default_factory=OrderedDict)

    def lately(self, digest: bytes) -> Token | None:
        """The token of this digest, if it was good when it was last looked up."""
        return self._seen[digest][0] if digest in self._seen else None

    def is_fresh(self, digest: bytes, *, now: float | None = None) -> bool:
        """Whether it was looked up so lately that it may be gone by, at `now` (seconds of a clock that only goes on)."""
        now = time.monotonic() if now is None else now
        return digest in self._seen and now - self._seen[digest][1] < KEPT_S

    def keep(self, token: Token, *, now: float | None = None) -> None:
        """It was looked up, and is good."""
        self._seen[token.digest] = token, time.monotonic() if now is None else now
        self._seen.move_to_end(token.digest)
        while len(self._seen) > MOST_KEPT:
            self._seen.popitem(last=False)

    def drop(self, digest: bytes) -> None:
        """It is good no more."""
        self._seen.pop(digest, None)
