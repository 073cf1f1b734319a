"""A derived event is published until every consumer has answered and the archive has it, whatever Redis loses."""

import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

import workers
from events import Event, FactLearned, FactStored
from nous import clock
from providers.mind import A, MindAway, Question, Reply
from providers.offline import OfflineMind
from store.database import Database, Write
from tests.conftest import until
from tests.system.conftest import publish, rows
from workers.runtime import app, streams, sweep
from workers.runtime.archivist import Archivist
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, Worker

Process = Callable[..., Awaitable[app.Process]]


async def listen(db: Write, jobs: Sequence[Job[FactStored, None]], kit: Kit) -> Sequence[Ending]:
    """Hear of stored facts, and refuse those that say so."""
    return [GiveUp("told to") if "refuse" in job.event.content else Done("heard") for job in jobs]


listen.__module__ = "workers.listener"


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The only worker on `fact_stored`, and a sweep that does not wait a minute."""
    del workers.table()["supersession_checker"]
    workers.table()["listener"] = Worker(on=FactStored, write=listen, outcomes=("heard",))
    monkeypatch.setattr(sweep, "UNANSWERED_AFTER", timedelta(0))
    monkeypatch.setattr(app, "SWEEP_EVERY_S", 0.05)
    yield
    workers.table.cache_clear()


def learned(content: str) -> Event:
    return FactLearned(event_id=content, agent_id="agent-1", fact_id=uuid.uuid4(), content=content, occurred_at=clock.now())


async def _is_empty(database: Database) -> bool:
    return not await rows(database, "SELECT 1 FROM bus.outbox")


async def test_an_event_redis_lost_is_published_again_until_its_consumer_has_its_receipt(
    listener: None, process: Process, redis: Redis, database: Database
) -> None:
    deduplicator = await process("deduplicator")
    await publish(redis, [learned("one"), learned("two")])
    await until(lambda: rows(database, "SELECT 1 FROM bus.outbox WHERE published_at IS NOT NULL"), what="a published letter")
    await redis.delete("fact_stored")
    await process("listener")

    async def heard() -> list[Any]:
        return await rows(database, "SELECT 1 FROM bus.receipts WHERE worker = 'listener' HAVING count(*) = 2")

    await until(heard, what="both receipts of the listener")
    await until(lambda: _is_empty(database), what="an empty outbox")
    assert deduplicator.failure is None


async def test_a_consumer_that_parked_the_event_has_answered(listener: None, process: Process, redis: Redis, database: Database) -> None:
    await process("deduplicator", "listener")
    await publish(redis, [learned("refuse this")])
    await until(lambda: rows(database, "SELECT 1 FROM bus.receipts WHERE ending = 'parked'"), what="the parked receipt")
    await until(lambda: _is_empty(database), what="an empty outbox")
    assert await redis.xlen("fact_stored") == 1


async def test_an_event_redis_lost_before_the_archivist_read_it_is_published_again_and_archived(
    listener: None, process: Process, redis: Redis, database: Database, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every worker has answered for it, and nobody but the archive misses it, whose group is gone with the stream."""
    monkeypatch.setattr(app, "SWEEP_EVERY_S", 600)
    await streams.ensure_group(redis, "fact_stored", streams.ARCHIVIST)
    sweeping = sweep.Sweep(database, redis, workers.consumers())
    await sweeping.round()
    await process("deduplicator", "listener")
    await publish(redis, [learned("one")])
    await until(lambda: rows(database, "SELECT 1 FROM bus.receipts WHERE worker = 'listener'"), what="the receipt of the listener")
    await redis.delete("fact_stored")
    await sweeping.round()
    assert not await _is_empty(database), "the archivist has not made its group again, and will want it"
    archivist = Archivist(kit, redis, "one", workers.consumers())

    async def archived() -> list[Any]:
        await sweeping.round()
        await archivist.read()
        return await rows(database, "SELECT 1 FROM bus.events WHERE stream = 'fact_stored'")

    async def is_empty() -> bool:
        await sweeping.round()
        return await _is_empty(database)

    await until(archived, what="the stored fact in the archive")
    await until(is_empty, what="an empty outbox")
    assert await rows(database, "SELECT 1 FROM bus.receipts WHERE worker = 'listener' HAVING count(*) = 1")


class Away(OfflineMind):
    """A mind that never answers."""

    async def ask(self, question: Question[A]) -> Reply[A]:
        raise MindAway("529: overloaded")


async def test_an_event_that_waits_for_a_mind_is_not_published_again_meanwhile(
    process: Process, kit: Kit, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row among the retries holds it; published again it would be asked about every minute, whatever it was told to wait."""
    monkeypatch.setattr(sweep, "UNANSWERED_AFTER", timedelta(0))
    monkeypatch.setattr(app, "SWEEP_EVERY_S", 0.02)
    await process("deduplicator", "supersession_checker", with_kit=replace(kit, mind=Away()))
    await publish(redis, [learned(content) for content in ("one", "two", "three")])
    await until(lambda: rows(database, "SELECT 1 FROM bus.retries HAVING count(*) > 0"), what="a fact that waits")
    await until(lambda: _is_empty(database), what="an empty outbox")
    assert await redis.xlen("fact_stored") == 3
