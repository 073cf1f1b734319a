"""How large a request may be and how slowly it may come, how often somebody may ask, and how many may wait.

All are of one process: with several, each lets through as many. What all of them together let through is for whoever stands before them.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, problem

MOST_KNOWN = 10_000  # who asked lately; of more, those that asked longest ago are forgotten, and may ask afresh

MOST_WAITING = 16
WAITING_RETRY_S = 2


@dataclass
class Rates:
    """So many requests a minute for each who asks; as many at once, then as they come back one by one."""

    per_minute: int
    _known: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, who: str, *, now: float | None = None) -> None:
        """Count one request of `who` at `now` (seconds of a clock that only goes on). Raises Problem 429 when there were too many."""
        now = time.monotonic() if now is None else now
        left, at = self._known.get(who, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - at) * self.per_minute / 60)
        if left < 1:
            wait = ceil((1 - left) * 60 / self.per_minute)
            raise Problem(
                429,
                f"more than {self.per_minute:,} requests in a minute (NOUS_API_REQUESTS_PER_MINUTE); wait {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self._known[who] = (left - 1, now)
        self._known.move_to_end(who)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    def give_back(self, who: str) -> None:
        """The last request of `who` was not meant for this allowance."""
        if who in self._known:
            left, at = self._known[who]
            self._known[who] = (left + 1, at)


@dataclass
class Waiting:
    """Who waits for something to happen. Each of them looks again and again, so each agent may have only so many at once."""

    most: int = MOST_WAITING
    _now: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def one(self, who: str) -> Iterator[None]:
        """Wait, for the block. Raises Problem 429 when too many of `who` do."""
        if self._now[who] >= self.most:
            raise Problem(
                429,
                f"{self.most} requests of this agent wait already; ask without `wait`, or again in {WAITING_RETRY_S} s",
                headers={"Retry-After": str(WAITING_RETRY_S)},
            )
        self._now[who] += 1
        try:
            yield
        finally:
            self._now[who] -= 1
            if not self._now[who]:
                del self._now[who]


class Bounded:
    """An application behind a limit to the size of a request's body, and to the time it takes to arrive."""

    def __init__(self, app: ASGIApp, *, most_bytes: int, within_s: float) -> None:
        self._app = app
        self._most = most_bytes
        self._within_s = within_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; a body that says it is too large is not read, one that turns out to be, or to be late, is given up."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "0")
        if said.isdigit() and int(said[:20]) > self._most:
            await problem(413, self._too_large())(scope, receive, send)
            return
        read, is_whole, until = 0, False, asyncio.get_running_loop().time() + self._within_s

        async def bounded() -> Message:
            nonlocal read, is_whole
            if is_whole:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise Problem(408, self._too_slow(), headers={"Connection": "close"}) from None
            is_whole = not message.get("more_body", False)
            read += len(message.get("body", b""))
            if read > self._most:
                raise Problem(413, self._too_large())
            return message

        await self._app(scope, bounded, send)

    def _too_slow(self) -> str:
        return f"the body was not here after {self._within_s:g} s (NOUS_API_REQUEST_S), so it was not taken; send less at once"

    def _too_large(self) -> str:
        return f"the body has more than {self._most:,} bytes (NOUS_API_BODY_BYTES); send less at once"
