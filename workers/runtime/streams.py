"""The broker's side of a delivery: groups, pending entries, acknowledging, parking. Every command to Redis that workers send is here.

A consumer group is created at 0, so nothing that was published before the first worker started is missed. FastStream reads new
entries; taking over those of a dead replica is ours (XAUTOCLAIM), and so is keeping our own from being taken over (XCLAIM
JUSTID, which resets their idle time). On Redis 8.4 XREADGROUP CLAIM could replace `claim`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import RedisError, ResponseError

from nous.errors import Misconfigured, Outage

PARKED_SUFFIX = ".parked"
ARCHIVIST = "archivist"  # the group of whoever keeps every event, on every stream
# first, or after what a pipeline puts before it
AWAY_WORDS = {"MISCONF", "OOM", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS"}
FORGET_CONSUMER_AFTER_MS = 3_600_000
COUNTED_AT_ONCE = 1_000
COUNTED_AT_MOST = 100_000


@dataclass(frozen=True)
class Entry:
    """One stream entry as delivered: its id and its fields, undecoded."""

    entry_id: str
    fields: Mapping[bytes, bytes]


@dataclass(frozen=True)
class GroupState:
    """How far a group is: entries not yet delivered to it, and delivered but not acknowledged.

    `settled` counts those acknowledged since the group was made; None when Redis does not know.
    """

    lag: int
    pending: int
    settled: int | None = None


@dataclass(frozen=True)
class Consumer:
    """One replica of a group: entries delivered to it and not acknowledged, and seconds since it last spoke."""

    pending: int
    idle_s: float


def connect(url: str) -> Redis:
    """A client that rides out a restart of the server."""
    return Redis.from_url(url, **connection_options())


def connection_options() -> dict[str, Any]:
    """Retries for FastStream's client and ours: a read-only or loading server is waited for, not hammered."""
    return {
        "retry": Retry(ExponentialWithJitterBackoff(base=0.05, cap=1), 5),
        "retry_on_error": [
            exceptions.ConnectionError,
            exceptions.TimeoutError,
            exceptions.ReadOnlyError,
            exceptions.BusyLoadingError,
        ],
        "socket_connect_timeout": 5,
        "health_check_interval": 30,
    }


@asynccontextmanager
async def reachable() -> AsyncIterator[None]:
    """Turn what Redis says when it is away, loading, full or read-only into an Outage."""
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.NoPermissionError) as error:
        raise Misconfigured(f"Redis refuses this login ({error}); correct NOUS_REDIS_URL, or grant it the commands it needs") from error
    except ResponseError as error:
        if isinstance(error, exceptions.OutOfMemoryError | exceptions.ReadOnlyError) or AWAY_WORDS.intersection(str(error).split()):
            raise Outage("Redis", str(error)) from error
        raise
    except RedisError as error:
        raise Outage("Redis", str(error) or type(error).__name__) from error


async def ensure_group(redis: Redis, stream: str, group: str) -> bool:
    """Create the group at the beginning of its stream, and the stream; False when it was there. Raises Outage."""
    async with reachable():
        try:
            await redis.xgroup_create(stream, group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" in str(error):
                return False
            raise
        return True


async def acknowledge(redis: Redis, stream: str, group: str, entry_ids: Sequence[str]) -> None:
    """These entries are settled. Raises Outage."""
    if entry_ids:
        async with reachable():
            await redis.xack(stream, group, *entry_ids)


class GroupLost(Exception):
    """A group is not there any more: Redis was restarted without its data, or somebody removed it."""


async def read(redis: Redis, group: str, consumer: str, names: Sequence[str], *, count: int, block_ms: int) -> dict[str, list[Entry]]:
    """What is new to a group on several streams, up to `count` entries of each; waits for it. Raises Outage and GroupLost."""
    async with reachable():
        try:
            found: Any = await redis.xreadgroup(group, consumer, dict.fromkeys(names, ">"), count=count, block=block_ms) or []
        except ResponseError as error:
            if "NOGROUP" in str(error):
                raise GroupLost from error
            raise
    return {_text(stream): [Entry(_text(entry_id), fields) for entry_id, fields in entries] for stream, entries in found}


async def claim(redis: Redis, stream: str, group: str, consumer: str, *, idle_ms: int, count: int) -> list[Entry]:
    """Take over up to `count` entries that nobody has touched for `idle_ms`: their replica is dead. Raises Outage."""
    claimed: list[Entry] = []
    cursor: str | bytes = "0-0"
    async with reachable():
        while len(claimed) < count:
            try:
                cursor, entries, *_ = await redis.xautoclaim(stream, group, consumer, idle_ms, cursor, count=count - len(claimed))
            except ResponseError as error:
                if "NOGROUP" in str(error):
                    return []
                raise
            claimed += [Entry(entry_id.decode(), fields) for entry_id, fields in entries if fields]
            if cursor in (b"0-0", "0-0"):
                break
    return claimed


async def renew(redis: Redis, stream: str, group: str, consumer: str, entry_ids: Sequence[str]) -> None:
    """These are still being worked: their idle time starts anew, their delivery count stays. Raises Outage."""
    if entry_ids:
        async with reachable():
            await redis.xclaim(stream, group, consumer, 0, list(entry_ids), justid=True)


async def park(redis: Redis, stream: str, group: str, fields: Mapping[str, str | bytes], entry_id: str | None) -> None:
    """Put a delivery aside for a person, in `<stream>.parked`, and acknowledge it in the same step. Raises Outage."""
    async with reachable(), redis.pipeline(transaction=True) as pipeline:
        pipeline.xadd(stream + PARKED_SUFFIX, dict(fields))  # type: ignore[arg-type]
        if entry_id is not None:
            pipeline.xack(stream, group, entry_id)
        await pipeline.execute()


async def append(redis: Redis, letters: Sequence[tuple[str, bytes]]) -> list[str]:
    """Append encoded events to their streams, in one round trip; their entry ids, in order. Raises Outage."""
    if not letters:
        return []
    async with reachable(), redis.pipeline(transaction=False) as pipeline:
        for stream, body in letters:
            pipeline.xadd(stream, {"data": body})
        return [_text(entry_id) for entry_id in await pipeline.execute()]


async def group_state(redis: Redis, stream: str, group: str) -> GroupState:
    """How far the group is; a stream or group that is not there yet has everything before it. Raises Outage."""
    async with reachable():
        try:
            groups = await redis.xinfo_groups(stream)
        except ResponseError as error:
            if "no such key" in str(error).lower():
                return GroupState(lag=0, pending=0)
            raise
        for info in groups:
            if info["name"] == group.encode():
                lag = info["lag"]
                if lag is None:  # entries were deleted from the middle: count what is left
                    lag = await _count_after(redis, stream, info["last-delivered-id"].decode())
                pending, read = int(info["pending"]), info["entries-read"]
                if read is None and info["last-delivered-id"] == b"0-0":  # nothing was read yet
                    read = 0
                return GroupState(lag=int(lag), pending=pending, settled=None if read is None else int(read) - pending)
        return GroupState(lag=int(await redis.xlen(stream)), pending=0)


async def passed(redis: Redis, stream: str) -> dict[str, str]:
    """For each group of a stream the first entry id that it may still need: of what is pending, or else not read. Raises Outage."""
    async with reachable():
        try:
            groups = await redis.xinfo_groups(stream)
        except ResponseError as error:
            if "no such key" in str(error).lower():
                return {}
            raise
        found: dict[str, str] = {}
        for info in groups:
            name = _text(info["name"])
            summary = await redis.xpending(stream, name) if info["pending"] else {"min": None}
            found[name] = _text(summary["min"]) or _after(_text(info["last-delivered-id"]))
    return found


async def span(redis: Redis, stream: str) -> tuple[int, str]:
    """How many entries a stream has, and the id of the oldest; empty when it has none. Raises Outage."""
    async with reachable():
        oldest = await redis.xrange(stream, count=1)
        return int(await redis.xlen(stream)), _text(oldest[0][0]) if oldest else ""


async def trim(redis: Redis, stream: str, *, before: str) -> int:
    """Forget the entries before this id, and say how many. Raises Outage."""
    async with reachable():
        return int(await redis.xtrim(stream, minid=before, approximate=False))


async def time_ms(redis: Redis) -> int:
    """The server's own time, which entry ids are made of. Raises Outage."""
    async with reachable():
        seconds, microseconds = await redis.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


async def answers(redis: Redis) -> None:
    """Raises Outage when Redis does not answer, and Misconfigured when it refuses this login."""
    async with reachable():
        await redis.ping()


async def drop_group(redis: Redis, stream: str, group: str) -> bool:
    """Remove a group with what it has pending; whether it was there. Raises Outage."""
    async with reachable():
        return bool(await redis.xgroup_destroy(stream, group))


async def consumers(redis: Redis, stream: str, group: str) -> list[Consumer]:
    """Every replica of a group that is not forgotten yet; none when there is no such group. Raises Outage."""
    async with reachable():
        try:
            found = await redis.xinfo_consumers(stream, group)
        except ResponseError as error:
            if "NOGROUP" in str(error) or "no such key" in str(error).lower():
                return []
            raise
    return [Consumer(one["pending"], one["idle"] / 1000) for one in found]


async def heard_of(redis: Redis, stream: str, group: str) -> float | None:
    """Seconds since a replica of the group last spoke; None when it never had one. Raises Outage."""
    return min((one.idle_s for one in await consumers(redis, stream, group)), default=None)


async def oldest_pending(redis: Redis, stream: str, group: str) -> str | None:
    """The id of the oldest entry delivered to a group and not acknowledged; None when there is none. Raises Outage."""
    async with reachable():
        try:
            summary = await redis.xpending(stream, group)
        except ResponseError as error:
            if "NOGROUP" in str(error):
                return None
            raise
    return _text(summary["min"]) or None


async def length(redis: Redis, stream: str) -> int:
    """How many entries a stream has. Raises Outage."""
    async with reachable():
        return int(await redis.xlen(stream))


def _text(entry_id: bytes | str | None) -> str:
    return entry_id.decode() if isinstance(entry_id, bytes) else entry_id or ""


def _after(entry_id: str) -> str:
    """The least id that is greater."""
    milliseconds, _, sequence = entry_id.partition("-")
    return f"{milliseconds}-{int(sequence or 0) + 1}"


async def _count_after(redis: Redis, stream: str, entry_id: str) -> int:
    """Entries after this one, counted in steps; COUNTED_AT_MOST stands for "very many"."""
    counted = 0
    while counted < COUNTED_AT_MOST:
        entries = await redis.xrange(stream, min=f"({entry_id}", count=COUNTED_AT_ONCE) or []
        counted += len(entries)
        if len(entries) < COUNTED_AT_ONCE:
            break
        entry_id = _text(entries[-1][0])
    return counted


async def forget_dead_consumers(redis: Redis, stream: str, group: str) -> int:
    """Remove consumers that are long gone and hold nothing; one that holds an entry is never removed. Raises Outage."""
    async with reachable():
        return int(await redis.eval(_FORGET, 1, stream, group, str(FORGET_CONSUMER_AFTER_MS)))


# In one step, so that a consumer cannot receive an entry between the look and the removal.
_FORGET = """
local removed = 0
local there = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
if there.err then return 0 end
for _, flat in ipairs(there) do
    local one = {}
    for i = 1, #flat, 2 do one[flat[i]] = flat[i + 1] end
    if one['pending'] == 0 and one['idle'] > tonumber(ARGV[2]) then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], one['name'])
        removed = removed + 1
    end
end
return removed
"""
