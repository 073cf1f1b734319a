"""What a person decides of two facts holds against every mind and every later mention; and what was known when can be asked for ever."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from events import Event, FactRestored, FactSplit, FactUnsettled
from nous import clock
from nous.errors import UserMistake
from nous.settings import Settings
from nous.text import content_hash
from store import mentions, versions
from store.facts import Fact
from tests.factories import a_vector
from tests.workers.claims import BERGEN, DAY, OSLO, ROME, THIRD, TWIN, Deciding, learned
from tests.workers.conftest import Memory, ScriptedEmbedder, ScriptedMind
from workers.runtime.worker import Kit
from workers.standing import decisions

_decided = itertools.count(1)


class Person(Deciding):
    """Decides, and lets the workers do what follows."""

    async def restore(self, fact: Fact, *, beside: Fact) -> Sequence[Event]:
        told = FactRestored.model_validate(_told() | {"fact_id": fact.fact_id, "beside": beside.fact_id})
        async with self.kit.database.write(["agent-1"]) as db:
            _, follows = await decisions.restore(db, self.kit.registered.table, told)
        return await self._follow(follows)

    async def split(self, fact_id: UUID, *, apart_from: Fact, vector: Any = None) -> Sequence[Event]:
        told = FactSplit.model_validate(_told() | {"fact_id": fact_id, "apart_from": apart_from.fact_id})
        async with self.kit.database.write(["agent-1"]) as db:
            _, follows = await decisions.split(db, self.kit.registered.table, told, vector=vector)
        return await self._follow(follows)

    async def _follow(self, follows: Sequence[Event]) -> Sequence[Event]:
        await self.memory.benches["supersession_rechecker"].work(*follows)
        await self.memory.settle()
        return follows

    async def recheck_everything(self) -> None:
        """As a worker would that looks at every fact again."""
        for fact in await self.memory.facts():
            await self._follow([FactUnsettled.model_validate(_told() | {"fact_id": fact.fact_id, "why": "freed"})])


def _told() -> dict[str, Any]:
    number = next(_decided)
    return {"event_id": f"decided-{number}", "agent_id": "agent-1", "occurred_at": clock.now(), "reason": "I know it"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No heartbeats: these pages are worked by hand and are of no group."""
    return settings.model_copy(update={"claim_after_s": 600.0})


@pytest.fixture
def person(memory: Memory, kit: Kit) -> Person:
    return Person(memory, kit)


# ── split ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def twins(memory: Memory, mind: ScriptedMind, person: Person) -> Person:
    """Two wordings that a mind took for one fact."""
    mind.says(OSLO, "same", TWIN)
    mind.says(OSLO, "same", THIRD)
    mind.says(TWIN, "same", THIRD)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2))
    assert await memory.told() == [f"{OSLO} 01-now"]
    return person


TWO = [f"{OSLO} 01-now", f"{TWIN} 02-now"]


async def test_what_a_person_split_are_two_facts_in_their_own_words_with_their_own_mentions(memory: Memory, twins: Person) -> None:
    await twins.split((await twins.row(TWIN)).fact_id, apart_from=await twins.row(OSLO))
    assert await memory.told() == TWO
    assert [(fact.content, fact.confirmation_count, fact.active) for fact in await memory.facts()] == [(OSLO, 0, True), (TWIN, 0, True)]


@pytest.mark.parametrize("said", [OSLO, TWIN, "Maria lives in  OSLO", "oslo is where Maria lives"])
async def test_no_later_mention_of_either_wording_undoes_a_split(memory: Memory, twins: Person, said: str) -> None:
    await twins.split((await twins.row(TWIN)).fact_id, apart_from=await twins.row(OSLO))
    await memory.learn(learned(said, 3))
    assert await memory.told() == TWO
    counts = {fact.content: fact.confirmation_count for fact in await memory.facts()}
    assert sum(counts.values()) == 1
    assert counts[OSLO if content_hash(said) == content_hash(OSLO) else TWIN] == 1


@pytest.mark.parametrize("is_before", [False, True], ids=["after the split", "before it"])
async def test_a_third_wording_that_a_mind_calls_the_same_as_both_joins_one_and_not_the_two(
    memory: Memory, twins: Person, is_before: bool
) -> None:
    if is_before:
        await memory.learn(learned(THIRD, 3))
    await twins.split((await twins.row(TWIN)).fact_id, apart_from=await twins.row(OSLO))
    if not is_before:
        await memory.learn(learned(THIRD, 3))
    assert await memory.told() == TWO
    third = await twins.row(THIRD)
    assert third.merged_into == (await twins.row(OSLO)).fact_id
    await memory.learn(learned(THIRD, 4), learned(TWIN, 5), learned(OSLO, 6))
    assert await memory.told() == TWO


async def test_checking_everything_again_does_not_undo_a_split(memory: Memory, twins: Person, mind: ScriptedMind) -> None:
    await twins.split((await twins.row(TWIN)).fact_id, apart_from=await twins.row(OSLO))
    asked = len(mind.asked)
    await twins.recheck_everything()
    await twins.recheck_everything()
    assert await memory.told() == TWO
    assert len(mind.asked) == asked, "a person has answered"


async def test_a_wording_that_was_confirmed_and_never_had_a_row_is_split_off_with_all_its_mentions(
    memory: Memory, person: Person, embedder: ScriptedEmbedder, kit: Kit
) -> None:
    old, new = "The shop opens at nine on Mondays", "A shop opens at nine on Mondays"
    embedder.alike(old, new, 0.97)
    first, again = learned(new, 2), learned(new.upper(), 4)
    await memory.learn(learned(old, 1), first, learned(old, 3), again, one_by_one=True)
    [fact] = await memory.facts()
    assert fact.confirmation_count == 3
    await person.split(first.fact_id, apart_from=fact, vector=a_vector(1))
    assert await memory.told() == [f"{new} 02-now", f"{old} 01-now"]
    assert [found.confirmation_count for found in await memory.facts()] == [1, 1]
    async with kit.database.read(["agent-1"]) as db:
        assert {await _resolved(db, one.fact_id) for one in (first, again)} == {(await person.row(new)).fact_id}
    await memory.learn(learned(new, 5), learned(old, 6))
    assert [found.confirmation_count for found in await memory.facts()] == [2, 2]


async def _resolved(db: Any, mention_id: UUID) -> UUID:
    [(_, fact_id)] = await mentions.resolve(db, mention_id)
    return fact_id


async def test_what_hung_on_the_wording_that_was_split_off_is_compared_with_what_is_left(
    memory: Memory, person: Person, mind: ScriptedMind, embedder: ScriptedEmbedder
) -> None:
    """THIRD was only ever compared with TWIN; without it nobody knows how it stands to OSLO."""
    embedder.alike(TWIN, THIRD, 0.9)
    mind.says(OSLO, "same", TWIN)
    mind.says(TWIN, "same", THIRD)
    mind.says(OSLO, "same", THIRD)
    await memory.learn(learned(OSLO, 1), learned(TWIN, 2), learned(THIRD, 3), one_by_one=True)
    assert await memory.told() == [f"{OSLO} 01-now"]
    assert (OSLO, THIRD) not in mind.asked
    await person.split((await person.row(TWIN)).fact_id, apart_from=await person.row(OSLO))
    assert (OSLO, THIRD) in mind.asked
    assert await memory.told() == TWO
    assert (await person.row(THIRD)).merged_into == (await person.row(OSLO)).fact_id


async def test_the_same_words_cannot_be_split(memory: Memory, person: Person, mind: ScriptedMind) -> None:
    mind.says(OSLO, "updates", BERGEN)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2), learned(OSLO, 3), one_by_one=True)
    first, again = await person.row(OSLO, at=1), await person.row(OSLO, at=3)
    await person.restore(first, beside=await person.row(BERGEN))
    before = await memory.facts()
    assert (await person.row(OSLO, at=3)).merged_into == first.fact_id
    with pytest.raises(UserMistake, match="the same words cannot be two facts"):
        await person.split(again.fact_id, apart_from=first)
    assert await memory.facts() == before


async def test_what_is_no_part_of_a_fact_cannot_be_split_from_it(memory: Memory, person: Person) -> None:
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2))
    with pytest.raises(UserMistake, match=r"is not part of .*; nous explain fact"):
        await person.split((await person.row(BERGEN)).fact_id, apart_from=await person.row(OSLO))


# ── restore ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def moved(memory: Memory, mind: ScriptedMind, person: Person) -> Person:
    """A fact that a mind retired."""
    for one, other in itertools.combinations((OSLO, BERGEN, ROME), 2):
        mind.says(one, "updates", other)
    await memory.learn(learned(OSLO, 1), learned(BERGEN, 2))
    return person


BOTH = [f"{BERGEN} 02-now", f"{OSLO} 01-now"]


async def test_what_a_person_restored_stays_beside_what_had_retired_it_whatever_is_said_or_checked_again(
    memory: Memory, moved: Person
) -> None:
    await moved.restore(await moved.row(OSLO), beside=await moved.row(BERGEN))
    assert await memory.told() == BOTH
    await memory.learn(learned(BERGEN, 3), learned(OSLO, 4), learned(BERGEN, 5), one_by_one=True)
    assert await memory.told() == BOTH
    await moved.recheck_everything()
    assert await memory.told() == BOTH


async def test_what_was_restored_may_be_retired_by_something_else(memory: Memory, moved: Person) -> None:
    await moved.restore(await moved.row(OSLO), beside=await moved.row(BERGEN))
    await memory.learn(learned(ROME, 6))
    assert await memory.told() == [f"{BERGEN} 02-06 by {ROME}", f"{OSLO} 01-06 by {ROME}", f"{ROME} 06-now"]


async def test_what_is_freed_is_compared_with_what_stands_at_the_head_of_its_chain(
    memory: Memory, moved: Person, mind: ScriptedMind
) -> None:
    await memory.learn(learned(ROME, 3))
    await moved.restore(await moved.row(OSLO), beside=await moved.row(BERGEN))
    assert await memory.told() == [f"{BERGEN} 02-03 by {ROME}", f"{OSLO} 01-03 by {ROME}", f"{ROME} 03-now"]


async def test_what_is_true_or_retired_by_another_cannot_be_restored(memory: Memory, moved: Person) -> None:
    oslo, bergen = await moved.row(OSLO), await moved.row(BERGEN)
    with pytest.raises(UserMistake, match="is true now, so there is nothing to restore"):
        await moved.restore(bergen, beside=oslo)
    await memory.learn(learned(ROME, 1.5))
    with pytest.raises(UserMistake, match="is retired by"):
        await moved.restore(oslo, beside=bergen)


# ── known then ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _as_known(fact: Fact) -> dict[str, Any]:
    """All of it but what serves comparing only: the hash of its words, and its own where richer ones are shown."""
    return {name: value for name, value in vars(fact).items() if name not in ("content_hash", "own_content")}


async def test_what_was_known_after_each_change_can_be_asked_for_ever(memory: Memory, person: Person, mind: ScriptedMind, kit: Kit) -> None:
    mind.says(OSLO, "updates", BERGEN)
    mind.says(OSLO, "refines", TWIN, richer=TWIN)
    noon = DAY + timedelta(hours=12)
    known: list[tuple[datetime, list[Fact]]] = []

    async def step(change: Any) -> None:
        at = noon + timedelta(minutes=len(known))
        with clock.held(at):
            await change()
        known.append((at, await memory.facts()))

    async def superseded_is_restored() -> None:
        await person.restore(await person.row(OSLO), beside=await person.row(BERGEN))

    async def merged_is_split() -> None:
        await person.split((await person.row(TWIN)).fact_id, apart_from=await person.row(OSLO))

    await step(lambda: memory.learn(learned(OSLO, 1)))
    await step(lambda: memory.learn(learned(OSLO, 1.5)))
    await step(lambda: memory.learn(learned(BERGEN, 3)))
    await step(lambda: memory.learn(learned(TWIN, 2)))
    await step(superseded_is_restored)
    await step(merged_is_split)
    await step(lambda: memory.learn(learned(BERGEN, 9)))
    states = [[f"{fact.content} {fact.active} {fact.confirmation_count}" for fact in facts] for _, facts in known]
    assert states == [
        [f"{OSLO} True 0"],
        [f"{OSLO} True 1"],
        [f"{OSLO} False 1", f"{BERGEN} True 0"],
        [f"{TWIN} False 2", f"{TWIN} False 0", f"{BERGEN} True 0"],
        [f"{TWIN} True 2", f"{TWIN} False 0", f"{BERGEN} True 0"],
        [f"{OSLO} True 1", f"{TWIN} True 0", f"{BERGEN} True 0"],
        [f"{OSLO} True 1", f"{TWIN} True 0", f"{BERGEN} True 1"],
    ]
    async with kit.database.read(["agent-1"]) as db:
        assert await versions.listed(db, known_at=noon - timedelta(seconds=1), agent="agent-1", inactive=True, limit=None) == []
        for at, facts in known:
            for moment in (at, at + timedelta(seconds=59)):
                found = await versions.listed(db, known_at=moment, agent="agent-1", inactive=True, limit=None)
                assert [_as_known(fact) for fact in found] == [_as_known(fact) for fact in facts], moment
