"""What a person decides of two facts that stand beside each other: that they are one, or that one ended the other, and how it is undone."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from events import (
    Event,
    FactJoined,
    FactMerged,
    FactRestored,
    FactRetired,
    FactSplit,
    FactSuperseded,
    FactUnsettled,
)
from nous import clock, people
from nous.errors import UserMistake
from nous.settings import Settings
from store import facts
from store.facts import Fact
from tests.workers.claims import BERGEN, DAY, OSLO, ROME, THIRD, TWIN, Deciding, learned
from tests.workers.conftest import Memory, ScriptedMind
from workers.runtime.worker import Kit

_decided = itertools.count(1)


class Person(Deciding):
    """Decides, and lets the workers do what follows."""

    async def of(self, content: str) -> UUID:
        return (await self.row(content)).fact_id

    async def merge(self, one: str, other: str) -> Sequence[Event]:
        return await self.decide(FactJoined, fact_id=await self.of(one), joined_with=await self.of(other))

    async def retire(self, one: str, *, by: str) -> Sequence[Event]:
        return await self.decide(FactRetired, fact_id=await self.of(one), retired_by=await self.of(by))

    async def split(self, one: str, *, apart_from: str) -> Sequence[Event]:
        return await self.decide(FactSplit, fact_id=await self.of(one), apart_from=await self.of(apart_from))

    async def restore(self, one: str, *, beside: str) -> Sequence[Event]:
        return await self.decide(FactRestored, fact_id=await self.of(one), beside=await self.of(beside))

    async def decide(self, kind: type[Event], **fields: Any) -> Sequence[Event]:
        decided = await self.apply(told(kind, **fields))
        again = [one for one in decided.follows if isinstance(one, FactUnsettled)]
        if again:
            await self.memory.benches["supersession_rechecker"].work(*again)
        await self.memory.settle()
        return decided.follows

    async def apply(self, event: Event) -> people.Decided:
        async with self.kit.database.write(["agent-1"]) as db:
            return await people.decide(db, event, table=self.kit.registered.table)

    async def keep(self, content: str, **over: Any) -> None:
        """As upkeep, or a person, left it."""
        row = await self.row(content)
        async with self.kit.database.write(["agent-1"]) as db:
            await facts.keep(db, [replace(row, **over)])

    async def recheck_everything(self) -> None:
        for fact in await self.memory.facts():
            event = told(FactUnsettled, fact_id=fact.fact_id, why="freed")
            await self.memory.benches["supersession_rechecker"].work(event)
            await self.memory.settle()


def told(kind: type[Event], **fields: Any) -> Any:
    about = {"event_id": f"decided-{next(_decided)}", "agent_id": "agent-1", "occurred_at": clock.now(), "reason": "I know it"}
    return kind.model_validate({**about, **fields})


def standing(rows: Sequence[Fact]) -> list[dict[str, Any]]:
    """All of these facts but when they were written down, and by what."""
    return [{name: value for name, value in vars(row).items() if name not in ("recorded_at", "recorded_by")} for row in rows]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No heartbeats: these pages are worked by hand and are of no group."""
    return settings.model_copy(update={"claim_after_s": 600.0})


@pytest.fixture
def person(memory: Memory, kit: Kit) -> Person:
    return Person(memory, kit)


ONE = [f"{OSLO} 01-now"]
TWO = [f"{OSLO} 01-now", f"{TWIN} 02-now"]
BOTH = [f"{BERGEN} 02-now", f"{OSLO} 01-now"]
MOVED = [f"{BERGEN} 02-now", f"{OSLO} 01-02 by {BERGEN}"]


# ── merge ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def twins(memory: Memory, person: Person) -> Person:
    """Two facts that no mind was sure about."""
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2))
    assert await memory.told() == TWO
    return person


@pytest.mark.parametrize(("one", "other"), [(OSLO, TWIN), (TWIN, OSLO)], ids=["the older first", "the younger first"])
async def test_of_two_that_a_person_merged_the_older_stays_with_what_was_heard_of_both(
    memory: Memory, twins: Person, one: str, other: str
) -> None:
    follows = await twins.merge(one, other)
    assert await memory.told() == ONE
    kept, part = await twins.row(OSLO), await twins.row(TWIN)
    assert (kept.confirmation_count, part.merged_into) == (1, kept.fact_id)
    [merged] = [event for event in follows if isinstance(event, FactMerged)]
    assert (merged.fact_id, merged.merged_into) == (part.fact_id, kept.fact_id)


@pytest.mark.parametrize("said", [OSLO, TWIN, "Maria lives in  OSLO"])
async def test_no_later_mention_and_no_check_undoes_a_merge(memory: Memory, twins: Person, mind: ScriptedMind, said: str) -> None:
    mind.says(OSLO, "compatible", TWIN)
    await twins.merge(TWIN, OSLO)
    await memory.learn(learned(said, 3))
    await twins.recheck_everything()
    assert await memory.told() == ONE
    assert (await twins.row(OSLO)).confirmation_count == 2


async def test_splitting_what_was_merged_leaves_everything_as_it_was(memory: Memory, twins: Person) -> None:
    before = await memory.facts()
    await twins.merge(TWIN, OSLO)
    await twins.split(TWIN, apart_from=OSLO)
    assert standing(await memory.facts()) == standing(before)


async def test_a_person_may_change_their_mind_as_often_as_they_like_and_the_latest_holds(memory: Memory, twins: Person) -> None:
    for _ in range(2):
        await twins.merge(TWIN, OSLO)
        assert await memory.told() == ONE
        await twins.split(TWIN, apart_from=OSLO)
        assert await memory.told() == TWO
    await twins.recheck_everything()
    assert await memory.told() == TWO


async def test_what_was_split_from_several_wordings_is_merged_with_all_of_them_again(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    for one, other in itertools.combinations((OSLO, TWIN, THIRD), 2):
        mind.says(one, "same", other)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(THIRD, 3))
    await person.split(TWIN, apart_from=OSLO)
    assert await memory.told() == TWO
    await person.merge(TWIN, OSLO)
    assert await memory.told() == ONE
    assert {(await person.row(part)).merged_into for part in (TWIN, THIRD)} == {await person.of(OSLO)}


async def test_two_facts_of_several_wordings_are_merged_whatever_a_mind_said_of_some_and_are_split_as_they_were(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    home = "Home to Maria is Oslo."
    mind.says(OSLO, "same", TWIN)
    mind.says(THIRD, "same", home)
    for one, other in itertools.product((OSLO, TWIN), (THIRD, home)):
        mind.says(one, "compatible", other)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(THIRD, 3), learned(home, 4))
    before = await memory.facts()
    apart = await memory.told()
    assert apart == [f"{OSLO} 01-now", f"{THIRD} 03-now"]
    await person.merge(OSLO, THIRD)
    assert await memory.told() == ONE
    await person.split(THIRD, apart_from=OSLO)
    assert standing(await memory.facts()) == standing(before)
    await person.recheck_everything()
    assert await memory.told() == apart


async def test_what_was_merged_one_after_another_is_split_one_by_one(memory: Memory, person: Person) -> None:
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(THIRD, 3))
    await person.merge(TWIN, THIRD)
    apart = await memory.told()
    await person.merge(TWIN, OSLO)
    assert await memory.told() == ONE
    await person.split(TWIN, apart_from=OSLO)
    assert await memory.told() == apart == [f"{OSLO} 01-now", f"{TWIN} 02-now"]
    assert (await person.row(THIRD)).merged_into == await person.of(TWIN)


async def test_two_that_are_retired_by_the_same_are_one_that_is_retired(memory: Memory, person: Person, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    mind.says(TWIN, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(BERGEN, 3))
    await person.merge(TWIN, OSLO)
    assert await memory.told() == [f"{BERGEN} 03-now", f"{OSLO} 01-03 by {BERGEN}"]


async def test_of_two_of_which_a_mind_let_one_retire_the_other_a_merge_makes_one_that_is_true(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    mind.says(OSLO, "updates", TWIN)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2))
    assert await memory.told() == [f"{OSLO} 01-02 by {TWIN}", f"{TWIN} 02-now"]
    await person.merge(OSLO, TWIN)
    assert await memory.told() == ONE
    await person.split(TWIN, apart_from=OSLO)
    assert await memory.told() == TWO, "a split says that both are true"


async def test_what_was_untrue_in_between_is_not_one_statement_and_the_way_out_is_told(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(TWIN, 3))
    before = await memory.facts()
    restoring = f"if both are true, first: nous fact restore {await person.of(OSLO)}"
    with pytest.raises(UserMistake, match=f"{await person.of(BERGEN)} 'Maria lives in Bergen.' was claimed after the one .*{restoring}"):
        await person.merge(OSLO, TWIN)
    assert await memory.facts() == before
    await person.restore(OSLO, beside=BERGEN)
    await person.merge(OSLO, TWIN)
    assert await memory.told() == BOTH


async def test_a_merge_never_retires_what_stands_between_the_two(memory: Memory, person: Person, mind: ScriptedMind) -> None:
    mind.says(BERGEN, "updates", TWIN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(TWIN, 3))
    with pytest.raises(UserMistake, match=f"first: nous fact restore {await person.of(BERGEN)}"):
        await person.merge(OSLO, TWIN)
    await person.restore(BERGEN, beside=TWIN)
    await person.merge(OSLO, TWIN)
    assert await memory.told() == BOTH


async def test_the_same_words_at_two_times_are_not_merged_and_the_way_out_is_told(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(OSLO, 3), one_by_one=True)
    first, again = await person.row(OSLO, at=1), await person.row(OSLO, at=3)
    with pytest.raises(UserMistake, match=f"said at two times .* true all along: nous fact restore {first.fact_id}"):
        await person.decide(FactJoined, fact_id=again.fact_id, joined_with=first.fact_id)


async def test_what_upkeep_did_is_over_where_the_other_was_let_be_and_a_pin_is_kept(memory: Memory, twins: Person) -> None:
    await twins.keep(OSLO, active=False, archived_at=DAY + timedelta(days=9))
    await twins.keep(TWIN, pinned_at=DAY + timedelta(days=9))
    await twins.merge(OSLO, TWIN)
    kept, part = await twins.row(OSLO), await twins.row(TWIN)
    assert (kept.active, kept.archived_at, kept.reinstated_at) == (True, None, part.created_at)
    assert (part.merged_into, part.pinned_at) == (kept.fact_id, DAY + timedelta(days=9))
    await twins.split(TWIN, apart_from=OSLO)
    assert await memory.told() == TWO
    assert [(await twins.row(one)).pinned_at for one in (OSLO, TWIN)] == [None, DAY + timedelta(days=9)]


async def test_of_two_that_upkeep_archived_one_archived_fact_is_made(memory: Memory, twins: Person) -> None:
    at = DAY + timedelta(days=9)
    for one in (OSLO, TWIN):
        await twins.keep(one, active=False, archived_at=at)
    await twins.merge(OSLO, TWIN)
    assert [((await twins.row(one)).active, (await twins.row(one)).archived_at) for one in (OSLO, TWIN)] == [(False, at), (False, None)]
    await twins.split(TWIN, apart_from=OSLO)
    assert [(await twins.row(one)).active for one in (OSLO, TWIN)] == [False, True], "a part is kept up with its whole, and then by itself"


async def test_of_two_that_are_demoted_and_not_the_whole_counts_in_full(memory: Memory, twins: Person) -> None:
    await twins.keep(OSLO, demoted_at=DAY, demoted_to=0.5)
    await twins.merge(OSLO, TWIN)
    assert (await twins.row(OSLO)).demoted_to is None


# ── retire ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def homes(memory: Memory, person: Person) -> Person:
    """Two facts that contradict each other, and nobody noticed."""
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2))
    assert await memory.told() == BOTH
    return person


async def test_what_a_person_retired_was_true_until_the_other_was_claimed(memory: Memory, homes: Person) -> None:
    follows = await homes.retire(OSLO, by=BERGEN)
    assert await memory.told() == MOVED
    oslo, bergen = await homes.row(OSLO), await homes.row(BERGEN)
    [superseded] = [event for event in follows if isinstance(event, FactSuperseded)]
    assert (superseded.fact_id, superseded.superseded_by, superseded.valid_to) == (oslo.fact_id, bergen.fact_id, bergen.valid_from)


async def test_no_check_and_no_mention_of_the_other_undoes_it_and_a_later_claim_of_it_holds_again(
    memory: Memory, homes: Person, mind: ScriptedMind
) -> None:
    mind.says(OSLO, "compatible", BERGEN)
    await homes.retire(OSLO, by=BERGEN)
    await homes.recheck_everything()
    await memory.learn(learned(BERGEN, 3), one_by_one=True)
    assert await memory.told() == MOVED
    await memory.learn(learned(OSLO, 4), one_by_one=True)
    assert await memory.told() == [f"{BERGEN} 02-04 by {OSLO}", f"{OSLO} 01-02 by {BERGEN}", f"{OSLO} 04-now"]


async def test_restoring_what_was_retired_leaves_everything_as_it_was(memory: Memory, homes: Person) -> None:
    before = await memory.facts()
    await homes.retire(OSLO, by=BERGEN)
    await homes.restore(OSLO, beside=BERGEN)
    assert standing(await memory.facts()) == standing(before)
    await homes.retire(OSLO, by=BERGEN)
    assert await memory.told() == MOVED, "the latest that a person says holds"


async def test_what_was_split_from_several_wordings_can_be_retired_for_the_latest_of_them_and_restored(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    for one, other in itertools.combinations((OSLO, TWIN, THIRD), 2):
        mind.says(one, "same", other)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(THIRD, 3))
    await person.split(TWIN, apart_from=OSLO)
    before = await memory.facts()
    await person.retire(TWIN, by=OSLO)
    assert await memory.told() == [f"{OSLO} 01-02 by {TWIN}", f"{THIRD} 03-now", f"{TWIN} 02-03 by {THIRD}"]
    await person.restore(TWIN, beside=THIRD)
    assert standing(await memory.facts()) == standing(before)


async def test_what_was_claimed_before_ends_nothing_until_it_is_said_again(memory: Memory, homes: Person) -> None:
    before = await memory.facts()
    with pytest.raises(UserMistake, match=r"a later claim ends an earlier one, never the other way round; .* say it again"):
        await homes.retire(BERGEN, by=OSLO)
    assert await memory.facts() == before
    await memory.learn(learned(OSLO, 3))
    await homes.retire(BERGEN, by=OSLO)
    assert [line for line in await memory.told() if "now" in line] == [f"{OSLO} 03-now"]
    assert f"{BERGEN} 02-03 by {OSLO}" in await memory.told()


async def test_an_assistant_s_claim_ends_nothing_a_user_stated_until_the_user_says_so(memory: Memory, person: Person) -> None:
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2, provenance="assistant_derived"))
    with pytest.raises(UserMistake, match=r"only an assistant's claim, .* provenance=user_stated"):
        await person.retire(OSLO, by=BERGEN)
    assert await memory.told() == BOTH
    await memory.learn(learned(BERGEN, 3))
    await person.retire(OSLO, by=BERGEN)
    assert await memory.told() == [f"{BERGEN} 02-now", f"{OSLO} 01-03 by {BERGEN}"]


async def test_a_fact_may_be_retired_for_one_that_is_retired_itself_and_no_ring_comes_of_it(
    memory: Memory, person: Person, mind: ScriptedMind
) -> None:
    mind.says(BERGEN, "updates", ROME)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(ROME, 3))
    await person.retire(OSLO, by=BERGEN)
    row = [f"{BERGEN} 02-03 by {ROME}", f"{OSLO} 01-02 by {BERGEN}", f"{ROME} 03-now"]
    assert await memory.told() == row
    for by in (OSLO, BERGEN):
        with pytest.raises(UserMistake, match="was last claimed before"):
            await person.retire(ROME, by=by)
    with pytest.raises(UserMistake, match="is retired already, by"):
        await person.retire(OSLO, by=ROME)
    assert await memory.told() == row


async def test_what_upkeep_archived_or_a_person_pinned_can_be_retired(memory: Memory, homes: Person) -> None:
    await homes.keep(OSLO, active=False, archived_at=DAY + timedelta(days=9), pinned_at=DAY)
    await homes.retire(OSLO, by=BERGEN)
    oslo = await homes.row(OSLO)
    assert (oslo.superseded_by, oslo.archived_at, oslo.pinned_at) == (await homes.of(BERGEN), None, DAY)
    await homes.restore(OSLO, beside=BERGEN)
    assert await memory.told() == BOTH


# ── neither ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_fact_and_itself_or_a_part_of_it_are_one_already(memory: Memory, twins: Person) -> None:
    await twins.merge(OSLO, TWIN)
    for decide in (twins.merge, lambda one, other: twins.retire(one, by=other)):
        with pytest.raises(UserMistake, match="are one fact already"):
            await decide(OSLO, OSLO)
        for one, other in ((OSLO, TWIN), (TWIN, OSLO)):
            with pytest.raises(UserMistake, match=f"one fact already; nous fact split {await twins.of(TWIN)}"):
                await decide(one, other)
    await memory.learn(learned(BERGEN, 3))
    for decide in (twins.merge, lambda one, other: twins.retire(one, by=other)):
        with pytest.raises(UserMistake, match=f"is part of {await twins.of(OSLO)}; name that one"):
            await decide(TWIN, BERGEN)


@pytest.mark.parametrize("kind", [FactJoined, FactRetired])
async def test_a_fact_that_is_not_there_is_not_decided_about(memory: Memory, twins: Person, kind: type[Event]) -> None:
    other = "joined_with" if kind is FactJoined else "retired_by"
    with pytest.raises(UserMistake, match=r"has no fact .*; nous facts --all"):
        await twins.decide(kind, **{"fact_id": await twins.of(OSLO), other: UUID(int=1)})


@pytest.mark.parametrize("kind", [FactJoined, FactRetired])
async def test_of_two_who_decide_the_same_at_once_one_does_and_the_other_is_told(memory: Memory, twins: Person, kind: type[Event]) -> None:
    other = "joined_with" if kind is FactJoined else "retired_by"
    fields = {"fact_id": await twins.of(OSLO), other: await twins.of(TWIN)}
    done = await asyncio.gather(*(twins.apply(told(kind, **fields)) for _ in range(2)), return_exceptions=True)
    assert sorted(type(one).__name__ for one in done) == ["Decided", "UserMistake"]
    expected = ONE if kind is FactJoined else [f"{OSLO} 01-02 by {TWIN}", f"{TWIN} 02-now"]
    assert await memory.told() == expected


@pytest.mark.parametrize("kind", [FactJoined, FactRetired])
async def test_what_stands_before_and_after_is_told_with_the_reason(memory: Memory, twins: Person, kind: type[Event]) -> None:
    other = "joined_with" if kind is FactJoined else "retired_by"
    decided = await twins.apply(
        told(
            kind,
            **{
                "fact_id": await twins.of(TWIN if kind is FactJoined else OSLO),
                other: await twins.of(OSLO if kind is FactJoined else TWIN),
            },
        )
    )
    before, after = decided.evidence["before"], decided.evidence["after"]
    assert (before["active"], after["active"]) == (True, False)  # type: ignore[index]
    assert decided.outcome == ("merged" if kind is FactJoined else "retired")
