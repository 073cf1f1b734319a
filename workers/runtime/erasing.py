"""Erasing from Redis: entries of what was forgotten are deleted once every group has acknowledged them, and written out of its files.

    streams, <stream>.parked ──pages──▶ entries that are meant ─┬─ read and acknowledged by every group ─▶ XDEL
                                                                └─ unread or pending somewhere ─▶ waited for; what is left then is told
    streams ─▶ made anew: XDEL and XTRIM only mark an entry, and its bytes stay among those of its neighbours, in memory and in files
    files ─▶ BGREWRITEAOF, BGSAVE: one that Redis appends to keeps what was deleted until it is written anew

An entry that some group still holds is never deleted: whoever holds it would work words that are nowhere any more, or lose its place.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

import events
from events import MalformedEvent, body_of, partitions

from . import servers, streams
from .streams import PARKED_SUFFIX, Entry, reachable

ENTRIES_AT_ONCE = 500
LOOK_AGAIN_S = 0.2
REWRITE_PATIENCE_S = 60.0

Meant = Callable[[str, str, str, str], bool]
"""Whether an event is meant, by its stream, agent, id and the id of its stream entry."""

Rewritten = Callable[[str, str, bytes], bytes | None]
"""What stays of the body of a parked event that is meant, by its stream and id; None when nothing does."""


@dataclass(frozen=True)
class Held:
    """An entry that a group has not read, or not acknowledged."""

    stream: str
    entry_id: str
    group: str
    is_unread: bool


@dataclass(frozen=True)
class Deleted:
    """How many entries were deleted, and which could not be yet."""

    entries: int
    held: tuple[Held, ...]


@dataclass(frozen=True)
class Standing:
    """A place in Redis where words still stand; `agent` and `event_id` where it is an event."""

    key: str
    entry_id: str | None = None
    agent: str | None = None
    event_id: str | None = None


async def delete(redis: Redis, meant: Meant, *, patience_s: float, rewritten: Rewritten = lambda _stream, _event, _body: None) -> Deleted:
    """Delete every entry that is meant, waiting so long for groups that hold one. Raises Outage."""
    deadline, deleted = time.monotonic() + patience_s, 0
    while True:
        held: list[Held] = []
        for stream in await _streams(redis):
            entries = [entry async for entry in _entries(redis, stream) if _is_meant(stream, entry, meant)]
            free = await _free(redis, stream, entries, held)
            deleted += await _delete(redis, stream, free, rewritten)
        if not held or time.monotonic() > deadline:
            await _made_anew(redis)
            return Deleted(deleted, tuple(held))
        await asyncio.sleep(LOOK_AGAIN_S)


async def rewrite_files(redis: Redis) -> tuple[str, ...]:
    """Have Redis write its files anew, without what was deleted; what was done, in words. Raises Outage."""
    told: list[str] = []
    async with reachable(), servers.each(redis) as each:
        for server in each:
            told += [one for one in await _files_of(server) if one not in told]
    return tuple(told)


async def _files_of(redis: Redis) -> list[str]:
    told: list[str] = []
    async with reachable():
        persistence = await redis.info("persistence")
        if persistence.get("aof_enabled"):
            told.append(await _written_anew(redis, "the append-only file", redis.bgrewriteaof, _is_rewriting, "aof_last_bgrewrite_status"))
        if await _has_snapshots(redis):
            told.append(await _written_anew(redis, "the snapshot", redis.bgsave, _is_saving, "rdb_last_bgsave_status"))
    return told


async def search(redis: Redis, words: Collection[bytes]) -> list[Standing]:
    """Every key, and every entry of a stream, in which one of these still stands, in whatever case. Raises Outage."""
    found: list[Standing] = []
    lowered = [word.lower() for word in words]
    if not lowered:
        return found
    async with reachable():
        async for key in redis.scan_iter(count=1_000):
            kind, name = _word(await redis.type(key)), _word(key)
            if kind == "stream":
                found += [
                    _standing(name, entry)
                    async for entry in _entries(redis, name)
                    if _holds(b"\n".join([*entry.fields.keys(), *entry.fields.values()]), lowered)
                ]
            elif _holds(b"\n".join([_bytes(key), *await _value(redis, key, kind)]), lowered):
                found.append(Standing(name))
    return found


async def now_ms(redis: Redis) -> int:
    """What the clock of Redis says, in milliseconds: entries have their time from it. Raises Outage."""
    async with reachable():
        seconds, microseconds = await redis.time()
        return int(seconds) * 1000 + int(microseconds) // 1000


# ── entries ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _streams(redis: Redis) -> list[str]:
    """Every stream of ours that is there, with what is parked of it."""
    keys = streams.all_keys(await streams.spread(redis))
    names = [name for key in keys for name in (key, key + PARKED_SUFFIX)]
    async with reachable():
        return [name for name in names if await redis.exists(name)]


async def _entries(redis: Redis, stream: str) -> AsyncIterator[Entry]:
    after = "-"
    while True:
        async with reachable():
            page: Any = await redis.xrange(stream, min=after, count=ENTRIES_AT_ONCE)
        for entry_id, fields in page:
            yield Entry(_word(entry_id), fields)
        if len(page) < ENTRIES_AT_ONCE:
            return
        after = f"({_word(page[-1][0])}"


def _is_meant(stream: str, entry: Entry, meant: Meant) -> bool:
    agent, event_id = _whose(stream, entry)
    return meant(_logical(stream), agent, event_id, entry.entry_id)


def _whose(stream: str, entry: Entry) -> tuple[str, str]:
    """(agent, event id) of an entry, as its worker would read it, or as it was parked."""
    if stream.endswith(PARKED_SUFFIX):
        return _text(entry.fields, b"agent_id"), _text(entry.fields, b"event_id")
    kind = events.CATALOGUE.get(_logical(stream))
    return events.identity(kind, entry.fields, partitions.named(stream, entry.entry_id)) if kind else ("", "")


def _logical(key: str) -> str:
    """The stream that a key is part of, or what is parked of it."""
    return partitions.stream_of(key.removesuffix(PARKED_SUFFIX))


async def _free(redis: Redis, stream: str, entries: Sequence[Entry], held: list[Held]) -> list[Entry]:
    """Those of these entries that no group holds; the others are added to `held`."""
    if not entries:
        return []
    async with reachable():
        groups = await redis.xinfo_groups(stream)
    holding: dict[str, Held] = {}
    for group in groups:
        name, read_to = _word(group["name"]), _order(_word(group["last-delivered-id"]))
        for entry in entries:
            if _order(entry.entry_id) > read_to:
                holding.setdefault(entry.entry_id, Held(stream, entry.entry_id, name, is_unread=True))
            elif group["pending"] and await _is_pending(redis, stream, name, entry.entry_id):
                holding.setdefault(entry.entry_id, Held(stream, entry.entry_id, name, is_unread=False))
    held += holding.values()
    return [entry for entry in entries if entry.entry_id not in holding]


async def _is_pending(redis: Redis, stream: str, group: str, entry_id: str) -> bool:
    async with reachable():
        return bool(await redis.xpending_range(stream, group, min=entry_id, max=entry_id, count=1))


async def _delete(redis: Redis, stream: str, entries: Sequence[Entry], rewritten: Rewritten) -> int:
    kept = {entry.entry_id: _kept(stream, entry, rewritten) for entry in entries}
    entries = [entry for entry in entries if kept[entry.entry_id] is None or kept[entry.entry_id] != entry.fields.get(b"data")]
    for start in range(0, len(entries), ENTRIES_AT_ONCE):
        some = entries[start : start + ENTRIES_AT_ONCE]
        async with reachable(), redis.pipeline(transaction=not servers.is_cluster(redis)) as pipeline:
            for entry in some:
                if (said := kept[entry.entry_id]) is not None:
                    pipeline.xadd(stream, {**entry.fields, b"data": said})  # type: ignore[dict-item]  # bytes are well
            pipeline.xdel(stream, *(entry.entry_id for entry in some))
            await pipeline.execute()
    return len(entries)


async def _made_anew(redis: Redis) -> None:
    """Make every stream anew: entries, groups and what is pending stay as they are; of what was deleted or trimmed no byte does."""
    for stream in await _streams(redis):
        async with reachable():
            if await redis.xlen(stream):
                await redis.eval(_ANEW, 2, stream, f"{stream if '{' in stream else f'{{{stream}}}'}.anew")


# In one step, so that nobody reads or adds meanwhile; about 0.4 s for 100,000 entries. Whoever waits for the stream goes on waiting.
_ANEW = """
local function named(flat)
    local one = {}
    for i = 1, #flat, 2 do one[flat[i]] = flat[i + 1] end
    return one
end
local old, new = KEYS[1], KEYS[2]
redis.call('DEL', new)
local info = named(redis.call('XINFO', 'STREAM', old))
local from = '-'
while true do
    local page = redis.call('XRANGE', old, from, '+', 'COUNT', 500)
    for _, entry in ipairs(page) do redis.call('XADD', new, entry[1], unpack(entry[2])) end
    if #page < 500 then break end
    from = '(' .. page[#page][1]
end
redis.call('XSETID', new, info['last-generated-id'], 'ENTRIESADDED', info['entries-added'], 'MAXDELETEDID', info['max-deleted-entry-id'])
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
for _, flat in ipairs(redis.call('XINFO', 'GROUPS', old)) do
    local group = named(flat)
    local create = {'XGROUP', 'CREATE', new, group['name'], group['last-delivered-id']}
    if group['entries-read'] then
        create[#create + 1] = 'ENTRIESREAD'
        create[#create + 1] = group['entries-read']
    end
    redis.call(unpack(create))
    for _, one in ipairs(redis.call('XINFO', 'CONSUMERS', old, group['name'])) do
        redis.call('XGROUP', 'CREATECONSUMER', new, group['name'], named(one)['name'])
    end
    from = '-'
    while true do
        local page = redis.call('XPENDING', old, group['name'], from, '+', 500)
        for _, held in ipairs(page) do
            redis.call('XCLAIM', new, group['name'], held[2], 0, held[1], 'TIME', string.format('%.0f', ms - held[3]),
                'RETRYCOUNT', held[4], 'FORCE', 'JUSTID')
        end
        if #page < 500 then break end
        from = '(' .. page[#page][1]
    end
end
redis.call('RENAME', new, old)
return 1
"""


def _kept(stream: str, entry: Entry, rewritten: Rewritten) -> bytes | None:
    """What stays of a parked entry: its event waits for a person, and is not itself forgotten."""
    if not stream.endswith(PARKED_SUFFIX):
        return None
    with suppress(MalformedEvent):
        return rewritten(_logical(stream), _text(entry.fields, b"event_id"), body_of(entry.fields))
    return None


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number or 0)


def _text(fields: Mapping[bytes, bytes], name: bytes) -> str:
    return fields.get(name, b"").decode(errors="replace")


# ── files ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _has_snapshots(redis: Redis) -> bool:
    try:
        return bool((await redis.config_get("save")).get("save"))
    except exceptions.ResponseError:  # a server of somebody else's may not say
        return False


def _is_rewriting(persistence: Mapping[str, object]) -> bool:
    return bool(persistence.get("aof_rewrite_in_progress") or persistence.get("aof_rewrite_scheduled"))


def _is_saving(persistence: Mapping[str, object]) -> bool:
    return bool(persistence.get("rdb_bgsave_in_progress"))


async def _written_anew(
    redis: Redis, what: str, write: Callable[[], Awaitable[object]], is_busy: Callable[[Mapping[str, object]], bool], status: str
) -> str:
    """Ask for a file to be written anew, after any writing that began before, and wait for that."""
    deadline = time.monotonic() + REWRITE_PATIENCE_S
    is_asked = False
    while time.monotonic() < deadline:
        persistence = await redis.info("persistence")
        if not is_busy(persistence):
            if is_asked:
                done = persistence.get(status) == "ok"
                return (
                    f"{what} of Redis was written anew" if done else f"Redis could not write {what} anew: look at its log, run this again"
                )
            try:
                await write()
                is_asked = True
            except exceptions.ResponseError as error:
                if "progress" not in str(error).lower():
                    return f"Redis does not write {what} anew ({error}); it holds what was deleted until it does"
        await asyncio.sleep(LOOK_AGAIN_S)
    return f"Redis was still writing {what} anew after {REWRITE_PATIENCE_S:.0f} s; it holds what was deleted until that is done"


# ── searching ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _holds(value: bytes, lowered: Sequence[bytes]) -> bool:
    folded = value.lower()
    return any(word in folded for word in lowered)


def _standing(key: str, entry: Entry) -> Standing:
    agent, event_id = _whose(key, entry)
    return Standing(key, entry.entry_id, agent or None, event_id or None)


async def _value(redis: Redis, key: Any, kind: str) -> list[bytes]:
    """All that a key holds that is no stream."""
    found: Any = ()
    if kind == "string":
        found = [await redis.get(key) or b""]
    elif kind == "hash":
        found = [part for pair in (await redis.hgetall(key)).items() for part in pair]
    elif kind == "list":
        found = await redis.lrange(key, 0, -1)
    elif kind == "set":
        found = await redis.smembers(key)
    elif kind == "zset":
        found = await redis.zrange(key, 0, -1)
    return [_bytes(one) for one in found]


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _word(value: Any) -> str:
    return _bytes(value).decode(errors="replace")
