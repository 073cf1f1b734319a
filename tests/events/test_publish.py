"""Any client publishes: what it appended is read back from the real server and decoded."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis

from events import CensorTriggered, EpisodeClosed, Event, FactLearned, body_of, decode, publish
from nous.embedded import Stack
from tests.factories import a_censor_triggered, a_fact_learned, an_episode_closed

ID = "5f0c1a52-6f3e-4c1b-9d57-0a4d3c1e8b21"
PAYLOADS: dict[type[Event], dict[str, Any]] = {
    FactLearned: {"fact_id": ID, "content": "猫 drinks tea \U0001f375 at four.", "subject": None, "agent_id": "agent-7"},
    EpisodeClosed: {"episode_id": ID, "agent_id": "agent-7"},
    CensorTriggered: {"censor_id": ID, "was_blocked": False, "agent_id": "agent-7"},
}


async def published(redis: Redis, kind: type[Event]) -> list[tuple[str, Event]]:
    """What stands in the stream: entry ids and events."""
    return [
        (entry.decode(), decode(kind, body_of(fields), entry.decode()))
        for entry, fields in await redis.xrange(kind.stream)  # type: ignore[misc]
    ]


async def sent_by_hand(url: str, *words: bytes) -> bytes:
    """One command as RESP on a bare socket, and the first line of the answer; for an entry id, that id."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        await writer.drain()
        kind = (await reader.readline()).strip()
        return (await reader.readline()).strip() if kind.startswith(b"$") else kind
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("kind", PAYLOADS, ids=lambda kind: kind.stream)
@pytest.mark.parametrize("field", [b"data", b"__data__"])
@pytest.mark.parametrize("is_ascii", [True, False], ids=["escaped", "utf-8"])
async def test_a_bare_socket_publishes(stack: Stack, redis: Redis, kind: type[Event], field: bytes, is_ascii: bool) -> None:
    body = json.dumps(PAYLOADS[kind], ensure_ascii=is_ascii).encode()
    entry = await sent_by_hand(stack.redis_url, b"XADD", kind.stream.encode(), b"*", field, body)
    [(read, event)] = await published(redis, kind)
    assert read == entry.decode()
    assert event.model_dump(mode="json", include=set(PAYLOADS[kind])) == PAYLOADS[kind]


async def test_a_bare_socket_may_add_fields_of_its_own(stack: Stack, redis: Redis) -> None:
    body = json.dumps(PAYLOADS[FactLearned]).encode()
    await sent_by_hand(stack.redis_url, b"XADD", b"fact_learned", b"*", b"producer", b"cobol", b"data", body, b"v", b"\xff\0")
    [(_, event)] = await published(redis, FactLearned)
    assert event.agent_id == "agent-7"


@pytest.mark.parametrize("kind", PAYLOADS, ids=lambda kind: kind.stream)
async def test_faststream_publishes(stack: Stack, redis: Redis, kind: type[Event]) -> None:
    async with RedisBroker(stack.redis_url, logger=None) as broker:
        await broker.publish(PAYLOADS[kind], stream=kind.stream, headers={"tenant": "a\u0301"})
    [(_, event)] = await published(redis, kind)
    assert event.model_dump(mode="json", include=set(PAYLOADS[kind])) == PAYLOADS[kind]


async def test_publish_appends_each_event_to_its_stream_in_order_and_gives_the_entry_ids(redis: Redis) -> None:
    facts = [a_fact_learned() for _ in range(3)]
    others = [an_episode_closed(transcript="Hello."), a_censor_triggered(false_positive=True)]
    entries = await publish(redis, [*facts, *others])
    assert await published(redis, FactLearned) == list(zip(entries, facts, strict=False))
    assert await published(redis, EpisodeClosed) == [(entries[3], others[0])]
    assert await published(redis, CensorTriggered) == [(entries[4], others[1])]


async def test_publish_of_nothing_appends_nothing(redis: Redis) -> None:
    assert await publish(redis, []) == []
    assert await redis.keys() == []
