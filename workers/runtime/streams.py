"""The broker's side of a delivery: groups, pending entries, acknowledging, parking. Every command to Redis that workers send is here.

    a stream ─▶ its keys: the plain one, and its partitions (events/partitions.py) ─▶ one server, or those of a cluster (servers.py)

Callers name streams, and entries as they are written down, which tells the key; what is said of a stream is said of all its keys
together. Over how many partitions streams are or ever were spread is kept in Redis, so nothing is left unread when it changes.

A consumer group is created at 0, so nothing that was published before the first worker started is missed. FastStream reads new
entries; taking over those of a dead replica is ours (XAUTOCLAIM), and so is keeping our own from being taken over (XCLAIM
JUSTID, which resets their idle time). On Redis 8.4 XREADGROUP CLAIM could replace `claim`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from redis import exceptions
from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

import events
from events import partitions
from nous.errors import Misconfigured, Outage

from . import servers

PARKED_SUFFIX = ".parked"
ARCHIVIST = "archivist"  # the group of whoever keeps every event, on every stream
AWAY = (
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterError,
    exceptions.TryAgainError,
    exceptions.AskError,  # and MovedError: a cluster that changes faster than its client follows
)
# first, or after what a pipeline puts before it
AWAY_WORDS = {"MISCONF", "OOM", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "NOREPLICAS"}
FORGET_CONSUMER_AFTER_MS = 3_600_000
COUNTED_AT_ONCE = 1_000
COUNTED_AT_MOST = 100_000
SPREAD_LOOKED_AT_S = 5.0
PARTITIONS = "nous:partitions"  # over how many streams are or were spread, by whoever writes; it only grows


@dataclass(frozen=True)
class Entry:
    """One stream entry as delivered: its id as it is written down (events.partitions.named), and its fields, undecoded."""

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
    name: str = ""


connect = servers.connect


@asynccontextmanager
async def reachable() -> AsyncIterator[None]:
    """Turn what Redis says when it is away, loading, full or read-only into an Outage."""
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.NoPermissionError) as error:
        raise Misconfigured(f"Redis refuses this login ({error}); correct NOUS_REDIS_URL, or grant it the commands it needs") from error
    except ResponseError as error:
        if isinstance(error, AWAY) or AWAY_WORDS.intersection(str(error).split()):
            raise Outage("Redis", str(error)) from error
        raise
    except AttributeError as error:  # when one command of a cluster's client fails, its connections are closed under the hands of others
        if error.name != "writelines":
            raise
        raise Outage("Redis", "its connection was closed meanwhile") from error
    except (RedisError, exceptions.RedisClusterException) as error:
        raise Outage("Redis", str(error) or type(error).__name__) from error


async def spread(redis: Redis) -> int:
    """Over how many partitions streams are or ever were spread: as many as must be read. Raises Outage."""
    async with reachable():
        return max(int(await redis.get(PARTITIONS) or 0), servers.partitions(redis))


async def tell_spread(redis: Redis) -> None:
    """Let everybody know over how many partitions this client writes; before it writes, so that nothing stands where nobody reads.

    Raises Outage.
    """
    if mine := servers.partitions(redis):
        async with reachable():
            await redis.eval(_TELL, 1, PARTITIONS, str(mine))


_TELL = """
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end
"""


async def keys(redis: Redis, stream: str) -> list[str]:
    """Every key of a stream that may hold something: the plain one first. Raises Outage."""
    return partitions.keys(stream, await spread(redis))


def all_keys(spread: int) -> list[str]:
    """Every key of every stream, over so many partitions."""
    return [key for stream in events.CATALOGUE for key in partitions.keys(stream, spread)]


async def ensure_group(redis: Redis, stream: str, group: str) -> bool:
    """Create the group at the beginning of every key of its stream, and the keys; False when all were there. Raises Outage."""
    return await ensure_groups(redis, await keys(redis, stream), group)


async def ensure_groups(redis: Redis, keys: Sequence[str], group: str) -> bool:
    """The same for these keys. Raises Outage."""
    async with reachable(), redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.xgroup_create(key, group, id="0", mkstream=True)
        told = await pipeline.execute(raise_on_error=False)
        for one in told:
            if isinstance(one, Exception) and "BUSYGROUP" not in str(one):
                raise one
    return any(not isinstance(one, Exception) for one in told)


async def acknowledge(redis: Redis, stream: str, group: str, entry_ids: Sequence[str]) -> None:
    """These entries are settled. Raises Outage."""
    for key, ids in _by_key(stream, entry_ids).items():
        async with reachable():
            await redis.xack(key, group, *ids)


class GroupLost(Exception):
    """A group is not there any more: Redis was restarted without its data, or somebody removed it."""


async def read(redis: Redis, group: str, consumer: str, keys: Sequence[str], *, count: int, block_ms: int) -> dict[str, list[Entry]]:
    """What is new to a group in these keys, by stream, up to `count` entries of each key; waits for it. Raises Outage and GroupLost."""
    async with reachable():
        try:
            found = await _read(redis, group, consumer, keys, count, block_ms)
        except ResponseError as error:
            if "NOGROUP" in str(error):
                raise GroupLost from error
            raise
    by_stream: dict[str, list[Entry]] = {}
    for key, entries in found:
        by_stream.setdefault(partitions.stream_of(_text(key)), []).extend(_entries(_text(key), entries))
    return by_stream


async def speak(redis: Redis, group: str, consumer: str, key: str) -> None:
    """Say that this consumer lives: before 7.2 Redis knows of a read only if something was there to read. Raises Outage and GroupLost.

    It asks for what is pending after the last id there can be, which is nothing.
    """
    async with reachable():
        try:
            await redis.xreadgroup(group, consumer, {key: _LAST_ID}, count=1)
        except ResponseError as error:
            if "NOGROUP" in str(error):
                raise GroupLost from error
            raise


_LAST_ID = f"{2**64 - 1}-{2**64 - 2}"  # the one after it is how Redis itself writes ">"


async def own_pending(redis: Redis, group: str, consumer: str, keys: Sequence[str], *, count: int) -> list[Entry]:
    """What was delivered to this consumer and is not acknowledged, up to `count` entries of each key. Raises Outage.

    Not by reading it again, which would count as one more delivery.
    """
    found: list[Entry] = []
    for key in keys:
        ids = await _own_ids(redis, key, group, consumer, count)
        async with reachable(), redis.pipeline(transaction=False) as pipeline:
            for entry_id in ids:
                pipeline.xrange(key, entry_id, entry_id)
            found += [one for some in await pipeline.execute() for one in _entries(key, some)]
    return found


async def give_back(redis: Redis, group: str, consumer: str, keys: Sequence[str]) -> None:
    """Let what this consumer has pending count as never delivered; it stays pending until somebody takes it over. Raises Outage."""
    for key in keys:
        if ids := await _own_ids(redis, key, group, consumer, COUNTED_AT_ONCE):
            async with reachable():
                await redis.xclaim(key, group, consumer, 0, list(ids), retrycount=0, justid=True)


async def _own_ids(redis: Redis, key: str, group: str, consumer: str, count: int) -> list[str]:
    async with reachable():
        try:
            told: Any = await redis.xpending_range(key, group, min="-", max="+", count=count, consumername=consumer)
        except ResponseError as error:
            if "NOGROUP" in str(error):
                return []
            raise
    return [_text(one["message_id"]) for one in told]


async def _read(redis: Redis, group: str, consumer: str, keys: Sequence[str], count: int, block_ms: int) -> list[Any]:
    """In one command; one for each slot in a cluster, which cannot wait at several places at once."""
    if not servers.is_cluster(redis):
        return list(await redis.xreadgroup(group, consumer, dict.fromkeys(keys, ">"), count=count, block=block_ms) or [])
    async with redis.pipeline(transaction=False) as pipeline:
        for some in servers.by_slot(redis, keys):
            pipeline.xreadgroup(group, consumer, dict.fromkeys(some, ">"), count=count)
        found = [one for part in await pipeline.execute() for one in part or []]
    if not found:
        await asyncio.sleep(block_ms / 1000)
    return found


async def claim(redis: Redis, stream: str, group: str, consumer: str, *, idle_ms: int, count: int) -> list[Entry]:
    """Take over up to `count` entries that nobody has touched for `idle_ms`: their replica is dead. Raises Outage."""
    claimed: list[Entry] = []
    for key in await keys(redis, stream):
        if len(claimed) < count:
            claimed += await _claim(redis, key, group, consumer, idle_ms, count - len(claimed))
    return claimed


async def _claim(redis: Redis, key: str, group: str, consumer: str, idle_ms: int, count: int) -> list[Entry]:
    claimed: list[Entry] = []
    cursor: str | bytes = "0-0"
    async with reachable():
        while len(claimed) < count:
            try:
                cursor, entries, *_ = await redis.xautoclaim(key, group, consumer, idle_ms, cursor, count=count - len(claimed))
            except ResponseError as error:
                if "NOGROUP" in str(error):
                    return []
                raise
            claimed += _entries(key, [(entry_id, fields) for entry_id, fields in entries if fields])
            if cursor in (b"0-0", "0-0"):
                break
    return claimed


async def times_delivered(redis: Redis, stream: str, group: str, entry_ids: Sequence[str]) -> dict[str, int]:
    """How often each of these pending entries was handed to a replica; none of what is not pending. Raises Outage."""
    found: dict[str, int] = {}
    for key, ids in _by_key(stream, entry_ids).items():
        async with reachable(), redis.pipeline(transaction=False) as pipeline:
            for entry_id in ids:
                pipeline.xpending_range(key, group, min=entry_id, max=entry_id, count=1)
            try:
                told = await pipeline.execute()
            except ResponseError as error:
                if "NOGROUP" in str(error):
                    continue
                raise
        found |= {partitions.named(key, _text(one["message_id"])): int(one["times_delivered"]) for some in told for one in some}
    return found


async def renew(redis: Redis, stream: str, group: str, consumer: str, entry_ids: Sequence[str]) -> None:
    """These are still being worked: their idle time starts anew, their delivery count stays. Raises Outage."""
    for key, ids in _by_key(stream, entry_ids).items():
        async with reachable():
            await redis.xclaim(key, group, consumer, 0, list(ids), justid=True)


async def park(
    redis: Redis, stream: str, group: str, fields: Mapping[str, str | bytes], entry_id: str | None, *, is_settled: bool = False
) -> None:
    """Put a delivery aside for a person, in `<key>.parked`, and then acknowledge it, if it `is_settled` by that.

    Between the two a crash parks it once more, and never loses it: in a cluster they may be on two servers. Raises Outage.
    """
    key, _ = partitions.placed(stream, entry_id or "")
    async with reachable():
        await redis.xadd(key + PARKED_SUFFIX, dict(fields))  # type: ignore[arg-type]
    if entry_id is not None and is_settled:
        await acknowledge(redis, stream, group, [entry_id])


async def append(redis: Redis, letters: Sequence[tuple[str, str, bytes]]) -> list[str]:
    """Append encoded events, each with its stream and its agent, in one round trip; their entry ids, in order. Raises Outage."""
    if not letters:
        return []
    await servers.once(redis, tell_spread)
    spread_over = servers.partitions(redis)
    placed = [(partitions.key(stream, agent, spread_over), body) for stream, agent, body in letters]
    async with reachable(), redis.pipeline(transaction=False) as pipeline:
        for key, body in placed:
            pipeline.xadd(key, {"data": body})
        told = await pipeline.execute()
    return [partitions.named(key, _text(entry_id)) for (key, _), entry_id in zip(placed, told, strict=True)]


async def group_state(redis: Redis, stream: str, group: str) -> GroupState:
    """How far the group is; a key or group that is not there yet has everything before it. Raises Outage."""
    return state_of((await positions(redis, await keys(redis, stream))).values(), group)


@dataclass(frozen=True)
class Position:
    """Where a group of a key is. `settled` is None when Redis does not know; `last_delivered` is an id of the key."""

    lag: int
    pending: int
    settled: int | None
    last_delivered: str


@dataclass(frozen=True)
class Key:
    """A key of a stream: how many entries it has, the id of the oldest ("" for none), and where each of its groups is."""

    name: str
    length: int
    oldest: str
    groups: Mapping[str, Position]


async def positions(redis: Redis, keys: Sequence[str]) -> dict[str, Key]:
    """Each of these keys, looked at in one round trip; one that is not there is empty. Raises Outage."""
    async with reachable(), redis.pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.xinfo_stream(key)
            pipeline.xinfo_groups(key)
        told = await pipeline.execute(raise_on_error=False)
        for one in told:
            if isinstance(one, Exception) and "no such key" not in str(one).lower():
                raise one
    found = {}
    for key, info, groups in zip(keys, told[::2], told[1::2], strict=True):
        if isinstance(info, Exception) or isinstance(groups, Exception):
            found[key] = Key(key, 0, "", {})
            continue
        at = {_text(one["name"]): await _position(redis, key, one) for one in groups}
        first = info["first-entry"]
        found[key] = Key(key, int(info["length"]), _text(first[0]) if first else "", at)
    return found


async def _position(redis: Redis, key: str, info: Mapping[str, Any]) -> Position:
    lag = info["lag"]
    if lag is None:  # entries were deleted from the middle: count what is left
        lag = await _count_after(redis, key, _text(info["last-delivered-id"]))
    pending, read = int(info["pending"]), info["entries-read"]
    if read is None and _text(info["last-delivered-id"]) == "0-0":  # nothing was read yet
        read = 0
    return Position(int(lag), pending, None if read is None else int(read) - pending, _text(info["last-delivered-id"]))


def state_of(keys: Iterable[Key], group: str) -> GroupState:
    """How far a group is in these keys together."""
    lag, pending, settled = 0, 0, 0
    is_known, is_there = True, False
    for key in keys:
        if at := key.groups.get(group):
            lag, pending, is_there = lag + at.lag, pending + at.pending, True
            settled, is_known = settled + (at.settled or 0), is_known and at.settled is not None
        else:
            lag += key.length
    return GroupState(lag, pending, settled if is_known and is_there else None)


async def needed(redis: Redis, key: Key) -> dict[str, str]:
    """For each group of a key the first entry id that it may still need: of what is pending, or else not read. Raises Outage."""
    oldest = await oldest_pending(redis, [(key.name, name) for name, at in key.groups.items() if at.pending])
    return {name: oldest.get((key.name, name)) or _after(at.last_delivered) for name, at in key.groups.items()}


async def oldest_pending(redis: Redis, groups: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The id of the oldest entry delivered and not acknowledged, of each of these (key, group) that has one. Raises Outage."""
    told = await _each(redis, groups, lambda pipeline, key, group: pipeline.xpending(key, group))
    return {where: _text(summary["min"]) for where, summary in told.items() if summary["min"]}


async def trim(redis: Redis, key: str, *, needing: Iterable[str], keep_ms: int) -> int:
    """Forget of a key what all its groups have read and acknowledged, but for the last `keep_ms`; how many entries.

    Nothing while one of the groups `needing` it is not there. Looked at and trimmed in one step: Redis may be started again without its
    last second between two, and what a group had read by the first look is unread by the second. Raises Outage.
    """
    async with reachable():
        return int(await redis.eval(_TRIM, 1, key, str(keep_ms), *needing))


# Ids are compared as text, for a number in Lua is exact up to 2^53 only.
_TRIM = """
local function parts(id)
    return string.match(id, '^(%d+)-(%d+)$')
end
local function is_less(one, other)
    if #one ~= #other then return #one < #other end
    return one < other
end
local function is_before(one, other)
    local one_ms, one_seq = parts(one)
    local other_ms, other_seq = parts(other)
    if one_ms ~= other_ms then return is_less(one_ms, other_ms) end
    return is_less(one_seq, other_seq)
end
local there = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if there.err then
    if string.find(there.err, 'no such key') then return 0 end
    return there
end
local now = redis.call('TIME')
local keep_from = string.format('%.0f-0', math.max(now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1], 0))
local names, first = {}, keep_from
for _, flat in ipairs(there) do
    local group = {}
    for i = 1, #flat, 2 do group[flat[i]] = flat[i + 1] end
    names[group['name']] = true
    local needs = group['last-delivered-id']
    if group['pending'] > 0 then
        needs = redis.call('XPENDING', KEYS[1], group['name'])[2]
    else
        local ms, seq = parts(needs)
        if #seq < 16 then needs = string.format('%s-%.0f', ms, seq + 1) end
    end
    if is_before(needs, first) then first = needs end
end
for i = 2, #ARGV do
    if not names[ARGV[i]] then return 0 end
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', first)
"""


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
    """Remove a group from every key of a stream, with what it has pending; whether it was there. Raises Outage."""
    was_there = False
    for key in await keys(redis, stream):
        async with reachable():
            if await redis.exists(key):
                was_there = bool(await redis.xgroup_destroy(key, group)) or was_there
    return was_there


async def consumers(redis: Redis, stream: str, group: str) -> list[Consumer]:
    """Every replica of a group that is not forgotten yet; none when there is no such group. Raises Outage."""
    where = [(key, group) for key in await keys(redis, stream)]
    return together(one for some in (await replicas(redis, where)).values() for one in some)


async def replicas(redis: Redis, groups: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Consumer]]:
    """The replicas of each of these (key, group) that is there, in one round trip. Raises Outage."""
    told = await _each(redis, groups, lambda pipeline, key, group: pipeline.xinfo_consumers(key, group))
    return {
        where: [Consumer(int(one["pending"]), int(one["idle"]) / 1000, _text(one["name"])) for one in some] for where, some in told.items()
    }


def together(consumers: Iterable[Consumer]) -> list[Consumer]:
    """The replicas among these, each once: one has a consumer of its name in every key it reads."""
    found: dict[str, Consumer] = {}
    for one in consumers:
        other = found.get(one.name, Consumer(0, one.idle_s, one.name))
        found[one.name] = Consumer(one.pending + other.pending, min(one.idle_s, other.idle_s), one.name)
    return list(found.values())


async def heard_of(redis: Redis, stream: str, group: str) -> float | None:
    """Seconds since a replica of the group last spoke; None when it never had one. Raises Outage."""
    return min((one.idle_s for one in await consumers(redis, stream, group)), default=None)


async def _each(redis: Redis, groups: Sequence[tuple[str, str]], ask: Callable[[Any, str, str], object]) -> dict[tuple[str, str], Any]:
    """What is told of each of these (key, group), in one round trip; nothing of one that is not there."""
    if not groups:
        return {}
    async with reachable(), redis.pipeline(transaction=False) as pipeline:
        for key, group in groups:
            ask(pipeline, key, group)
        told = await pipeline.execute(raise_on_error=False)
        for one in told:
            if isinstance(one, Exception) and "NOGROUP" not in str(one) and "no such key" not in str(one).lower():
                raise one
    return {where: one for where, one in zip(groups, told, strict=True) if not isinstance(one, Exception)}


async def entries(redis: Redis, stream: str) -> AsyncIterator[list[Entry]]:
    """What a stream holds, key by key and in pages, whoever has read it. Raises Outage."""
    for key in await keys(redis, stream):
        async for page in entries_of(redis, key):
            yield page


async def entries_of(redis: Redis, key: str, *, first: str = "-", before: str = "+") -> AsyncIterator[list[Entry]]:
    """What a key holds from `first` on and before `before`, ids of the key, in pages. Raises Outage."""
    last = before if before == "+" else f"({before}"
    while True:
        async with reachable():
            page: Any = await redis.xrange(key, min=first, max=last, count=COUNTED_AT_ONCE)
        if page:
            yield _entries(key, page)
        if len(page) < COUNTED_AT_ONCE:
            return
        first = f"({_text(page[-1][0])}"


async def at(redis: Redis, stream: str, entry_id: str, *, is_parked: bool = False) -> Mapping[bytes, bytes] | None:
    """The fields of an entry, by its id as it is written down; None when it is gone. Raises Outage."""
    key, raw = partitions.placed(stream, entry_id)
    async with reachable():
        found: Any = await redis.xrange(key + PARKED_SUFFIX if is_parked else key, raw, raw)
    return found[0][1] if found else None


async def parked(redis: Redis, stream: str, *, at_once: int = COUNTED_AT_ONCE) -> AsyncIterator[list[Entry]]:
    """What is parked of a stream, in pages; the ids are those in `<key>.parked`, as they are written down. Raises Outage."""
    for key in await keys(redis, stream):
        after = "-"
        while True:
            async with reachable():
                page: Any = await redis.xrange(key + PARKED_SUFFIX, min=after, count=at_once)
            yield _entries(key, page)
            if len(page) < at_once:
                break
            after = f"({_text(page[-1][0])}"


async def unpark(redis: Redis, stream: str, entry_ids: Sequence[str]) -> None:
    """Remove what is parked under these ids. Raises Outage."""
    for key, ids in _by_key(stream, entry_ids).items():
        async with reachable():
            await redis.xdel(key + PARKED_SUFFIX, *ids)


def _entries(key: str, entries: Iterable[tuple[bytes, Mapping[bytes, bytes]]]) -> list[Entry]:
    return [Entry(partitions.named(key, _text(entry_id)), fields) for entry_id, fields in entries]


def _by_key(stream: str, entry_ids: Iterable[str]) -> dict[str, list[str]]:
    """The ids in each key, of entries as they are written down."""
    by_key: dict[str, list[str]] = {}
    for name in entry_ids:
        key, entry_id = partitions.placed(stream, name)
        by_key.setdefault(key, []).append(entry_id)
    return by_key


def _text(entry_id: bytes | str | None) -> str:
    return entry_id.decode() if isinstance(entry_id, bytes) else entry_id or ""


def _after(entry_id: str) -> str:
    """The least id that is greater."""
    milliseconds, _, sequence = entry_id.partition("-")
    return f"{milliseconds}-{int(sequence or 0) + 1}"


async def _count_after(redis: Redis, key: str, entry_id: str) -> int:
    """Entries after this one, counted in steps; COUNTED_AT_MOST stands for "very many"."""
    counted = 0
    while counted < COUNTED_AT_MOST:
        async with reachable():
            entries = await redis.xrange(key, min=f"({entry_id}", count=COUNTED_AT_ONCE) or []
        counted += len(entries)
        if len(entries) < COUNTED_AT_ONCE:
            break
        entry_id = _text(entries[-1][0])
    return counted


async def forget_dead_consumers(redis: Redis, stream: str, group: str) -> int:
    """Remove consumers that are long gone and hold nothing; one that holds an entry is never removed. Raises Outage."""
    removed = 0
    for key in await keys(redis, stream):
        async with reachable():
            removed += int(await redis.eval(_FORGET, 1, key, group, str(FORGET_CONSUMER_AFTER_MS)))
    return removed


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
