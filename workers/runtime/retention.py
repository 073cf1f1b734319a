"""Retention: how far a stream may be forgotten, and who holds it back.

    entries ──▶ read and acknowledged by every group ──▶ in the archive ──▶ older than NOUS_STREAM_KEEP_S ──▶ trimmed
                    └─ a group that stalls, or a worker that never ran, holds its stream; `nous status` names it
                    └─ a group whose worker is gone for good: `nous group drop`

The archivist is one of the groups, so what it has not kept is never trimmed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis

import events

from . import streams

HELD_AFTER_S = 60.0  # past the time it is kept anyway; until then nobody is to be blamed

log = structlog.get_logger()


@dataclass(frozen=True)
class Kept:
    """What a stream still holds: how many entries, how old the oldest is, and which group may still need it; None when that is none.

    `held_s` is for how long that group has kept the stream from being trimmed; 0 while that is nothing to speak of.
    """

    stream: str
    entries: int
    oldest_s: float
    needed_by: str | None
    held_s: float


async def trim(redis: Redis, consumers: Mapping[str, Sequence[str]], *, keep_s: float) -> int:
    """Forget what every group has passed, but for the last `keep_s` seconds; how many entries. Raises Outage."""
    keep_from = f"{max(int(await streams.time_ms(redis) - keep_s * 1000), 0)}-0"
    gone = 0
    for stream in events.CATALOGUE:
        passed = await streams.passed(redis, stream)
        if passed.keys() >= {streams.ARCHIVIST, *consumers.get(stream, ())}:
            gone += await streams.trim(redis, stream, before=min((*passed.values(), keep_from), key=_order))
    if gone:
        log.debug("streams.trimmed", entries=gone)
    return gone


async def kept(redis: Redis, consumers: Mapping[str, Sequence[str]], *, keep_s: float) -> list[Kept]:
    """What each stream still holds, and who needs the oldest of it. Raises Outage."""
    now_ms = await streams.time_ms(redis)
    return [
        await _kept(redis, stream, (streams.ARCHIVIST, *consumers.get(stream, ())), now_ms, keep_s + HELD_AFTER_S)
        for stream in events.CATALOGUE
    ]


async def _kept(redis: Redis, stream: str, needed: Sequence[str], now_ms: int, spared_s: float) -> Kept:
    entries, oldest = await streams.span(redis, stream)
    if not entries:
        return Kept(stream, 0, 0.0, None, 0.0)
    passed = await streams.passed(redis, stream)
    absent = next((name for name in needed if name not in passed), None)
    slowest = absent or min(passed, key=lambda name: _order(passed[name]))
    is_needed = absent is not None or _order(passed[slowest]) <= _order(oldest)
    oldest_s = max(now_ms - _order(oldest)[0], 0) / 1000
    return Kept(stream, entries, oldest_s, slowest if is_needed else None, max(oldest_s - spared_s, 0.0) if is_needed else 0.0)


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry_id.partition("-")
    return int(milliseconds), int(sequence or 0)
