"""Streams spread over partitions: a plain XADD is heard too, nothing is stranded when their number changes, nobody sees it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis

import workers
from events import Event, encode, partitions
from nous import embedded
from store import archive, retries
from store import parked as stored
from store.database import Database
from store.parked import Wanted
from tests.conftest import until
from tests.factories import a_fact_learned
from tests.system.conftest import Replicas, publish, rows
from workers.runtime import parked, retention, streams
from workers.runtime.app import Process
from workers.runtime.look import look
from workers.runtime.worker import Kit

AGENTS = [f"agent-{number}" for number in range(12)]
FACT = "fact_learned"
Run = Callable[..., Awaitable[None]]


def facts(said: str) -> list[Event]:
    """A fact of each agent."""
    return [a_fact_learned(agent_id=agent, event_id=f"{said}-{agent}", content=f"{said} of {agent}") for agent in AGENTS]


@pytest.fixture
async def spread(stack: embedded.Stack, redis: Redis) -> Any:
    """Send events as a client that spreads streams over so many partitions."""
    clients: list[Redis] = []

    async def send(events: list[Event], over: int) -> list[str]:
        clients.append(client := streams.connect(stack.redis_url, partitions=over))
        return await streams.append(client, [(event.stream, event.agent_id, encode(event)) for event in events])

    yield send
    for client in clients:
        await client.aclose()


@pytest.fixture
async def run(kit: Kit, stack: embedded.Stack, redis: Redis) -> Any:
    """Run every worker and the archivist until the block ends: `async with run(partitions=4)`."""

    class Running:
        def __init__(self, names: tuple[str, ...], settings: dict[str, Any]) -> None:
            tools = replace(kit, settings=kit.settings.model_copy(update=settings))
            chosen = [workers.table()[name] for name in names or workers.table()]
            self.stop = asyncio.Event()
            self.process = Process(chosen, tools, stack.redis_url, archives=not names)

        async def __aenter__(self) -> None:
            self.task = asyncio.create_task(self.process.run(self.stop))

        async def __aexit__(self, *_: object) -> None:
            self.stop.set()
            await self.task

    return lambda *names, over=0, **settings: Running(names, {"stream_partitions": over} | settings)


async def receipts(database: Database, worker: str = "deduplicator") -> dict[str, int]:
    """How many receipts each event has of a worker."""
    found = await rows(database, "SELECT event_id, count(*) FROM bus.receipts WHERE worker = :worker GROUP BY 1", worker=worker)
    return dict(found)


async def all_are_worked(kit: Kit, redis: Redis, said: set[str]) -> bool:
    return (await receipts(kit.database)).keys() >= said and (await look(kit.settings, kit.database, redis)).is_settled


async def test_a_plain_xadd_and_partitions_are_heard_alike_and_archived_once(kit: Kit, redis: Redis, spread: Any, run: Any) -> None:
    ids = await spread(facts("spread"), 4)
    assert {partitions.placed(FACT, entry_id)[0] for entry_id in ids} == set(partitions.keys(FACT, 4)[1:])
    await publish(redis, facts("plain"))
    said = {event.event_id for event in (*facts("spread"), *facts("plain"))}
    async with run(over=4):
        await until(partial(all_are_worked, kit, redis, said), what="receipts of all")
        stored = [await redis.xlen(key) for key in partitions.keys("fact_stored", 4)]
    assert (await receipts(kit.database)) == dict.fromkeys(said, 1)
    assert (await receipts(kit.database, "supersession_checker")).keys()
    assert stored[0] == 0
    assert min(stored[1:]) > 0
    kept = [
        row for agent in AGENTS for page in [p async for p in archive.of_agent(kit.database, agent)] for row in page if row.stream == FACT
    ]
    assert sorted(row.event_id for row in kept) == sorted(said)
    assert sorted(row.entry_id for row in kept if "@" in row.entry_id) == sorted(ids)


@pytest.mark.parametrize(("before", "after"), [(4, 0), (4, 2), (2, 4), (0, 4)])
async def test_nothing_is_stranded_when_the_number_of_partitions_changes(
    kit: Kit, redis: Redis, spread: Any, run: Any, before: int, after: int
) -> None:
    await spread(facts("before"), before)
    async with run("deduplicator", over=after):
        await until(partial(all_are_heard, kit, "before"), what="what was sent before")
        await spread(facts("meanwhile"), before + 2)  # and somebody spreads further while it runs
        await until(partial(all_are_heard, kit, "meanwhile"), what="what was sent over more partitions than the workers knew")


async def all_are_heard(kit: Kit, said: str) -> bool:
    return (await receipts(kit.database)).keys() >= {event.event_id for event in facts(said)}


async def test_what_a_killed_replica_held_in_partitions_is_worked_by_another(
    kit: Kit, redis: Redis, spread: Any, run: Any, replica: Replicas
) -> None:
    deadly = [a_fact_learned(agent_id=agent, event_id=f"deadly-{agent}", content=f"KILL_ME {agent}") for agent in AGENTS[:2]]
    await spread([*facts("first"), *deadly], 4)
    first = replica("deduplicator")
    await asyncio.to_thread(first.join, 60)
    assert first.exitcode == -9
    async with run("deduplicator"):
        await until(partial(all_are_heard, kit, "first"), what="all that it held")
    assert await redis.xlen(FACT) == 0


async def test_what_is_parked_shares_the_partition_and_is_retried_from_there(
    kit: Kit, database: Database, redis: Redis, spread: Any, run: Any, stack: embedded.Stack
) -> None:
    (key,) = {partitions.key(FACT, "agent-1", 4)}
    await redis.xadd(key, {"data": b'{"agent_id": "agent-1", "event_id": "broken"}'})
    client = streams.connect(stack.redis_url, partitions=4)
    await streams.tell_spread(client)
    async with run("deduplicator"):
        await until(lambda: redis.exists(f"{key}.parked"), what="a parked entry")
        await until(partial(is_acknowledged, redis), what="an acknowledged entry")
    assert await redis.exists(f"{FACT}.parked") == 0
    (one,) = await parked_ones(database)
    assert "@" in one.entry_id
    entries = parked.Entries(client)
    body = await entries.body(one, database)
    assert body
    assert b"broken" in body.content
    assert body.found_in.startswith(f"{FACT}.parked")
    outcome = [done async for done in parked.retry(database, client, [one])]
    assert len(outcome[0].done) == 1
    assert await redis.xlen(f"{key}.parked") == 0
    async with database.queue() as db:
        assert (await retries.waiting(db))["deduplicator"].count == 1
    await client.aclose()


async def is_acknowledged(redis: Redis) -> bool:
    state = await streams.group_state(redis, FACT, "deduplicator")
    return (state.lag, state.pending) == (0, 0)


async def parked_ones(database: Database) -> list[Any]:
    async with database.overview() as db:
        return list(await stored.listed(db, Wanted()))


async def test_every_partition_is_trimmed_by_itself_and_one_that_is_held_back_is_told_of_its_stream(
    kit: Kit, redis: Redis, spread: Any
) -> None:
    listening = {FACT: ("deduplicator",)}
    await spread(facts("old"), 4)
    await publish(redis, facts("plain"))
    keys = await streams.keys(redis, FACT)
    for group in ("deduplicator", streams.ARCHIVIST):
        await streams.ensure_group(redis, FACT, group)
        found = await streams.read(redis, group, "one", keys, count=100, block_ms=10)
        done = [entry.entry_id for entry in found[FACT] if group == streams.ARCHIVIST or not entry.entry_id.endswith("@0")]
        await streams.acknowledge(redis, FACT, group, done)
    await until(partial(trimmed, redis, listening), what="a time later than that of the entries")
    left = {key: await redis.xlen(key) for key in keys}
    held = left.pop(f"{FACT}:{{0}}")
    assert held > 0
    assert not any(left.values())
    (kept,) = [one for one in await retention.kept(redis, listening, keep_s=0) if one.entries]
    assert (kept.stream, kept.entries, kept.needed_by) == (FACT, held, "deduplicator")


async def trimmed(redis: Redis, listening: dict[str, tuple[str, ...]]) -> int:
    return await retention.trim(redis, listening, keep_s=0)


async def test_a_look_counts_all_partitions_together(kit: Kit, redis: Redis, spread: Any) -> None:
    await spread(facts("unread"), 4)
    await publish(redis, facts("plain"))
    seen = await look(kit.settings, kit.database, redis)
    (deduplicator,) = [one for one in seen.workers if one.worker == "deduplicator"]
    assert (deduplicator.stream, deduplicator.lag, seen.is_settled) == (FACT, len(AGENTS) * 2, False)
    keys = await streams.keys(redis, FACT)
    await streams.ensure_group(redis, FACT, "deduplicator")
    await streams.read(redis, "deduplicator", "one", keys, count=100, block_ms=10)
    seen = await look(kit.settings, kit.database, redis)
    (deduplicator,) = [one for one in seen.workers if one.worker == "deduplicator"]
    assert (deduplicator.lag, deduplicator.pending, deduplicator.replicas) == (0, len(AGENTS) * 2, 1)
