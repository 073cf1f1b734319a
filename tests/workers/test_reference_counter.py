"""Each answer counts once for what it drew on, in whatever order it and the recall arrive."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from events import MemoryReferenced
from store import usage
from store.facts import Fact
from tests import factories
from tests.factories import NOON, a_fact
from tests.workers.conftest import Bench
from tests.workers.test_recall_counter import AGENT, counts, keep, recalled, used


@pytest.fixture
def counter(bench: Callable[[str], Bench]) -> Bench:
    return bench("reference_counter")


def drawn_on(*found: Fact, how: str = "overlap", **over: Any) -> MemoryReferenced:
    memories = [{"kind": "fact", "id": one.fact_id, "how": how} for one in found]
    return factories.a_memory_referenced(**{"agent_id": AGENT, "memories": memories} | over)


def held_against(*found: Fact, **over: Any) -> MemoryReferenced:
    """An answer that was compared with these, and drew on none of them."""
    compared = [{"kind": "fact", "id": one.fact_id} for one in found]
    return factories.a_memory_referenced(**{"agent_id": AGENT, "memories": (), "compared": compared} | over)


async def test_an_answer_is_counted_once_however_often_it_is_delivered(counter: Bench) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    events = [drawn_on(fact), drawn_on(fact, how="cited")]
    await counter.work(*events, *events)
    await counter.work(*events)
    assert await counts(counter, fact) == (0, 0, 2)
    assert await counter.outcomes() == ["counted", "counted"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_a_recall_and_its_answer_in_any_order_come_to_the_same(
    counter: Bench, bench: Callable[[str], Bench], order: tuple[int, ...]
) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    recalls = bench("recall_counter")
    steps = [(recalls, recalled(fact.fact_id)), (counter, drawn_on(fact)), (counter, held_against(fact))]
    for at in order:
        worker, event = steps[at]
        await worker.work(event)
    assert await counts(counter, fact) == (1, 1, 1)
    found = (await used(counter, ("fact", fact.fact_id)))["fact", fact.fact_id]
    assert (found.compared, found.boost(NOON)) == (2, pytest.approx(1.0))


async def test_what_an_answer_drew_on_counts_for_the_fact_that_is_true_now(counter: Bench) -> None:
    now = a_fact(agent_id=AGENT)
    old = a_fact(agent_id=AGENT, active=False, superseded_by=now.fact_id)
    await keep(counter, now, old)
    await counter.work(drawn_on(old, now))
    assert (await counts(counter, now), await counts(counter, old)) == ((0, 0, 1), None)


async def test_an_answer_that_drew_on_nothing_counts_against_what_it_was_compared_with_and_nothing_else(counter: Bench) -> None:
    drawn, not_drawn, elsewhere = a_fact(agent_id=AGENT), a_fact(agent_id=AGENT), a_fact(agent_id=AGENT)
    await keep(counter, drawn, not_drawn, elsewhere)
    for _ in range(2):
        await counter.work(held_against(drawn, not_drawn, memories=drawn_on(drawn).memories))
    keys = [("fact", one.fact_id) for one in (drawn, not_drawn, elsewhere)]
    async with counter.kit.database.read([AGENT]) as db:
        assert (await usage.worth(db, AGENT, keys, NOON)).boosts == dict(zip(keys, (1.5, 0.5, 1.0), strict=True))


async def test_what_was_drawn_on_and_not_said_to_be_compared_is_counted_and_judged_by_nothing(counter: Bench) -> None:
    fact = a_fact(agent_id=AGENT)
    await keep(counter, fact)
    for _ in range(3):
        await counter.work(drawn_on(fact, compared=()))
    found = (await used(counter, ("fact", fact.fact_id)))["fact", fact.fact_id]
    assert (found.referenced, found.compared, found.boost(NOON)) == (3, 0, 1.0)


async def test_both_wordings_of_one_fact_compared_with_one_answer_are_compared_once(counter: Bench) -> None:
    whole = a_fact(agent_id=AGENT)
    part = a_fact(agent_id=AGENT, active=False, merged_into=whole.fact_id)
    await keep(counter, whole, part)
    await counter.work(held_against(whole, part, memories=drawn_on(part).memories))
    found = (await used(counter, ("fact", whole.fact_id)))["fact", whole.fact_id]
    assert (found.referenced, found.compared) == (1, 1)


async def test_an_answer_that_was_compared_with_nothing_is_skipped_with_a_reason(counter: Bench) -> None:
    await counter.work(drawn_on())
    assert [(one.outcome, one.reason) for one in await counter.receipts()] == [("skipped", "it names no memory")]
