"""One bad event costs itself only, and what is away is waited for."""

import asyncio
import os
import signal
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from events import Event, FactLearned
from nous import clock, embedded
from nous.errors import Misconfigured, Outage
from nous.settings import Settings
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store import database as database_module
from store import embedders
from store.database import Database
from tests.conftest import until
from tests.system.conftest import Replicas, parked, publish, rows, settled, stopped
from tests.system.proxy import Cable
from workers.runtime import app, streams
from workers.runtime.worker import Kit


def a_fact(content: str, *, agent: str = "agent-1", event_id: str | None = None) -> Event:
    return FactLearned(
        event_id=event_id or f"event of {content[:100]}", agent_id=agent, fact_id=uuid.uuid4(), content=content, occurred_at=clock.now()
    )


def many(count: int, *, agents: int = 10) -> list[Event]:
    return [a_fact(f"Shelf {number} holds jar {number * 7}", agent=f"agent-{number % agents}") for number in range(count)]


async def receipts(database: Database) -> dict[str, str]:
    return {row.event_id: row.ending for row in await rows(database, "SELECT event_id, ending FROM bus.receipts")}


@pytest.mark.timeout(180)
async def test_an_entry_that_kills_its_process_in_a_batch_of_500_is_parked_alone(
    replica: Replicas, redis: Redis, database: Database
) -> None:
    killer = a_fact("this one says KILL_ME", agent="agent-3")
    events = many(499)
    await publish(redis, [*events[:250], killer, *events[250:]])
    process = replica(page=500, claim_after_s=1)

    async def is_over() -> bool:
        nonlocal process
        if process.exitcode is not None:  # as a supervisor would
            process = replica(page=500, claim_after_s=1)
        return len(await receipts(database)) == 500

    await until(is_over, within_s=120, what="every event having its receipt")
    await settled(redis, database)
    endings = await receipts(database)
    assert [event_id for event_id, ending in endings.items() if ending != "done"] == [killer.event_id]
    (entry,) = await parked(redis)
    assert entry["event_id"] == killer.event_id
    assert "died" in entry["reason"]
    assert "3 attempts" in entry["reason"]


async def test_an_event_its_worker_fails_on_is_parked_with_the_error_after_the_last_attempt_and_its_neighbours_are_done(
    replica: Replicas, redis: Redis, database: Database
) -> None:
    bad = a_fact("FAIL_ME please")
    await publish(redis, [*many(50), bad, *many(90)[50:]])
    replica()
    await until(lambda: parked(redis), what="a parked event")
    await settled(redis, database)
    endings = await receipts(database)
    assert len(endings) == 91
    assert [event_id for event_id, ending in endings.items() if ending == "parked"] == [bad.event_id]
    (entry,) = await parked(redis)
    assert entry["reason"].startswith("ValueError: cannot work 'FAIL_ME please'")
    assert entry["attempts"] == "3"
    assert b"FAIL_ME" in (await redis.xrange("fact_learned.parked"))[0][1][b"data"]


async def test_a_stop_finishes_what_is_in_flight_and_exits_cleanly(replica: Replicas, redis: Redis, database: Database) -> None:
    process = replica(page=100)
    await publish(redis, many(2_000))
    await until(lambda: receipts(database), what="the first receipt")
    assert stopped(process) == 0
    state = await streams.group_state(redis, "fact_learned", "deduplicator")
    assert state.pending == 0, "nothing that was fetched is left behind"
    assert len(await receipts(database)) == 2_000 - state.lag


async def test_a_replica_that_was_frozen_adds_nothing_when_it_wakes(replica: Replicas, redis: Redis, database: Database) -> None:
    frozen = replica(page=20, claim_after_s=1, time_limit_s=10)
    await publish(redis, many(400))
    await until(lambda: receipts(database), what="the first receipt")
    os.kill(frozen.pid, signal.SIGSTOP)
    replica(page=20, claim_after_s=1, time_limit_s=10)
    await settled(redis, database)
    assert len(await receipts(database)) == 400
    os.kill(frozen.pid, signal.SIGCONT)
    await publish(redis, [a_fact("one more after it woke")])
    await settled(redis, database)
    assert stopped(frozen) == 0
    assert len(await receipts(database)) == 401
    assert (await rows(database, "SELECT count(*) AS n FROM heart.fact_mentions"))[0].n == 401
    assert await parked(redis) == []


async def test_two_replicas_given_one_new_fact_in_two_wordings_at_the_same_moment_end_with_one_fact_and_two_mentions(
    replica: Replicas, redis: Redis, database: Database
) -> None:
    replica(page=1)
    replica(page=1)
    pairs = 100
    for number in range(pairs):
        await publish(redis, [a_fact(f"The boat {number} is blue"), a_fact(f"the BOAT  {number} is blue.")])
    await settled(redis, database)
    stored = await rows(
        database,
        "SELECT f.confirmation_count, count(*) AS mentions FROM heart.facts f JOIN heart.fact_mentions m USING (agent_id, fact_id)"
        " GROUP BY f.agent_id, f.fact_id",
    )
    assert len(stored) == pairs
    assert {(row.confirmation_count, row.mentions) for row in stored} == {(1, 2)}


async def test_redis_going_away_pauses_work_and_loses_and_parks_nothing(
    process: Any, stack: embedded.Stack, redis: Redis, database: Database
) -> None:
    cable = Cable(stack.redis_url)
    await cable.mend()
    await process("deduplicator", redis_url=cable.url)
    await publish(redis, many(300))
    await until(lambda: receipts(database), what="the first receipt")
    await cable.cut()
    await publish(redis, [a_fact(f"told while it was away, {number}") for number in range(300)])
    await cable.mend()
    await settled(redis, database)
    assert set((await receipts(database)).values()) == {"done"}
    assert len(await receipts(database)) == 600
    await cable.cut()


async def test_postgres_going_away_pauses_work_and_loses_and_parks_nothing(
    process: Any, database_url: str, kit: Kit, redis: Redis, database: Database
) -> None:
    cable = Cable(database_url)
    await cable.mend()
    through = Database(cable.url, pool=3)
    await process("deduplicator", with_kit=replace(kit, database=through))
    await publish(redis, many(300))
    await until(lambda: receipts(database), what="the first receipt")
    await cable.cut()
    await publish(redis, [a_fact(f"told while it was away, {number}") for number in range(300)])

    async def is_waiting() -> bool:
        return (await streams.group_state(redis, "fact_learned", "deduplicator")).pending > 0

    await until(is_waiting, what="a page that waits")
    assert not await rows(database, "SELECT 1 FROM bus.receipts WHERE ending = 'parked'")
    await cable.mend()
    await settled(redis, database)
    assert set((await receipts(database)).values()) == {"done"}
    assert len(await receipts(database)) == 600
    await through.close()
    await cable.cut()


async def test_a_postgres_connection_that_falls_silent_is_given_up_on_and_its_page_is_worked_over_another(
    process: Any, database_url: str, kit: Kit, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "COMMAND_TIMEOUT_S", 0.5)
    cable = Cable(database_url)
    await cable.mend()
    through = Database(cable.url, pool=3)
    await process("deduplicator", with_kit=replace(kit, database=through))
    await publish(redis, many(50))
    await settled(redis, database)
    cable.go_silent()
    await publish(redis, [a_fact(f"told while nobody answered, {number}") for number in range(50)])
    await settled(redis, database)
    assert set((await receipts(database)).values()) == {"done"}
    assert len(await receipts(database)) == 100
    await through.close()
    await cable.cut()


class Unplugged(ZeroEmbedder):
    """An embedder that is down until it is plugged in."""

    def __init__(self) -> None:
        super().__init__()
        self.plugged = asyncio.Event()
        self.asked = 0

    async def embed(self, texts: object) -> object:  # type: ignore[override]
        self.asked += 1
        if not self.plugged.is_set():
            raise Outage("the embedder", "connection refused")
        return await super().embed(texts)  # type: ignore[arg-type]


async def test_an_embedder_that_is_down_delays_events_and_stores_nothing_without_a_vector(
    process: Any, kit: Kit, redis: Redis, database: Database
) -> None:
    embedder = Unplugged()
    await process("deduplicator", with_kit=replace(kit, embedder=embedder))
    await publish(redis, many(200))

    async def was_asked_again() -> bool:
        return embedder.asked >= 3

    await until(was_asked_again, what="the embedder being asked again")
    assert await rows(database, "SELECT 1 FROM heart.facts") == []
    assert await parked(redis) == []
    embedder.plugged.set()
    await settled(redis, database)
    assert set((await receipts(database)).values()) == {"done"}
    table = kit.registered.table
    naked = await rows(database, f"SELECT 1 FROM heart.facts f LEFT JOIN {table} v USING (agent_id, fact_id) WHERE v.vector IS NULL")
    assert naked == []


async def test_an_embedder_of_another_dimension_or_name_is_refused_at_start(database_url: str, settings: Settings) -> None:
    short = ZeroEmbedder()
    short.dimension = 384
    with pytest.raises(Misconfigured, match=r"512.*384"):
        async with app.kit(settings, database_url, short, OfflineMind()):
            pass
    other = ZeroEmbedder()
    other.name = "another"
    with pytest.raises(Misconfigured, match=r"'zero'.*'another'"):
        async with app.kit(settings, database_url, other, OfflineMind()):
            pass


async def test_a_stream_deleted_under_a_running_worker_is_created_again_and_says_so(process: Any, redis: Redis, database: Database) -> None:
    await process("deduplicator")
    await publish(redis, many(20))
    await settled(redis, database)
    with capture_logs() as lines:
        await redis.delete("fact_learned")
        await publish(redis, [a_fact("said after the stream was deleted")])
        await until(lambda: rows(database, "SELECT 1 FROM bus.receipts WHERE event_id LIKE '%deleted'"), what="the new event's receipt")
        await redis.flushall()
        await publish(redis, [a_fact("said after everything was flushed")])
        await until(lambda: rows(database, "SELECT 1 FROM bus.receipts WHERE event_id LIKE '%flushed'"), what="the last event's receipt")
    assert [line["stream"] for line in lines if line["event"] == "group.lost"] == ["fact_learned", "fact_learned"]


async def test_a_group_that_redis_loses_as_its_reader_starts_is_read_from_the_beginning(
    process: Any, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = streams.ensure_groups

    async def lost_at_once(client: Redis, keys: Sequence[str], group: str) -> bool:
        is_new = await made(client, keys, group)
        if group == "deduplicator":
            await client.xgroup_destroy("fact_learned", group)
        return is_new

    await publish(redis, [a_fact("said before")])
    monkeypatch.setattr(streams, "ensure_groups", lost_at_once)
    await process("deduplicator")
    await until(lambda: rows(database, "SELECT 1 FROM bus.receipts WHERE event_id LIKE '%before'"), what="its receipt")


async def test_what_a_crash_left_unpublished_is_published_by_the_sweep(
    process: Any, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workers.runtime import life, sweep

    async def crash(*_: object) -> None:
        raise RuntimeError("the process died here")

    monkeypatch.setattr(life.Life, "announced", crash)
    monkeypatch.setattr(sweep, "LEFT_BEHIND_AFTER", sweep.LEFT_BEHIND_AFTER * 0)
    monkeypatch.setattr(app, "SWEEP_EVERY_S", 0.05)
    await process("deduplicator")
    await publish(redis, [a_fact("one that was committed and not published")])

    async def arrived() -> int:
        return await redis.xlen("fact_stored")

    assert await until(arrived, what="the derived event") == 1
    await until(lambda: _nothing(database, "SELECT 1 FROM bus.outbox WHERE published_at IS NULL"), what="every letter published")


async def _nothing(database: Database, query: str) -> bool:
    return not await rows(database, query)


async def test_dead_consumers_that_hold_nothing_are_forgotten_and_those_that_hold_something_stay(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "FORGET_CONSUMER_AFTER_MS", -1)
    await streams.ensure_group(redis, "fact_learned", "deduplicator")
    await publish(redis, [a_fact("held")])
    await redis.xreadgroup("deduplicator", "holder", {"fact_learned": ">"})
    await redis.xgroup_createconsumer("fact_learned", "deduplicator", "idler")
    assert await streams.forget_dead_consumers(redis, "fact_learned", "deduplicator") == 1
    assert [consumer["name"] for consumer in await redis.xinfo_consumers("fact_learned", "deduplicator")] == [b"holder"]


async def test_the_registered_embedder_is_the_one_the_store_was_migrated_with(database: Database) -> None:
    async with database.read(()) as db:
        registered = await embedders.active(db)
    assert (registered.name, registered.dimension) == ("zero", 512)
