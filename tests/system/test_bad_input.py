"""Whatever is published has a clear outcome, and its neighbours go on."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from events import MAX_BODY_BYTES
from store.database import Database
from tests.conftest import until
from tests.system.conftest import body, parked, rows, settled
from workers.runtime import app

Process = Callable[..., Awaitable[app.Process]]

GOOD = {"fact_id": str(uuid.UUID(int=1)), "content": "a good neighbour", "agent_id": "agent-1"}


def fact(**over: object) -> bytes:
    return body(**({"fact_id": str(uuid.uuid4()), "agent_id": "agent-1"} | over))


PARKED: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"{never closed", "not JSON"),
    "a list": (b"[1, 2]", "JSON list"),
    "not UTF-8": (b'{"content": "\xff"}', "is no text"),
    "nested a hundred thousand deep": (b"[" * 100_000, "nested too deeply"),
    "no content": (fact(), "content: field required"),
    "content that is a number": (fact(content=7), "valid string"),
    "8,001 characters": (fact(content="x" * 8_001), "at most 8000 characters"),
    "a naive time": (fact(content="x", occurred_at="2026-03-01T12:00:00"), "add Z or an offset"),
    "no agent": (body(fact_id=str(uuid.uuid4()), content="x"), "agent_id: field required"),
    "an empty agent": (fact(content="x", agent_id=""), "agent_id"),
    "an agent of 129 characters": (fact(content="x", agent_id="a" * 129), "at most 128 characters"),
    "a fact_id that is none": (fact(content="x", fact_id="seven"), "is no UUID"),
    "confidence of 2": (fact(content="x", confidence=2), "less than or equal to 1"),
    "confidence that is not a number": (
        b'{"fact_id": "%s", "agent_id": "a", "content": "x", "confidence": NaN}' % uuid.uuid4().hex.encode(),
        "confidence",
    ),
    "an unknown provenance": (fact(content="x", provenance="hearsay"), "provenance"),
    "50 MB": (fact(content="x" * 50_000_000), f"the limit is {MAX_BODY_BYTES:,}"),
}

STORED: dict[str, dict[str, Any]] = {
    "a NUL byte": {"content": "before\x00after", "kept": "beforeafter"},
    "a lone surrogate": {"content": "half \ud83d a face", "kept": "half \ufffd a face"},
    "8,000 characters of emoji": {"content": "🦀" * 8_000},
    "Chinese": {"content": "我的猫叫咪咪"},
    "Japanese": {"content": "猫の名前はミミです"},
    "Arabic": {"content": "اسم قطتي ميمي"},
    "Thai": {"content": "แมวของฉันชื่อมีมี่"},
    "unknown fields": {"content": "told by a newer producer", "mood": {"deep": [1, 2]}},
    "SQL in the agent": {"content": "robert", "agent_id": "x'); DROP TABLE heart.facts; --"},
}


@pytest.mark.timeout(120)
async def test_every_malformed_body_is_parked_at_once_with_its_reason_and_its_neighbours_are_stored(
    process: Process, redis: Redis, database: Database
) -> None:
    published = []
    for number, (bad, _) in enumerate(PARKED.values()):
        published.append(await redis.xadd("fact_learned", {"data": bad}))
        await redis.xadd(
            "fact_learned", {"data": json.dumps(GOOD | {"fact_id": str(uuid.UUID(int=number + 1)), "content": f"neighbour {number}"})}
        )
    foreign = await redis.xadd("fact_learned", {"payload": "no such field"})
    await process("deduplicator")

    async def all_parked() -> bool:
        return await redis.xlen("fact_learned.parked") == len(PARKED) + 1

    await until(all_parked, within_s=60, what="every malformed entry parked")
    await settled(redis, database)
    reasons = {entry["entry_id"]: entry["reason"] for entry in await parked(redis)}
    for entry_id, (name, (_, expected)) in zip(published, PARKED.items(), strict=True):
        assert expected in reasons[entry_id.decode()], name
    assert "no data field" in reasons[foreign.decode()]
    assert len(await rows(database, "SELECT 1 FROM heart.facts WHERE content LIKE 'neighbour%'")) == len(PARKED)
    kept = await redis.xrange("fact_learned.parked")
    assert {fields[b"data"] for _, fields in kept} == {
        *(bad for bad, _ in PARKED.values()),
        b'{"payload": "no such field"}',
    }, "the body is kept as it came, and all of an entry that has none"
    receipts = await rows(database, "SELECT count(*) AS n FROM bus.receipts WHERE ending = 'parked'")
    assert receipts[0].n == len(PARKED) + 1


async def test_odd_text_is_stored_as_it_can_be_held_and_stays_one_fact_when_it_is_said_again(
    process: Process, redis: Redis, database: Database
) -> None:
    await process("deduplicator")
    for _ in range(2):
        for said in STORED.values():
            fields = {name: value for name, value in said.items() if name != "kept"}
            await redis.xadd("fact_learned", {"data": fact(**fields)})
    await settled(redis, database)
    found = {(row.agent_id, row.content): row.confirmation_count for row in await rows(database, "SELECT * FROM heart.facts")}
    assert found == {(said.get("agent_id", "agent-1"), said.get("kept", said["content"])): 1 for said in STORED.values()}
    assert await parked(redis) == []


async def test_an_event_published_by_hand_over_a_raw_socket_is_learned(
    process: Process, stack: Any, redis: Redis, database: Database
) -> None:

    await process("deduplicator")
    payload = b'{"fact_id": "6f1d1f7e-58b2-4c8e-9a55-0f1f4c1f2a10", "content": "typed by hand", "subject": "me", "agent_id": "cli"}'
    reader, writer = await asyncio.open_connection("127.0.0.1", int(stack.redis_url.rpartition(":")[2]))
    parts = [b"XADD", b"fact_learned", b"*", b"data", payload]
    writer.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
    await writer.drain()
    assert (await reader.readline()).startswith(b"$")
    writer.close()
    await until(lambda: rows(database, "SELECT 1 FROM heart.facts WHERE content = 'typed by hand'"), what="the fact")
