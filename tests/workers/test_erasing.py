"""Erasing from Redis: what is held is waited for, what stays is as it was, and what goes leaves no byte behind."""

import pytest
from redis.asyncio import Redis

from events import encode
from tests.factories import a_fact_learned
from workers.runtime import erasing

STREAM = "fact_learned"


async def published(redis: Redis, *names: str) -> list[str]:
    return [(await redis.xadd(STREAM, {"data": encode(a_fact_learned(event_id=one, content=f"about {one}"))})).decode() for one in names]


def only(*names: str) -> erasing.Meant:
    return lambda stream, _agent, event_id, _entry: stream == STREAM and event_id in names


async def test_an_entry_goes_with_its_last_byte_and_everything_else_of_its_stream_stays(redis: Redis) -> None:
    ids = await published(redis, "first", "zanzibar", "third", "fourth")
    await redis.xgroup_create(STREAM, "one", id="0")
    await redis.xgroup_create(STREAM, "other", id="0")
    for group, count in (("one", 3), ("other", 4)):
        await redis.xreadgroup(group, f"consumer of {group}", {STREAM: ">"}, count=count)
    await redis.xack(STREAM, "one", *ids[:2])
    await redis.xack(STREAM, "other", *ids)
    groups = [
        {name: one[name] for name in ("name", "pending", "last-delivered-id", "entries-read")} for one in await redis.xinfo_groups(STREAM)
    ]
    info = await redis.xinfo_stream(STREAM)
    assert await erasing.delete(redis, only("zanzibar"), patience_s=0) == erasing.Deleted(1, ())
    assert b"zanzibar" not in await redis.dump(STREAM)
    assert [entry_id.decode() for entry_id, _ in await redis.xrange(STREAM)] == [ids[0], *ids[2:]]
    after = await redis.xinfo_groups(STREAM)
    assert [{name: one[name] for name in groups[0]} for one in after] == groups
    (pending,) = await redis.xpending_range(STREAM, "one", "-", "+", 10)
    assert (pending["message_id"].decode(), pending["consumer"], pending["times_delivered"]) == (ids[2], b"consumer of one", 1)
    assert (await redis.xinfo_stream(STREAM))["last-generated-id"] == info["last-generated-id"]
    assert await redis.keys("*anew*") == []
    ((_, ((next_id, _),)),) = await redis.xreadgroup("one", "consumer of one", {STREAM: ">"}, count=10)
    assert next_id.decode() == ids[3]


@pytest.mark.parametrize("is_read", [False, True])
async def test_what_a_group_has_not_read_or_not_acknowledged_is_kept_and_told(redis: Redis, is_read: bool) -> None:
    (entry_id,) = await published(redis, "held")
    await redis.xgroup_create(STREAM, "slow", id="0")
    if is_read:
        await redis.xreadgroup("slow", "somebody", {STREAM: ">"})
    done = await erasing.delete(redis, only("held"), patience_s=0)
    assert done == erasing.Deleted(0, (erasing.Held(STREAM, entry_id, "slow", is_unread=not is_read),))
    assert await redis.xlen(STREAM) == 1


async def test_what_was_trimmed_leaves_no_byte_either(redis: Redis) -> None:
    ids = await published(redis, "zanzibar", "second")
    await redis.xtrim(STREAM, minid=ids[1], approximate=False)
    await erasing.delete(redis, only(), patience_s=0)
    assert b"zanzibar" not in await redis.dump(STREAM)
    assert await redis.xlen(STREAM) == 1


async def test_of_a_parked_event_that_stays_the_words_go_and_the_rest_waits_on(redis: Redis) -> None:
    fields = {"data": b"secret", "agent_id": "a", "event_id": "e", "reason": "why"}
    await redis.xadd(f"{STREAM}.parked", fields)
    for _ in range(2):
        await erasing.delete(redis, only("e"), patience_s=0, rewritten=lambda _stream, _event, body: body.replace(b"secret", b"gone"))
    ((_, kept),) = await redis.xrange(f"{STREAM}.parked")
    assert kept == {b"data": b"gone", b"agent_id": b"a", b"event_id": b"e", b"reason": b"why"}
    assert b"secret" not in await redis.dump(f"{STREAM}.parked")


async def test_words_are_found_in_every_kind_of_key(redis: Redis) -> None:
    await redis.set("plain", "a SECRET")
    await redis.hset("hash", "name", "secret")
    await redis.rpush("list", "secret")
    await redis.sadd("set", "secret")
    await redis.zadd("sorted", {"secret": 1})
    await redis.set("other", "nothing")
    await redis.xadd("stream", {"f": "secret"})
    assert {one.key for one in await erasing.search(redis, [b"Secret"])} == {"plain", "hash", "list", "set", "sorted", "stream"}


async def test_the_append_only_file_is_written_anew(redis: Redis) -> None:
    assert await erasing.rewrite_files(redis) == ("the append-only file of Redis was written anew",)
    assert not (await redis.info("persistence"))["aof_rewrite_in_progress"]
