"""The archivist keeps every event of every stream, raw and once; streams forget what everybody has passed, and nothing else."""

import itertools
import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

import events
import workers
from nous.errors import Outage
from store import archive
from store.archive import Archived
from store.database import Database
from workers.runtime import retention, streams
from workers.runtime.archivist import Archivist
from workers.runtime.worker import Kit

NOTHING_LISTENS: dict[str, tuple[str, ...]] = {}


@pytest.fixture
def archivist(kit: Kit, redis: Redis) -> Callable[..., Archivist]:
    def make(consumer: str = "one", **changes: Any) -> Archivist:
        return Archivist(replace(kit, settings=kit.settings.model_copy(update=changes)), redis, consumer, NOTHING_LISTENS)

    return make


async def kept(kit: Kit, agent: str) -> list[Archived]:
    return [row async for page in archive.of_agent(kit.database, agent) for row in page]


async def send(redis: Redis, stream: str, body: bytes | str, entry_id: str = "*") -> str:
    return streams._text(await redis.xadd(stream, {"data": body}, id=entry_id))


def body(**fields: Any) -> str:
    return json.dumps({"event_id": "e-1", "agent_id": "a", "fact_id": str(uuid.UUID(int=1)), "content": "Tea."} | fields)


async def test_every_event_of_every_stream_is_kept_as_it_came(kit, redis, archivist):
    sent = {stream: body(event_id=f"of {stream}", unknown={"kept": [1, "too"]}) + " \n" for stream in events.CATALOGUE}
    for stream, one in sent.items():
        await send(redis, stream, one)
    await archivist().read()
    rows = await kept(kit, "a")
    assert {row.stream: row.body.decode() for row in rows} == sent
    assert {row.stream: row.event_id for row in rows} == {stream: f"of {stream}" for stream in sent}


@pytest.mark.parametrize(
    ("fields", "agent", "event_id"),
    [
        ({"data": "no json"}, "", None),
        ({"data": b"\xff\x00\xfe"}, "", None),
        ({"other": "field"}, "", None),
        ({"data": "[" * 100_000}, "", None),
        ({"data": body(content="x" * 9_000)}, "a", "e-1"),
        ({"data": body(agent_id="")}, "", "e-1"),
        ({"data": body(event_id="nul \x00")}, "", None),
        ({"data": body(event_id="e" * 200)}, "a", None),
    ],
    ids=["text", "bytes", "no data", "deep", "too long", "no agent", "a NUL in its id", "an id that is too long"],
)
async def test_what_no_worker_can_read_is_kept_under_what_it_says_of_itself(kit, redis, archivist, fields, agent, event_id):
    entry_id = streams._text(await redis.xadd("fact_learned", fields))
    await archivist().read()
    (row,) = await kept(kit, agent)
    assert row.event_id == (event_id or events.derived("fact_learned", entry_id))
    assert row.body == events.kept_body({name.encode(): streams_bytes(value) for name, value in fields.items()})
    assert (await redis.xpending("fact_learned", streams.ARCHIVIST))["pending"] == 0


def streams_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


async def test_the_id_of_an_event_without_one_is_the_one_workers_derive(kit, redis, bench, archivist):
    bare = {"agent_id": "a", "fact_id": str(uuid.UUID(int=1)), "content": "Tea."}
    entry_id = await send(redis, "fact_learned", json.dumps(bare))
    await archivist().read()
    (row,) = await kept(kit, "a")
    assert row.event_id == events.decode(events.FactLearned, row.body, entry_id).event_id


async def test_said_again_it_is_one_row_and_said_otherwise_it_is_another(kit, redis, archivist):
    for said in (body(), body(), body(content="Coffee."), body()):
        await send(redis, "fact_learned", said)
    await archivist().read()
    async with kit.database.read(["a"]) as db:
        found = await archive.of_event(db, "a", "e-1")
    assert [json.loads(row.body)["content"] for row in found] == ["Tea.", "Coffee."]


async def test_what_a_dead_replica_had_read_is_kept_by_another_and_once(kit, redis, archivist, monkeypatch):
    await send(redis, "fact_learned", body())

    async def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(streams, "acknowledge", dies)
        with pytest.raises(KeyboardInterrupt):
            await archivist("first").read()
    second = archivist("second", claim_after_s=0.001)
    await second.take_over()
    assert len(await kept(kit, "a")) == 1
    assert (await redis.xpending("fact_learned", streams.ARCHIVIST))["pending"] == 0


async def test_nothing_is_acknowledged_that_postgres_does_not_have(kit, redis, archivist):
    await kit.database.close()
    one = archivist()
    one.kit = replace(kit, database=Database("postgresql://nobody@127.0.0.1:9/none", pool=1))
    await send(redis, "fact_learned", body())
    await streams.ensure_group(redis, "fact_learned", streams.ARCHIVIST)
    found = await streams.read(redis, streams.ARCHIVIST, "one", ["fact_learned"], count=10, block_ms=10)
    with pytest.raises(Outage):
        await one.keep(found)
    assert (await redis.xpending("fact_learned", streams.ARCHIVIST))["pending"] == 1
    await one.kit.database.close()


async def test_a_lost_group_is_made_again_and_reads_from_the_beginning(kit, redis, archivist):
    one = archivist()
    await send(redis, "fact_learned", body())
    await one.read()
    await redis.flushall()
    await send(redis, "fact_learned", body(event_id="e-2"))
    await one.read()
    await one.read()
    assert [row.event_id for row in await kept(kit, "a")] == ["e-1", "e-2"]


async def test_the_agents_of_the_archive_are_listed_once_each(kit, redis, archivist):
    for number in range(30):
        await send(redis, "fact_learned", body(agent_id=f"agent-{number % 3}", event_id=f"e-{number}"))
    await archivist().read()
    async with kit.database.overview() as db:
        assert await archive.agents(db) == ["agent-0", "agent-1", "agent-2"]


async def test_pages_of_an_agents_events_come_in_the_order_of_arrival_and_miss_none(kit, redis, archivist, monkeypatch):
    monkeypatch.setattr(archive, "PAGE", 7)
    for number in range(40):  # several in a millisecond
        await send(redis, "fact_learned", body(event_id=f"e-{number:02}"), f"1700000000{number // 10:03}-{number % 10 + 1}")
    await archivist().read()
    rows = await kept(kit, "a")
    assert [row.event_id for row in rows] == [f"e-{number:02}" for number in range(40)]
    after = [page async for page in archive.of_agent(kit.database, "a", since=rows[10].arrived_at, until=rows[20].arrived_at)]
    assert [row.event_id for page in after for row in page] == [f"e-{number:02}" for number in range(10, 20)]


# ── retention ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

LISTENING = {"fact_learned": ("deduplicator",)}


async def read_by(redis: Redis, group: str, count: int, *, acknowledged: bool = True) -> list[str]:
    found = await streams.read(redis, group, "one", ["fact_learned"], count=count, block_ms=10)
    ids = [entry.entry_id for entry in found["fact_learned"]]
    if acknowledged:
        await streams.acknowledge(redis, "fact_learned", group, ids)
    return ids


@pytest.fixture
async def ten(redis: Redis) -> list[str]:
    """Ten entries of a minute ago and more, and both groups that need them."""
    ids = [await send(redis, "fact_learned", body(event_id=f"e-{number}"), f"{1_700_000_000_000 + number}-0") for number in range(10)]
    for group in ("deduplicator", streams.ARCHIVIST):
        await streams.ensure_group(redis, "fact_learned", group)
    return ids


async def left(redis: Redis) -> list[str]:
    return [streams._text(entry_id) for entry_id, _ in await redis.xrange("fact_learned")]


async def test_what_every_group_has_passed_is_trimmed_and_no_more(redis, ten):
    await read_by(redis, "deduplicator", 7)
    await read_by(redis, streams.ARCHIVIST, 4)
    assert await retention.trim(redis, LISTENING, keep_s=0) == 4
    assert await left(redis) == ten[4:]


async def test_what_is_pending_is_not_trimmed_nor_anything_after_it(redis, ten):
    await read_by(redis, streams.ARCHIVIST, 10)
    await read_by(redis, "deduplicator", 3)
    await read_by(redis, "deduplicator", 5, acknowledged=False)
    await retention.trim(redis, LISTENING, keep_s=0)
    assert await left(redis) == ten[3:]


@pytest.mark.parametrize("lost_after", range(1, 6))
async def test_nothing_is_trimmed_of_what_groups_had_in_work_before_redis_lost_its_last_second(redis, ten, monkeypatch, lost_after):
    """After so many commands of the trimming Redis comes back with what it had synced: the entries, and groups that have read nothing."""
    for group in ("deduplicator", streams.ARCHIVIST):
        await read_by(redis, group, 10, acknowledged=False)
    ask, ask_together, asked = redis.execute_command, Pipeline.execute, itertools.count(1)

    async def lose() -> None:
        if next(asked) != lost_after:
            return
        for group in ("deduplicator", streams.ARCHIVIST):
            await ask("XGROUP DESTROY", "fact_learned", group)
            await ask("XGROUP CREATE", "fact_learned", group, "0")

    async def then_lost(*command: Any, **options: Any) -> Any:
        answer = await ask(*command, **options)
        await lose()
        return answer

    async def together_then_lost(pipeline: Any, **options: Any) -> Any:
        answers = await ask_together(pipeline, **options)
        await lose()
        return answers

    monkeypatch.setattr(redis, "execute_command", then_lost)
    monkeypatch.setattr(Pipeline, "execute", together_then_lost)
    await retention.trim(redis, LISTENING, keep_s=0)
    monkeypatch.undo()
    assert await left(redis) == ten


async def test_ids_are_counted_and_compared_as_they_are_however_large(redis):
    largest = 2**64 - 1
    ids = [f"7-{2**53 - 1}", f"7-{2**53}", f"7-{2**53 + 1}", f"7-{largest}", "10-0"]
    for entry_id in ids:
        await send(redis, "fact_learned", body(), entry_id)
    for group in ("deduplicator", streams.ARCHIVIST):
        await streams.ensure_group(redis, "fact_learned", group)
        await read_by(redis, group, 2)
    await retention.trim(redis, LISTENING, keep_s=0)
    assert await left(redis) == ids[1:], "the last one that was read stays while its id is too large to count on from"
    for group in ("deduplicator", streams.ARCHIVIST):
        await read_by(redis, group, 3)
    await retention.trim(redis, LISTENING, keep_s=0)
    assert await left(redis) == []


async def test_a_worker_that_never_ran_holds_its_stream_and_is_named(redis, ten):
    await read_by(redis, "deduplicator", 10)
    await read_by(redis, streams.ARCHIVIST, 10)
    more = {"fact_learned": ("deduplicator", "certifier")}
    assert await retention.trim(redis, more, keep_s=0) == 0
    (held,) = [one for one in await retention.kept(redis, more, keep_s=0) if one.entries]
    assert (held.stream, held.entries, held.needed_by) == ("fact_learned", 10, "certifier")
    assert held.held_s > 0


async def test_a_group_of_somebody_else_holds_the_stream_until_it_is_dropped(redis, ten):
    await streams.ensure_group(redis, "fact_learned", "gone")
    await read_by(redis, "deduplicator", 10)
    await read_by(redis, streams.ARCHIVIST, 10)
    await retention.trim(redis, LISTENING, keep_s=0)
    (held,) = [one for one in await retention.kept(redis, LISTENING, keep_s=0) if one.entries]
    assert held.needed_by == "gone"
    assert await streams.drop_group(redis, "fact_learned", "gone")
    assert await retention.trim(redis, LISTENING, keep_s=0) == 10
    assert not await streams.drop_group(redis, "fact_learned", "gone")


async def test_what_is_young_stays_for_who_reads_without_a_group(redis, ten):
    await send(redis, "fact_learned", body(event_id="young"))
    await read_by(redis, "deduplicator", 11)
    await read_by(redis, streams.ARCHIVIST, 11)
    await retention.trim(redis, LISTENING, keep_s=3600)
    assert len(await left(redis)) == 1
    (kept_,) = [one for one in await retention.kept(redis, LISTENING, keep_s=3600) if one.entries]
    assert (kept_.needed_by, kept_.held_s) == (None, 0.0)


async def test_a_stream_that_nobody_works_is_trimmed_once_it_is_archived(kit, redis, archivist):
    await send(redis, "fact_confirmed", body(), "1700000000000-0")
    await retention.trim(redis, workers.consumers(), keep_s=0)
    assert await redis.xlen("fact_confirmed") == 1
    await archivist().read()
    await retention.trim(redis, workers.consumers(), keep_s=0)
    assert await redis.xlen("fact_confirmed") == 0


async def test_parked_entries_are_never_trimmed(redis, ten):
    await redis.xadd("fact_learned.parked", {"data": body()}, id="1700000000000-0")
    for group in ("deduplicator", streams.ARCHIVIST):
        await read_by(redis, group, 10)
    await retention.trim(redis, LISTENING, keep_s=0)
    assert await redis.xlen("fact_learned.parked") == 1
