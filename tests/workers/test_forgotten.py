"""What a worker had begun to think about when it was forgotten has no effect, and is written nowhere."""

import time
from collections.abc import Callable

from nous import clock
from store import forgetting, forgotten, lineage, relations
from store.database import Database
from tests.factories import a_fact_learned
from tests.store.conftest import run
from tests.workers.conftest import Bench, ScriptedMind
from workers.runtime import record
from workers.runtime.streams import Entry

AGENT = "agent-1"
OSLO, BERGEN = "Maria lives in Oslo.", "Maria lives in Bergen."


async def forget(database: Database, fact_id: object) -> lineage.Lineage:
    async with database.erase([AGENT]) as db:
        whole = await lineage.of(db, AGENT, fact_ids=[fact_id])  # type: ignore[list-item]
        await forgetting.erase(db, whole, by="the decision", now=clock.now())
    return whole


async def test_an_answer_about_a_fact_that_is_forgotten_meanwhile_relates_nothing(
    bench: Callable[[str], Bench], mind: ScriptedMind
) -> None:
    deduplicator, checker = bench("deduplicator"), bench("supersession_checker")
    mind.says(OSLO, "updates", BERGEN)
    oslo, bergen = [a_fact_learned(agent_id=AGENT, content=one) for one in (OSLO, BERGEN)]
    await deduplicator.work(oslo, bergen)
    entries = [Entry(entry_id.decode(), fields) for entry_id, fields in await checker.redis.xrange("fact_stored")]
    deliveries, _ = record.opened(checker.life.worker, entries, now=clock.now())
    thought = await checker.life.think(deliveries)
    whole = await forget(checker.kit.database, oslo.fact_id)
    await checker.life.write(thought, since=time.monotonic())
    async with checker.kit.database.erase([AGENT]) as db:
        await forgetting.sweep(db, whole)
        texts = [fact.text_key for fact in whole.facts]
        assert await relations.touching(db, AGENT, texts) == []
        assert await run(db, "SELECT 1 FROM bus.answers WHERE older LIKE '%Oslo%' OR newer LIKE '%Oslo%'") == []
        assert await run(db, "SELECT worker FROM bus.receipts WHERE evidence::text LIKE '%as it was told%'") == []
    assert await checker.outcomes() == ["kept"]
    (left,) = await checker.facts()
    assert (left.content, left.active) == (BERGEN, True)


async def test_an_erased_event_that_comes_again_is_acknowledged_and_does_nothing(bench: Callable[[str], Bench]) -> None:
    deduplicator = bench("deduplicator")
    event = a_fact_learned(agent_id=AGENT, content=OSLO)
    await deduplicator.work(event)
    await forget(deduplicator.kit.database, event.fact_id)
    await deduplicator.work(event)
    assert await deduplicator.facts() == []
    assert await deduplicator.outcomes() == ["forgotten"]
    async with deduplicator.kit.database.read([AGENT]) as db:
        assert await forgotten.events(db, AGENT, "fact_learned", [event.event_id]) == {event.event_id}
