"""How long it takes until work goes on after a fault: looked at many times a second, from outside.

acknowledged ──────────────╮   fault   ╭──────────  flows again: the first deliveries acknowledged after the fault
waiting      ______________│‾‾‾‾‾‾‾‾‾‾‾╰╮____      level again: no more waits than before it
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from redis.asyncio import Redis
from redis.exceptions import RedisError

from events import CATALOGUE

LOOK_S = 0.1
LOOK_LIMIT_S = 0.5
SLACK = 1.1
SPARED = 50
BEFORE_S = 2.0


@dataclass(frozen=True)
class Sample:
    """One look: deliveries acknowledged since the groups were made, and those that wait (unread or in flight)."""

    at: float
    settled: int
    waiting: int


@dataclass(frozen=True)
class Recovery:
    """Seconds from a fault until deliveries were acknowledged again, and until no more waited than before; None when not seen."""

    flows_s: float | None
    level_s: float | None


@dataclass
class Pulse:
    """Looks at every group, for as long as it is let."""

    redis: Redis
    samples: list[Sample] = field(default_factory=list)

    async def beat(self) -> None:
        """Until cancelled."""
        while True:
            try:
                async with asyncio.timeout(LOOK_LIMIT_S):
                    self.samples.append(await self._look())
            except (RedisError, OSError, TimeoutError):
                pass
            await asyncio.sleep(LOOK_S)

    def after(self, fault: float, *, until: float) -> Recovery:
        """Of a fault at this monotonic time, as far as was seen before `until`, when the next one came."""
        before = [one.waiting for one in self.samples if fault - BEFORE_S <= one.at <= fault]
        usual = max(before, default=0) * SLACK + SPARED
        seen = [one for one in self.samples if fault < one.at <= until]
        flows = next((later.at for later in _advances(seen)), None)
        level = next((one.at for one in seen if flows is not None and one.at >= flows and one.waiting <= usual), None)
        return Recovery(_since(fault, flows), _since(fault, level))

    async def _look(self) -> Sample:
        async with self.redis.pipeline(transaction=False) as pipeline:
            for stream in CATALOGUE:
                pipeline.xinfo_groups(stream)
            answers = await pipeline.execute(raise_on_error=False)
        groups = [group for answer in answers if isinstance(answer, list) for group in answer]
        settled = sum((group["entries-read"] or 0) - group["pending"] for group in groups)
        return Sample(time.monotonic(), settled, sum((group["lag"] or 0) + group["pending"] for group in groups))


def _advances(seen: list[Sample]) -> Iterator[Sample]:
    """The looks that found more acknowledged than the one before; after a loss the count begins anew, lower."""
    for earlier, later in pairwise(seen):
        if later.settled > earlier.settled:
            yield later


def _since(fault: float, moment: float | None) -> float | None:
    return None if moment is None else round(moment - fault, 2)
