"""Retention: how far a stream may be forgotten, and who holds it back.

    entries ──▶ read and acknowledged by every group ──▶ in the archive ──▶ older than NOUS_STREAM_KEEP_S ──▶ trimmed
                    └─ a group that stalls, or a worker that never ran, holds its stream; `nous status` names it
                    └─ a group whose worker is gone for good: `nous group drop`

The archivist is one of the groups, so what it has not kept is never trimmed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog
from redis.asyncio import Redis

import events
from events import partitions

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


@dataclass(frozen=True)
class Group:
    """A group of a stream. `heard_s` is since one of its replicas last spoke, None when it never had one.

    `holds` counts the entries that every other group has passed: what would be trimmed, in time, without this one.
    """

    stream: str
    name: str
    lag: int
    pending: int
    heard_s: float | None
    holds: int


async def trim(redis: Redis, consumers: Mapping[str, Sequence[str]], *, keep_s: float) -> int:
    """Forget what every group has passed, but for the last `keep_s` seconds; how many entries. Raises Outage."""
    spread, gone = await streams.spread(redis), 0
    for stream in events.CATALOGUE:
        for key in partitions.keys(stream, spread):
            gone += await streams.trim(redis, key, needing=_needing(stream, consumers), keep_ms=int(keep_s * 1000))
    if gone:
        log.debug("streams.trimmed", entries=gone)
    return gone


async def kept(redis: Redis, consumers: Mapping[str, Sequence[str]], *, keep_s: float) -> list[Kept]:
    """What each stream still holds, and who needs the oldest of it. Raises Outage."""
    now_ms = await streams.time_ms(redis)
    by_stream: dict[str, list[Kept]] = {stream: [] for stream in events.CATALOGUE}
    for key in (await _keys(redis)).values():
        stream = partitions.stream_of(key.name)
        by_stream[stream].append(await _kept(redis, key, _needing(stream, consumers), now_ms, keep_s + HELD_AFTER_S))
    return [_together(keys) for keys in by_stream.values()]


async def groups(redis: Redis, stream: str) -> list[Group]:
    """Every group of a stream, whoever's it is. Raises Outage."""
    keys = await streams.positions(redis, await streams.keys(redis, stream))
    holds: dict[str, int] = {}
    for key in keys.values():
        passed = await streams.needed(redis, key)
        for name, first in passed.items():
            others = min((one for other, one in passed.items() if other != name), key=_order, default="+")
            holds[name] = holds.get(name, 0) + (await _between(redis, key.name, first, others) if _holds(first, others) else 0)
    found: list[Group] = []
    for name, count in holds.items():
        state = streams.state_of(keys.values(), name)
        found.append(Group(stream, name, state.lag, state.pending, await streams.heard_of(redis, stream, name), count))
    return found


async def _keys(redis: Redis) -> dict[str, streams.Key]:
    """Every key of every stream."""
    return await streams.positions(redis, streams.all_keys(await streams.spread(redis)))


def _needing(stream: str, consumers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return (streams.ARCHIVIST, *consumers.get(stream, ()))


async def _between(redis: Redis, key: str, first: str, before: str) -> int:
    return sum([len(page) async for page in streams.entries_of(redis, key, first=first, before=before)])


def _holds(first: str, others: str) -> bool:
    return others == "+" or _order(first) < _order(others)


async def _kept(redis: Redis, key: streams.Key, needing: Sequence[str], now_ms: int, spared_s: float) -> Kept:
    """What one key still holds."""
    stream = partitions.stream_of(key.name)
    if not key.length:
        return Kept(stream, 0, 0.0, None, 0.0)
    passed = await streams.needed(redis, key)
    absent = next((name for name in needing if name not in passed), None)
    slowest = absent or min(passed, key=lambda name: _order(passed[name]))
    is_needed = absent is not None or _order(passed[slowest]) <= _order(key.oldest)
    oldest_s = max(now_ms - _order(key.oldest)[0], 0) / 1000
    return Kept(stream, key.length, oldest_s, slowest if is_needed else None, max(oldest_s - spared_s, 0.0) if is_needed else 0.0)


def _together(keys: Sequence[Kept]) -> Kept:
    """The keys of a stream as one: who holds back the one that is held longest holds back the stream."""
    worst = max(keys, key=lambda one: (one.held_s, one.needed_by is not None, one.oldest_s))
    return replace(worst, entries=sum(one.entries for one in keys), oldest_s=max(one.oldest_s for one in keys))


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry_id.partition("-")
    return int(milliseconds), int(sequence or 0)
