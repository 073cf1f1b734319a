"""Every event has exactly one effect, whatever happens to the replicas."""

import asyncio
import random
import uuid

import pytest
from redis.asyncio import Redis

from events import Event, FactLearned
from nous import clock
from store.database import Database
from tests.system.conftest import Replicas, publish, rows, settled

AGENTS = 20
EVENTS = 2_000
PUBLICATIONS = 3
REPLICAS = 4
KILL_EVERY_S = 2.0
KILLS = 15


def _facts() -> list[Event]:
    """Two thousand events; every tenth says again, in other casing, what the one before said."""
    made: list[Event] = []
    for number in range(EVENTS):
        said = number - 1 if number % 10 == 9 else number
        content = f"Crate {said} stands in hall {said % 7} since {1900 + said % 120}"
        made.append(
            FactLearned(
                event_id=f"event-{number}",
                agent_id=f"agent-{(number - number % 10) // 10 % AGENTS}",
                fact_id=uuid.uuid5(uuid.NAMESPACE_OID, f"fact-{number}"),
                content=content.upper() if number % 10 == 9 else content,
                occurred_at=clock.now(),
            )
        )
    return made


@pytest.mark.timeout(240)
async def test_every_event_has_one_receipt_when_replicas_are_killed_every_two_seconds(
    replica: Replicas, redis: Redis, database: Database
) -> None:
    events = _facts()
    thrice = events * PUBLICATIONS
    random.Random(7).shuffle(thrice)
    processes = [replica() for _ in range(REPLICAS)]
    killed = 0

    async def kill_one_after_another() -> None:
        nonlocal killed
        while killed < KILLS:  # on a busy machine they would else be killed before they get to work
            await asyncio.sleep(KILL_EVERY_S)
            victim = killed % REPLICAS
            processes[victim].kill()
            processes[victim].join()
            processes[victim] = replica()
            killed += 1

    killer = asyncio.create_task(kill_one_after_another())
    for start in range(0, len(thrice), 100):
        await publish(redis, thrice[start : start + 100])
        await asyncio.sleep(0.15)  # spread over some seconds, so that the kills meet work under way
    await settled(redis, database, within_s=120)
    killer.cancel()

    assert killed >= 3
    receipts = await rows(database, "SELECT event_id, count(*) AS n, min(ending) AS ending FROM bus.receipts GROUP BY event_id")
    assert {row.event_id for row in receipts} == {event.event_id for event in events}, "no event is lost"
    assert {(row.n, row.ending) for row in receipts} == {(1, "done")}, "each has exactly one receipt"
    twins = await rows(database, "SELECT 1 FROM heart.facts WHERE active GROUP BY agent_id, content_hash HAVING count(*) > 1")
    assert twins == [], "no two active facts of an agent say the same"
    outcomes = await rows(database, "SELECT outcome, count(*) AS n FROM bus.receipts GROUP BY outcome")
    assert {row.outcome: row.n for row in outcomes} == {"stored": EVENTS * 9 // 10, "confirmed": EVENTS // 10}
    mentions = await rows(database, "SELECT count(*) AS n FROM heart.fact_mentions")
    assert mentions[0].n == EVENTS, "every wording is kept, once"
    seqs = await rows(database, "SELECT agent_id, count(*) AS n, max(seq) AS last FROM bus.receipts GROUP BY agent_id")
    assert all(row.n == row.last for row in seqs), "an agent's receipts are numbered without a gap"
