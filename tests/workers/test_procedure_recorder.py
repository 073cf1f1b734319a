"""How something is done is what was stated last of it, in whatever order it arrives; what was found out is added."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from events import ProcedureLearned
from store import procedures
from store.procedures import Procedure
from tests import factories
from tests.factories import NOON
from tests.workers.conftest import Bench

PROCEDURE = uuid.UUID(int=7)


@pytest.fixture
def recorder(bench: Callable[[str], Bench]) -> Bench:
    return bench("procedure_recorder")


def learned(hours: int = 0, **over: Any) -> ProcedureLearned:
    """Learned so long after noon."""
    fields = {"agent_id": "agent-1", "procedure_id": PROCEDURE, "occurred_at": NOON + timedelta(hours=hours)}
    return factories.a_procedure_learned(**(fields | over))


async def _procedure(bench: Bench, agent: str = "agent-1") -> Procedure:
    async with bench.kit.database.read([agent]) as db:
        found = await procedures.get(db, agent, PROCEDURE)
    assert found is not None
    return found


async def test_a_new_procedure_is_kept_with_its_line_for_recall(recorder: Bench) -> None:
    event = learned(goals=("ship", " "), core_patterns=("tag", "build", "push", "tell"), implementation_notes=("Not on Fridays.",))
    await recorder.work(event, event)
    kept = await _procedure(recorder)
    assert (kept.name, kept.goals, kept.core_patterns) == ("Release", ("ship",), ("tag", "build", "push", "tell"))
    assert (kept.brief, kept.implementation_notes) == ("Release: tag; build; push", ("Not on Fridays.",))
    assert (kept.activation_count, kept.effectiveness, kept.learned_at, kept.recorded_by) == (0, None, NOON, event.event_id)
    assert await recorder.outcomes() == ["learned"]


async def test_a_newer_event_replaces_what_it_states_and_leaves_what_it_does_not(recorder: Bench) -> None:
    await recorder.work(
        learned(goals=("ship",), core_patterns=("tag", "push")), learned(1, name="Releasing", core_patterns=("tag", "wait"))
    )
    kept = await _procedure(recorder)
    assert (kept.name, kept.goals, kept.core_patterns, kept.brief) == ("Releasing", ("ship",), ("tag", "wait"), "Releasing: tag; wait")
    _, updated = await recorder.receipts()
    assert (updated.outcome, updated.evidence["name_before"], updated.evidence["core_patterns_before"]) == (
        "updated",
        "Release",
        ["tag", "push"],
    )


EVENTS = [
    learned(1, event_id="a", name="One", goals=("a",), core_patterns=("x",), implementation_notes=("Mind the gap.",)),
    learned(2, event_id="b", name="Two", goals=("b",)),
    learned(3, event_id="c", name="Three", implementation_notes=("Never on Fridays.",)),
    learned(3, event_id="d", name="Four", core_patterns=("y", "z")),
]


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=lambda order: "".join(map(str, order)))
async def test_every_order_of_the_same_events_ends_in_the_same_procedure(recorder: Bench, order: tuple[int, ...]) -> None:
    for at in order:
        await recorder.work(EVENTS[at])
    kept = await _procedure(recorder)
    assert (kept.name, kept.goals, kept.core_patterns, kept.brief) == ("Four", ("b",), ("y", "z"), "Four: y; z")
    assert (kept.learned_at, kept.learned_by) == (NOON + timedelta(hours=3), "d")
    assert sorted(kept.implementation_notes) == ["Mind the gap.", "Never on Fridays."]


async def test_a_note_in_the_same_words_is_not_added_twice(recorder: Bench) -> None:
    await recorder.work(learned(implementation_notes=("Run the tests.", "run the tests", " ", "Run the tests twice.")))
    await recorder.work(learned(-1, implementation_notes=("Run  the tests", "Tag first.")))
    assert (await _procedure(recorder)).implementation_notes == ("Run the tests.", "Run the tests twice.", "Tag first.")


async def test_what_says_nothing_new_is_known_and_what_says_nothing_is_skipped(recorder: Bench) -> None:
    await recorder.work(learned(core_patterns=("tag",)), learned(-1, name="Shipping", core_patterns=("push",)), learned(name=" "))
    assert await recorder.outcomes() == ["learned", "known", "skipped"]
    assert (await _procedure(recorder)).name == "Release"


async def test_learning_more_keeps_the_counts_and_their_share_in_the_line(recorder: Bench) -> None:
    used = factories.a_procedure(
        agent_id="agent-1", procedure_id=PROCEDURE, activation_count=6, success_count=3, failure_count=1, last_activated=NOON
    )
    async with recorder.kit.database.write(["agent-1"]) as db:
        await procedures.put(db, used)
    await recorder.work(learned(1, core_patterns=("tag", "push")))
    kept = await _procedure(recorder)
    assert (kept.activation_count, kept.last_activated, kept.brief) == (6, NOON, "Release: tag; push [75% effective]")


async def test_two_agents_may_use_one_id(recorder: Bench) -> None:
    await recorder.work(learned(core_patterns=("tag",)), learned(1, agent_id="agent-2", name="Baking", core_patterns=("knead",)))
    assert (await _procedure(recorder)).brief == "Release: tag"
    assert (await _procedure(recorder, "agent-2")).brief == "Baking: knead"
