"""Each recall counts once: what was found, and what was told; for the fact that is true, whichever was named."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from events import MemoryRecalled
from store import decisions, facts, forgetting, lineage, mentions, usage
from store.facts import Fact
from store.usage import Memory, Usage
from tests import factories
from tests.factories import NOON, a_decision, a_fact, a_mention, an_id
from tests.workers.conftest import Bench

AGENT = "agent-1"


@pytest.fixture
def counter(bench: Callable[[str], Bench]) -> Bench:
    return bench("recall_counter")


def recalled(*found: UUID, told: bool = True, kind: str = "fact", **over: Any) -> MemoryRecalled:
    memories = [{"kind": kind, "id": one, "injected": told} for one in found]
    return factories.a_memory_recalled(**{"agent_id": AGENT, "memories": memories} | over)


async def keep(bench: Bench, *rows: Fact) -> None:
    async with bench.kit.database.write({row.agent_id for row in rows}) as db:
        await facts.insert(db, sorted(rows, key=lambda one: one.superseded_by is not None or one.merged_into is not None))


async def used(bench: Bench, *memories: Memory, agent: str = AGENT) -> dict[Memory, Usage]:
    async with bench.kit.database.read([agent]) as db:
        return await usage.of(db, agent, memories)


async def counts(bench: Bench, fact: Fact, agent: str = AGENT) -> tuple[int, int, int] | None:
    found = (await used(bench, ("fact", fact.fact_id), agent=agent)).get(("fact", fact.fact_id))
    return (found.retrieved, found.injected, found.referenced) if found else None


async def test_a_recall_is_counted_once_however_often_it_is_delivered_and_found_and_told_apart(counter: Bench) -> None:
    told, found = a_fact(agent_id=AGENT), a_fact(agent_id=AGENT)
    await keep(counter, told, found)
    events = [recalled(told.fact_id), recalled(found.fact_id, told=False), recalled(told.fact_id, found.fact_id)]
    await counter.work(*events, *events)
    await counter.work(*events)
    assert await counts(counter, told) == (2, 2, 0)
    assert await counts(counter, found) == (2, 1, 0)
    assert await counter.outcomes() == ["counted"] * 3


async def test_a_memory_named_twice_in_one_recall_was_found_once(counter: Bench) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    await counter.work(recalled(fact.fact_id, fact.fact_id))
    assert await counts(counter, fact) == (1, 1, 0)


async def test_what_was_told_of_a_fact_that_was_retired_meanwhile_counts_for_what_is_true_now(counter: Bench) -> None:
    now = a_fact(agent_id=AGENT)
    between = a_fact(agent_id=AGENT, active=False, superseded_by=now.fact_id)
    old = a_fact(agent_id=AGENT, active=False, superseded_by=between.fact_id)
    await keep(counter, now)
    await keep(counter, between)
    await keep(counter, old)
    await counter.work(recalled(old.fact_id))
    assert (await counts(counter, now), await counts(counter, old)) == ((1, 1, 0), None)
    (receipt,) = await counter.receipts()
    assert receipt.evidence["counted_for"] == {str(old.fact_id): str(now.fact_id)}


async def test_what_was_counted_before_a_merge_is_the_survivor_s_and_comes_back_with_a_split(counter: Bench) -> None:
    whole, part = a_fact(agent_id=AGENT), a_fact(agent_id=AGENT)
    await keep(counter, whole, part)
    await counter.work(recalled(part.fact_id), recalled(whole.fact_id))
    async with counter.kit.database.write([AGENT]) as db:
        await facts.change(db, [replace(part, active=False, merged_into=whole.fact_id)])
    await counter.work(recalled(part.fact_id))
    assert await counts(counter, whole) == (3, 3, 0)
    async with counter.kit.database.write([AGENT]) as db:
        await facts.change(db, [part])
    assert (await counts(counter, whole), await counts(counter, part)) == ((2, 2, 0), (1, 1, 0))


async def test_both_wordings_of_one_fact_in_one_recall_are_one_fact_that_was_told_if_either_was(counter: Bench) -> None:
    whole = a_fact(agent_id=AGENT)
    part = a_fact(agent_id=AGENT, active=False, merged_into=whole.fact_id)
    await keep(counter, whole, part)
    memories = [{"kind": "fact", "id": whole.fact_id, "injected": False}, {"kind": "fact", "id": part.fact_id, "injected": True}]
    await counter.work(recalled(memories=memories))
    assert await counts(counter, whole) == (1, 1, 0)


async def test_a_fact_is_known_by_every_id_it_was_published_under(counter: Bench) -> None:
    fact, published = a_fact(agent_id=AGENT), an_id()
    await keep(counter, fact)
    async with counter.kit.database.write([AGENT]) as db:
        await mentions.insert(db, [a_mention(fact, mention_id=published)])
    await counter.work(recalled(published))
    assert await counts(counter, fact) == (1, 1, 0)


async def test_memories_of_other_kinds_are_counted_apart_though_their_ids_be_the_same(counter: Bench) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    async with counter.kit.database.write([AGENT]) as db:
        await decisions.put(db, [a_decision(agent_id=AGENT, decision_id=fact.fact_id)])
    await counter.work(recalled(fact.fact_id, kind="decision"))
    both = await used(counter, ("fact", fact.fact_id), ("decision", fact.fact_id))
    assert both.keys() == {("decision", fact.fact_id)}


async def test_what_an_agent_has_not_is_left_out_and_another_agent_s_is_never_counted(counter: Bench) -> None:
    mine, foreign = a_fact(agent_id=AGENT), a_fact(agent_id="agent-2")
    await keep(counter, mine)
    await keep(counter, foreign)
    await counter.work(recalled(mine.fact_id, foreign.fact_id), recalled(foreign.fact_id), recalled())
    assert await counter.outcomes() == ["counted", "skipped", "skipped"]
    first, second, third = await counter.receipts()
    assert first.evidence["unknown"] == [str(foreign.fact_id)]
    assert (second.reason, third.reason) == ("agent 'agent-1' has none of the 1 memories it names", "it names no memory")
    assert await counts(counter, foreign, "agent-2") is None
    assert await counts(counter, foreign) is None


async def test_what_was_forgotten_loses_its_counts_and_is_counted_no_more(counter: Bench) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    await counter.work(recalled(fact.fact_id))
    async with counter.kit.database.erase([AGENT]) as db:
        await forgetting.erase(db, await lineage.of(db, AGENT, fact_ids=[fact.fact_id]), by="decision", now=NOON)
    assert await counts(counter, fact) is None
    await counter.work(recalled(fact.fact_id))
    assert await counts(counter, fact) is None
    assert (await counter.outcomes())[-1] == "skipped"
