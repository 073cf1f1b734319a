"""How something is done is what was stated last of it, in whatever order it arrives; what was found out is added."""

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from events import ProcedureLearned
from store.procedures import MOST_NOTES
from tests import factories
from tests.factories import NOON
from tests.workers.conftest import Bench
from tests.workers.kept import PROCEDURE, keep_procedure, procedure


@pytest.fixture
def recorder(bench: Callable[[str], Bench]) -> Bench:
    return bench("procedure_recorder")


def learned(hours: int = 0, **over: Any) -> ProcedureLearned:
    """Learned so long after noon."""
    fields = {"agent_id": "agent-1", "procedure_id": PROCEDURE, "occurred_at": NOON + timedelta(hours=hours)}
    return factories.a_procedure_learned(**(fields | over))


async def test_a_new_procedure_is_kept_with_its_line_for_recall(recorder: Bench) -> None:
    event = learned(goals=("ship", " "), core_patterns=("tag", "build", "push", "tell"), implementation_notes=("Not on Fridays.",))
    await recorder.work(event, event)
    kept = await procedure(recorder)
    assert (kept.name, kept.goals, kept.core_patterns) == ("Release", ("ship",), ("tag", "build", "push", "tell"))
    assert (kept.brief, kept.implementation_notes) == ("Release: tag; build; push", ("Not on Fridays.",))
    assert (kept.activation_count, kept.effectiveness, kept.learned_at, kept.recorded_by) == (0, None, NOON, event.event_id)
    assert await recorder.outcomes() == ["learned"]


async def test_a_newer_event_replaces_what_it_states_and_leaves_what_it_does_not(recorder: Bench) -> None:
    await recorder.work(
        learned(goals=("ship",), core_patterns=("tag", "push")), learned(1, name="Releasing", core_patterns=("tag", "wait"))
    )
    kept = await procedure(recorder)
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
    kept = await procedure(recorder)
    assert (kept.name, kept.goals, kept.core_patterns, kept.brief) == ("Four", ("b",), ("y", "z"), "Four: y; z")
    assert (kept.learned_at, kept.learned_by) == (NOON + timedelta(hours=3), "d")
    assert sorted(kept.implementation_notes) == ["Mind the gap.", "Never on Fridays."]


async def test_a_note_in_the_same_words_is_not_added_twice(recorder: Bench) -> None:
    await recorder.work(learned(implementation_notes=("Run the tests.", "run the tests", " ", "Run the tests twice.")))
    await recorder.work(learned(-1, implementation_notes=("Run  the tests", "Tag first.")))
    assert (await procedure(recorder)).implementation_notes == ("Run the tests.", "Run the tests twice.", "Tag first.")


async def test_what_says_nothing_new_is_known_and_what_says_nothing_is_skipped(recorder: Bench) -> None:
    await recorder.work(learned(core_patterns=("tag",)), learned(-1, name="Shipping", core_patterns=("push",)), learned(name=" "))
    assert await recorder.outcomes() == ["learned", "known", "skipped"]
    assert (await procedure(recorder)).name == "Release"


async def test_the_same_said_again_is_known_and_stands_as_said_then(recorder: Bench) -> None:
    said: dict[str, Any] = {"goals": ("ship",), "core_patterns": ("tag",), "implementation_notes": ("Not on Fridays.",)}
    await recorder.work(learned(**said), learned(2, event_id="again", **said), learned(1, name="Shipping"))
    assert await recorder.outcomes() == ["learned", "known", "known"]
    kept = await procedure(recorder)
    assert (kept.name, kept.learned_at, kept.learned_by, kept.goals_by) == ("Release", NOON + timedelta(hours=2), "again", "again")


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=lambda order: "".join(map(str, order)))
async def test_a_blank_name_takes_none_away_in_any_order(recorder: Bench, order: tuple[int, ...]) -> None:
    events = [learned(0, name="Old"), learned(1), learned(2, name=" ", implementation_notes=("Not on Fridays.",))]
    for at in order:
        await recorder.work(events[at])
    kept = await procedure(recorder)
    assert (kept.name, kept.learned_at, kept.brief) == ("Release", NOON + timedelta(hours=1), "Release")
    assert kept.implementation_notes == ("Not on Fridays.",)


async def test_of_too_many_notes_the_oldest_are_left_out_and_the_receipt_says_which(recorder: Bench) -> None:
    notes = [f"Note {number}." for number in range(MOST_NOTES + 2)]
    await keep_procedure(recorder, implementation_notes=tuple(notes[:MOST_NOTES]))
    await recorder.work(learned(1, implementation_notes=("Note 7.", *notes[MOST_NOTES:])))
    assert (await procedure(recorder)).implementation_notes == tuple(notes[2:])
    (receipt,) = await recorder.receipts()
    assert (receipt.outcome, receipt.evidence["notes_left_out"]) == ("updated", notes[:2])
    assert receipt.reason == f"the oldest 2 of {MOST_NOTES + 2} notes left out: a procedure keeps the {MOST_NOTES} that were heard last"


def test_producers_are_told_how_many_notes_stay() -> None:
    assert f"the {MOST_NOTES} heard last stay" in str(ProcedureLearned.model_fields["implementation_notes"].description)


async def test_learning_more_keeps_the_counts_and_their_share_in_the_line(recorder: Bench) -> None:
    await keep_procedure(recorder, activation_count=6, success_count=3, failure_count=1, last_activated=NOON)
    await recorder.work(learned(1, core_patterns=("tag", "push")))
    kept = await procedure(recorder)
    assert (kept.activation_count, kept.last_activated, kept.brief) == (6, NOON, "Release: tag; push [75% effective]")


async def test_two_agents_may_use_one_id(recorder: Bench) -> None:
    await recorder.work(learned(core_patterns=("tag",)), learned(1, agent_id="agent-2", name="Baking", core_patterns=("knead",)))
    assert (await procedure(recorder)).brief == "Release: tag"
    assert (await procedure(recorder, "agent-2")).brief == "Baking: knead"
