"""On a Redis Cluster: a primary killed under load loses nothing that Redis acknowledged and replicated, and work goes on."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from events import FactLearned, encode, partitions
from nous import clock, embedded
from nous.errors import Contended, Outage
from store.database import Database
from tests.conftest import until
from tests.system import cluster
from tests.system.cluster import ClusterOfSix
from tests.system.conftest import Replicas, rows
from workers.runtime import streams
from workers.runtime.look import look
from workers.runtime.worker import Kit

PARTITIONS = 8
AGENTS = 40
EVENTS = 1_200
AT_ONCE = 50
KILLED_AFTER = 12  # batches of 24
SEED = 20_26
WORKERS = ("deduplicator", "supersession_checker")


@pytest.fixture
async def six() -> AsyncIterator[ClusterOfSix]:
    async with cluster.running() as made:
        yield made


@pytest.fixture
async def redis(six: ClusterOfSix, stack: embedded.Stack) -> AsyncIterator[Redis]:
    """The cluster, in the place of the one server."""
    client = streams.connect(six.url, partitions=PARTITIONS)
    yield client
    await client.aclose()


def facts() -> list[FactLearned]:
    return [
        FactLearned(
            event_id=f"event-{number}",
            agent_id=f"agent-{number % AGENTS}",
            fact_id=uuid.uuid5(uuid.NAMESPACE_OID, f"fact-{number}"),
            content=f"Crate {number} stands in hall {number % 7}",
            occurred_at=clock.now(),
        )
        for number in range(EVENTS)
    ]


async def published(redis: Redis, events: Sequence[FactLearned]) -> list[FactLearned]:
    """Those of these that Redis took in and that a replica has too, by the word of WAIT on the connection that sent them."""
    by_key: dict[str, list[FactLearned]] = {}
    for number, event in enumerate(events):  # every tenth by a client that knows of no partitions
        by_key.setdefault(partitions.key(event.stream, event.agent_id, 0 if number % 10 == 0 else PARTITIONS), []).append(event)
    sent = await asyncio.gather(*(_sent(redis, key, some) for key, some in by_key.items()))
    return [event for some in sent for event in some]


async def _sent(redis: Any, key: str, events: Sequence[FactLearned]) -> Sequence[FactLearned]:
    assert isinstance(redis, RedisCluster)
    try:
        await redis.exists(key)  # so that the client follows its keys
        node = redis.get_node_from_key(key)
        server = Redis(host=node.host, port=node.port, single_connection_client=True, retry=Retry(NoBackoff(), 0))
        async with server, server.pipeline(transaction=False) as pipeline:
            for event in events:
                pipeline.xadd(key, {"data": encode(event)})
            pipeline.wait(1, 100)
            *_, replicas = await pipeline.execute()
    except (RedisError, RedisClusterException, OSError):
        return []
    return events if replicas >= 1 else []


@pytest.mark.timeout(300)
async def test_nothing_that_was_replicated_is_lost_when_a_primary_is_killed_under_load(
    six: ClusterOfSix, redis: Redis, database: Database, replica: Replicas, kit: Kit
) -> None:
    print(f"seed {SEED}")
    chosen = random.Random(SEED)
    for _ in range(2):
        replica(*WORKERS, redis_url=six.url, stream_partitions=PARTITIONS)
    victim = chosen.choice(six.nodes[: cluster.PRIMARIES])
    safe: list[FactLearned] = []
    events = facts()
    chosen.shuffle(events)
    for number, start in enumerate(range(0, EVENTS, AT_ONCE)):
        if number == KILLED_AFTER:
            victim.kill()
        safe += await published(redis, events[start : start + AT_ONCE])
    assert len(safe) > EVENTS / 4  # so much that it proves something
    await until(partial(has_failed_over, redis, victim.port), within_s=30, what="another primary in its place")
    late = [event.model_copy(update={"event_id": f"late-{event.event_id}", "fact_id": uuid.uuid4()}) for event in events[:AGENTS]]
    for event in late:
        event_ids = await streams.append(redis, [(event.stream, event.agent_id, encode(event))])
        assert event_ids
    expected = {event.event_id for event in (*safe, *late)}
    await until(partial(without_receipt, database, expected), within_s=120, what="a receipt of every event that was safe")
    await until(partial(left, kit, redis), within_s=120, what="nothing pending anywhere")
    for worker in WORKERS:
        counts = await rows(
            database, "SELECT event_id, count(*) FROM bus.receipts WHERE worker = :worker GROUP BY 1 HAVING count(*) > 1", worker=worker
        )
        assert counts == []


async def has_failed_over(redis: Any, port: int) -> bool:
    try:
        for key in partitions.keys("fact_learned", PARTITIONS):
            await redis.xlen(key)
            if redis.get_node_from_key(key).port == port:
                return False
    except (RedisError, RedisClusterException, OSError):
        return False
    return True


async def without_receipt(database: Database, expected: set[str]) -> "Nothing":
    found = await rows(database, "SELECT event_id FROM bus.receipts WHERE worker = 'deduplicator'")
    return Nothing(sorted(expected - {event for (event,) in found}))


class Nothing(list[str]):
    """True when there is nothing in it, and what there is for whoever waits in vain."""

    def __bool__(self) -> bool:
        return not self.__len__()


async def left(kit: Kit, redis: Redis) -> Nothing:
    try:
        seen = await look(kit.settings, kit.database, redis)
    except (Outage, Contended) as error:
        return Nothing([str(error)])
    return Nothing([str(one) for one in seen.workers if one.worker in WORKERS and not one.is_through] + ["outbox"] * bool(seen.outbox))
