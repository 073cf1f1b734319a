"""Producers: each publishes its life at an even pace, repeats what was not acknowledged, and keeps a log of what was.

life ──paced──▶ XADD ─┬─ acknowledged ──▶ the log: which event, as which entry
             ▲        └─ no answer ─────▶ the same again, with the same event ids
             └── what Redis has lost of the log is told again
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from events import CATALOGUE
from nous import clock

from .lives import Said

AT_ONCE = 10
PATIENCE_S = 0.1


@dataclass
class Producer:
    """One producer: its clock is off by `clock_off`, and it sends everything `times`. `names_events` is whether it gives its events ids."""

    number: int
    life: list[Said]
    clock_off: timedelta = timedelta()
    times: int = 1
    names_events: bool = True
    log: list[Said] = field(default_factory=list)
    again: list[Said] = field(default_factory=list)
    unanswered: int = 0

    async def publish(self, redis: Redis, gate: asyncio.Event, *, within_s: float) -> None:
        """Its whole life within so many seconds; waits while the gate is closed."""
        loop, began = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        for at in range(0, len(self.life), AT_ONCE):
            due = began + within_s * at / len(self.life)
            while (left_s := due - loop.time()) > 0:
                await self.tell_again(redis, gate)
                await asyncio.sleep(min(left_s, PATIENCE_S))
            await self._send(redis, gate, self.life[at : at + AT_ONCE])
        await self.tell_again(redis, gate)

    async def tell_again(self, redis: Redis, gate: asyncio.Event) -> None:
        """What was lost is published once more, as it was."""
        while self.again:
            some = self.again[:AT_ONCE]
            await self._send(redis, gate, some)
            del self.again[: len(some)]

    async def _send(self, redis: Redis, gate: asyncio.Event, some: Sequence[Said]) -> None:
        sent = [said for said in some for _ in range(self.times)]
        while True:
            await gate.wait()
            try:
                async with redis.pipeline(transaction=False) as pipeline:
                    for said in sent:
                        pipeline.xadd(said.stream, self._fields(said))  # type: ignore[arg-type]
                    entries = await pipeline.execute()
            except (RedisError, OSError, TimeoutError):
                self.unanswered += len(sent)
                await asyncio.sleep(PATIENCE_S)
                continue
            for said, entry in zip(sent, entries, strict=True):
                if not said.entries:
                    self.log.append(said)
                said.entries.append(entry.decode())
            return

    def _fields(self, said: Said) -> dict[str, bytes]:
        """What is published of it; said again, it is the same to the byte."""
        if said.sent is None:
            said.sent = said.fields or {"data": json.dumps(self._dated(said)).encode()}
        return said.sent

    def _dated(self, said: Said) -> dict[str, Any]:
        body = {**said.body, "occurred_at": (clock.now() + self.clock_off).isoformat()}
        said.body = body
        if not self.names_events and CATALOGUE[said.stream].derive_id(body, "1-1") == CATALOGUE[said.stream].derive_id(body, "2-2"):
            del body["event_id"]
            said.event_id = CATALOGUE[said.stream].derive_id(body, "1-1")
        return body
