"""Each use of a procedure counts once, with how it went."""

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from events import ProcedureUsed
from store.procedures import MOST_NOTES
from tests import factories
from tests.factories import NOON
from tests.workers.conftest import Bench
from tests.workers.kept import PROCEDURE, keep_procedure, procedure


@pytest.fixture
def counter(bench: Callable[[str], Bench]) -> Bench:
    return bench("procedure_counter")


def used(hours: int = 0, **over: Any) -> ProcedureUsed:
    """Used so long after noon."""
    fields = {"agent_id": "agent-1", "procedure_id": PROCEDURE, "occurred_at": NOON + timedelta(hours=hours)}
    return factories.a_procedure_used(**(fields | over))


async def test_a_use_is_counted_once_however_often_it_is_delivered(counter: Bench) -> None:
    await keep_procedure(counter)
    events = [used(worked=True), used(worked=False), used()]
    await counter.work(*events, *events)
    await counter.work(*events)
    kept = await procedure(counter)
    assert (kept.activation_count, kept.success_count, kept.failure_count) == (3, 1, 1)
    assert kept.effectiveness == 0.5
    assert await counter.outcomes() == ["worked", "failed", "used"]


async def test_from_the_fifth_use_on_its_line_says_how_often_it_worked(counter: Bench) -> None:
    await keep_procedure(counter)
    for worked in (True, True, True, False):
        await counter.work(used(worked=worked))
    assert (await procedure(counter)).brief == "Release: tag; push"
    await counter.work(used())
    assert (await procedure(counter)).brief == "Release: tag; push [75% effective]"


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_every_order_of_the_same_uses_ends_in_the_same_counts(counter: Bench, order: tuple[int, ...]) -> None:
    await keep_procedure(counter)
    events = [used(2, worked=True, note="Tag first."), used(1, worked=False), used(3, note="tag first")]
    for at in order:
        await counter.work(events[at])
    kept = await procedure(counter)
    assert (kept.activation_count, kept.success_count, kept.failure_count) == (3, 1, 1)
    assert kept.last_activated == NOON + timedelta(hours=3)
    assert len(kept.implementation_notes) == 1


async def test_a_note_is_added_to_those_that_are_known_unless_it_is_blank(counter: Bench) -> None:
    await keep_procedure(counter, implementation_notes=("Tag first.",))
    await counter.work(used(note="Not on Fridays."), used(note=" "), used(note="TAG FIRST"))
    assert (await procedure(counter)).implementation_notes == ("Tag first.", "Not on Fridays.")


async def test_a_note_too_many_leaves_the_oldest_out_and_the_receipt_says_so(counter: Bench) -> None:
    notes = tuple(f"Note {number}." for number in range(MOST_NOTES))
    await keep_procedure(counter, implementation_notes=notes)
    await counter.work(used(note="Note 3."), used(note="One more."))
    assert (await procedure(counter)).implementation_notes == (*notes[1:], "One more.")
    full, over = await counter.receipts()
    assert (full.reason, "notes_left_out" in full.evidence) == (None, False)
    assert over.evidence["notes_left_out"] == ["Note 0."]
    assert over.reason == f"the oldest 1 of {MOST_NOTES + 1} notes left out: a procedure keeps the {MOST_NOTES} that were heard last"


async def test_a_use_that_overtook_what_it_used_is_counted_once_it_is_there(counter: Bench) -> None:
    await counter.work(used(worked=True))
    await keep_procedure(counter)
    await counter.work_what_waits()
    assert (await procedure(counter)).success_count == 1


async def test_a_use_of_what_was_never_learned_or_is_another_agents_is_parked_saying_what_to_do(counter: Bench) -> None:
    await keep_procedure(counter, agent_id="agent-2")
    await counter.work(used(worked=True))
    await counter.work_what_waits()
    (parked,) = await counter.receipts()
    assert parked.ending == "parked"
    assert (parked.reason or "").startswith(f"agent 'agent-1' has no procedure {PROCEDURE}; teach it")
    assert (await procedure(counter, "agent-2")).activation_count == 0
