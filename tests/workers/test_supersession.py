"""The supersession checker and its rechecker, on real rows: what is the same is merged, what has ended is retired, nothing else."""

import itertools
import time
from datetime import datetime, timedelta
from typing import Any

import pytest

from events import FactLearned, encode
from nous.settings import Settings
from providers.mind import MindAway, NoAnswer
from store import retries
from tests.factories import a_fact_learned
from tests.workers.conftest import Memory, ScriptedMind
from workers.runtime import record
from workers.runtime.alone import Alone
from workers.runtime.worker import Kit

DAY = datetime.fromisoformat("2026-03-01T00:00:00+00:00")
AGENT = "agent-1"


def learned(content: str, hour: float, **over: Any) -> FactLearned:
    fields: dict[str, Any] = {
        "agent_id": AGENT,
        "subject": "Maria",
        "provenance": "user_stated",
        "occurred_at": DAY + timedelta(hours=hour),
    }
    return a_fact_learned(content=content, **fields | over)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No heartbeats: these pages are worked by hand and are of no group."""
    return settings.model_copy(update={"claim_after_s": 600.0})


OSLO, BERGEN, ROME = "Maria lives in Oslo.", "Maria lives in Bergen.", "Maria lives in Rome."


# ── the spec's list (002, test_fact_supersede) ────────────────────────────────────────────────────────────────────────────


async def test_same_subject_and_contradicting_content_supersedes_the_old(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1))
    await memory.learn(learned(BERGEN, 2))
    assert await memory.told() == [f"{BERGEN} 02-now", f"{OSLO} 01-02 by {BERGEN}"]
    assert await memory.outcomes() == ["kept", "superseded"]
    [superseded] = await memory.benches["deduplicator"].published("fact_superseded")
    old, new = sorted(await memory.facts(), key=lambda fact: fact.valid_from)
    assert (superseded["fact_id"], superseded["superseded_by"]) == (str(old.fact_id), str(new.fact_id))


async def test_same_subject_and_compatible_content_changes_nothing(memory: Memory, mind: ScriptedMind) -> None:
    await memory.learn(learned(OSLO, 1), learned("Maria likes tea.", 2))
    assert await memory.told() == ["Maria likes tea. 02-now", f"{OSLO} 01-now"]
    assert await memory.outcomes() == ["kept", "kept"]
    assert mind.asked == [(OSLO, "Maria likes tea.")]


async def test_a_different_subject_is_left_alone(memory: Memory, mind: ScriptedMind) -> None:
    await memory.learn(learned(OSLO, 1), learned("Ken lives in Bergen.", 2, subject="Ken"))
    assert await memory.told() == ["Ken lives in Bergen. 02-now", f"{OSLO} 01-now"]


async def test_a_new_fact_without_a_subject_is_compared_with_the_nearest_by_content(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1, subject=None))
    await memory.learn(learned(BERGEN, 2, subject=None))
    assert await memory.told() == [f"{BERGEN} 02-now", f"{OSLO} 01-02 by {BERGEN}"]


# ── time decides, not arrival ─────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_late_older_fact_never_retires_a_newer_one(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(BERGEN, 2))
    await memory.learn(learned(OSLO, 1))
    assert await memory.told() == [f"{BERGEN} 02-now", f"{OSLO} 01-02 by {BERGEN}"]
    assert await memory.outcomes() == ["kept", "retired"]


async def test_what_is_claimed_again_after_it_was_retired_is_true_again(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(OSLO, 3), one_by_one=True)
    assert await memory.told() == [f"{BERGEN} 02-03 by {OSLO}", f"{OSLO} 01-02 by {BERGEN}", f"{OSLO} 03-now"]
    assert len(mind.asked) == 1, "what is known of two texts is not asked again"


async def test_a_claim_that_arrives_between_two_of_the_same_parts_them(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(OSLO, 3), learned(BERGEN, 2), one_by_one=True)
    assert await memory.told() == [f"{BERGEN} 02-03 by {OSLO}", f"{OSLO} 01-02 by {BERGEN}", f"{OSLO} 03-now"]


FIVE = [(OSLO, 1), (BERGEN, 2), (OSLO, 3), (ROME, 4), ("Rome is where Maria lives.", 5)]
ENDED = [
    f"{BERGEN} 02-03 by {OSLO}",
    f"{OSLO} 01-02 by {BERGEN}",
    f"{OSLO} 03-04 by {ROME}",
    f"{ROME} 04-now",
]


def _city_mind(mind: ScriptedMind) -> None:
    texts = list(dict.fromkeys(text for text, _ in FIVE))
    for one, other in itertools.combinations(texts, 2):
        is_same = "Rome" in one and "Rome" in other
        mind.says(one, "same" if is_same else "updates", other)


@pytest.mark.parametrize("is_twice", [False, True], ids=["once", "one of them twice"])
@pytest.mark.parametrize("is_together", [False, True], ids=["one after another", "together"])
async def test_every_order_of_five_claims_ends_in_the_same_state(
    memory: Memory, mind: ScriptedMind, is_twice: bool, is_together: bool
) -> None:
    """Every order is brought to an agent of its own, all agents at once."""
    _city_mind(mind)
    orders = list(itertools.permutations(FIVE))
    brought = []
    for number, order in enumerate(orders):
        events = [learned(text, hour, agent_id=f"agent-{number}") for text, hour in order]
        if is_twice:
            events.insert((number // 5) % 6, events[number % 5])
        brought.append(events)
    if is_together:
        await memory.learn(*(event for events in brought for event in events))
    else:
        for events in zip(*brought, strict=True):
            await memory.learn(*events)
    states = {order: await memory.told(f"agent-{number}") for number, order in enumerate(orders)}
    assert {order: state for order, state in states.items() if state != ENDED} == {}


async def test_any_number_of_contradictions_ends_with_the_newest_alone(memory: Memory, mind: ScriptedMind) -> None:
    texts = [f"Maria's desk is number {number}." for number in range(40)]
    for one, other in itertools.combinations(texts, 2):
        mind.says(one, "contradicts", other)
    await memory.learn(*(learned(text, hour / 10) for hour, text in enumerate(texts)))
    assert [fact.content for fact in await memory.facts() if fact.active] == [texts[-1]]
    assert all(fact.superseded_by for fact in await memory.facts() if not fact.active)


# ── one fact in two wordings ──────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_twin_is_merged_into_the_older_and_a_third_mention_lands_there(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "same", "Oslo is where Maria lives.")
    await memory.learn(learned(OSLO, 1), learned("Oslo is where Maria lives.", 2), one_by_one=True)
    assert await memory.outcomes() == ["kept", "merged"]
    await memory.learn(learned("Oslo is where Maria lives.", 3))
    assert await memory.told() == [f"{OSLO} 01-now"]
    [fact] = [fact for fact in await memory.facts() if fact.active]
    assert (fact.confirmation_count, fact.claimed_at) == (2, DAY + timedelta(hours=3))


async def test_the_mind_s_same_never_overrides_another_number(memory: Memory, mind: ScriptedMind) -> None:
    mind.says("Maria's port is 5432.", "same", "Maria's port is 5433.")
    await memory.learn(learned("Maria's port is 5432.", 1), learned("Maria's port is 5433.", 2))
    assert await memory.told() == ["Maria's port is 5432. 01-now", "Maria's port is 5433. 02-now"]


async def test_attributes_of_many_values_are_never_updated(memory: Memory, mind: ScriptedMind) -> None:
    mind.says("Maria speaks Dutch.", "updates", "Maria speaks Thai.")
    await memory.learn(learned("Maria speaks Dutch.", 1, attribute="languages"), learned("Maria speaks Thai.", 2, attribute="languages"))
    assert await memory.told() == ["Maria speaks Dutch. 01-now", "Maria speaks Thai. 02-now"]


async def test_an_assistant_never_retires_what_the_user_stated(memory: Memory, mind: ScriptedMind) -> None:
    mind.says(OSLO, "contradicts", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2, provenance="assistant_derived"), one_by_one=True)
    assert await memory.told() == [f"{BERGEN} 02-now disputes {OSLO}", f"{OSLO} 01-now"]
    assert await memory.outcomes() == ["kept", "disputed"]


# ── a mind that is away, wrong or unsure only delays ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("broken", [MindAway("529", 40, 4), NoAnswer("prose", 40, 4)], ids=["away", "nonsense"])
async def test_without_an_answer_a_fact_waits_stored_and_is_settled_later(
    memory: Memory, mind: ScriptedMind, kit: Kit, broken: Exception
) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1))
    mind.broken = broken
    await memory.learn(learned(BERGEN, 2))
    assert [fact.active for fact in await memory.facts()] == [True, True]
    async with kit.database.overview() as db:
        waiting = await retries.waiting(db)
    assert waiting["supersession_checker"].count == 1
    assert str(broken) in waiting["supersession_checker"].reason
    mind.broken = None
    async with kit.database.queue() as db:
        [waited] = await retries.take_together(db, "supersession_checker", now=datetime.max.replace(tzinfo=DAY.tzinfo), lease=DAY, limit=9)
    await memory.benches["supersession_checker"].life.work([_entry(waited)])
    assert await memory.told() == [f"{BERGEN} 02-now", f"{OSLO} 01-02 by {BERGEN}"]
    async with kit.database.overview() as db:
        assert await retries.waiting(db) == {}


# ── the deduplicator meanwhile ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("meanwhile", ["superseded", "merged"])
async def test_a_claim_of_a_fact_that_was_merged_or_retired_between_thought_and_writing_counts_for_what_stands(
    memory: Memory, mind: ScriptedMind, kit: Kit, meanwhile: str
) -> None:
    twin = "Oslo is where Maria lives."
    mind.says(OSLO, "same", twin)
    mind.says(OSLO, "updates", BERGEN)
    mind.says(twin, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1) if meanwhile == "superseded" else learned(twin, 1))
    life = memory.benches["deduplicator"].life
    claim = learned(OSLO if meanwhile == "superseded" else twin, 5)
    delivery = record.Delivery(claim, "1893456000000-999999", encode(claim))
    thought = await life.think([delivery])
    assert thought[0][1].vector is None, "its words stand for a fact that is true"
    await memory.learn(learned(BERGEN, 3) if meanwhile == "superseded" else learned(OSLO, 0.5))
    await life.announced(await life.write(thought, since=time.monotonic()))
    while await Alone(life).work_one():
        pass
    await memory.settle()
    if meanwhile == "superseded":
        assert await memory.told() == [f"{BERGEN} 03-05 by {OSLO}", f"{OSLO} 01-03 by {BERGEN}", f"{OSLO} 05-now"]
    else:
        [standing] = [fact for fact in await memory.facts() if fact.active]
        assert (standing.content, standing.confirmation_count, standing.claimed_at) == (OSLO, 2, DAY + timedelta(hours=5))
    assert await memory.outcomes("deduplicator") in (["stored", "stored", "stored"], ["stored", "stored", "confirmed"])


def _entry(waited: retries.Retry) -> Any:
    from workers.runtime.streams import Entry

    return Entry(waited.entry_id, {b"data": waited.body})


async def test_unsure_is_an_answer_both_stay_and_nobody_waits(memory: Memory, mind: ScriptedMind, kit: Kit) -> None:
    mind.says(OSLO, "unsure", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), one_by_one=True)
    assert await memory.outcomes() == ["kept", "unsure"]
    assert len(await memory.told()) == 2


async def test_the_same_question_is_never_asked_twice(memory: Memory, mind: ScriptedMind) -> None:
    await memory.learn(learned(OSLO, 1), learned("Maria likes tea.", 2), learned("Maria likes cake.", 3))
    assert len(mind.asked) == len(set(map(frozenset, mind.asked))) == 3
    assert mind.questions == 1, "several new facts of an agent are asked about at once"
