"""What follows from claims and relations: the same state in whatever order they came."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.facts import Fact
from store.mentions import Said
from store.relations import Kind, Relation, pair
from tests.factories import AGENT, NOON, a_fact, an_id
from workers.standing import slots


class Story:
    """Claims told one after another, hour by hour; each text is a row of its own, claimed again under the same text."""

    def __init__(self) -> None:
        self.facts: dict[str, Fact] = {}
        self.said: list[Said] = []
        self.relations: list[Relation] = []

    def claim(self, text: str, hour: float, *, by: str = "user_stated", confidence: float = 0.5) -> "Story":
        event = f"event-{hour}-{text}"
        if text not in self.facts:
            self.facts[text] = a_fact(content=text, subject="Maria", stored_by=event)
        self.said.append(Said(event, an_id(), self.facts[text].fact_id, NOON + timedelta(hours=hour), by, confidence))
        return self

    def relate(self, one: str, kind: Kind, other: str, *, richer: str | None = None, by: str = "mind") -> "Story":
        agent, low, high = pair(AGENT, self.facts[one].text_key, self.facts[other].text_key)
        richer_key = self.facts[richer].text_key if richer else None
        self.relations.append(Relation(agent, low, high, kind, richer_key, by, None, None, "", "event-0", NOON))  # type: ignore[arg-type]
        return self

    def settled(self) -> slots.Settled:
        return slots.settle(self.facts.values(), self.said, self.relations)

    def told(self) -> list[str]:
        return told(self.settled())


def told(settled: slots.Settled) -> list[str]:
    """The state in words, without ids."""
    name = {fact.fact_id: f"{fact.content}@{_hour(fact)}" for fact in settled.facts.values()}
    return sorted(_line(fact, name) for fact in settled.facts.values() if fact.merged_into is None)


def _hour(fact: Fact) -> str:
    return f"{(fact.valid_from - NOON) / timedelta(hours=1):g}"


def _line(fact: Fact, name: dict[UUID, str]) -> str:
    end = f"{(fact.valid_to - NOON) / timedelta(hours=1):g}" if fact.valid_to else "now"
    by = f" by {name[fact.superseded_by]}" if fact.superseded_by else ""
    against = f" disputes {name[fact.disputes]}" if fact.disputes else ""
    return f"{fact.content} {_hour(fact)}-{end}{by}{against} x{fact.confirmation_count + 1}"


def test_a_later_claim_retires_an_earlier_one() -> None:
    assert Story().claim("A", 1).claim("B", 2).relate("A", "updates", "B").told() == ["A 1-2 by B@2 x1", "B 2-now x1"]


def test_one_that_arrives_late_is_retired_itself() -> None:
    assert Story().claim("B", 2).claim("A", 1).relate("A", "contradicts", "B").told() == ["A 1-2 by B@2 x1", "B 2-now x1"]


def test_what_was_true_before_is_true_again_when_it_is_claimed_again() -> None:
    story = Story().claim("A", 1).claim("B", 2).claim("A", 3).relate("A", "updates", "B")
    assert story.told() == ["A 1-2 by B@2 x1", "A 3-now x1", "B 2-3 by A@3 x1"]
    [(copy, origin)] = story.settled().copies.items()
    assert origin == story.facts["A"].fact_id
    assert story.settled().moved == {"event-3-A": copy}


def test_a_chain_is_kept_link_by_link() -> None:
    story = Story().claim("A", 1).claim("B", 2).claim("C", 3)
    story.relate("A", "updates", "B").relate("B", "updates", "C").relate("A", "updates", "C")
    assert story.told() == ["A 1-2 by B@2 x1", "B 2-3 by C@3 x1", "C 3-now x1"]


def test_compatible_facts_stay_both() -> None:
    assert Story().claim("A", 1).claim("B", 2).relate("A", "compatible", "B").told() == ["A 1-now x1", "B 2-now x1"]


def test_the_same_fact_in_two_wordings_is_merged_into_the_older() -> None:
    story = Story().claim("B", 2).claim("A", 1).relate("A", "same", "B")
    assert story.told() == ["A 1-now x2"]
    merged = story.settled().facts[story.facts["B"].fact_id]
    assert (merged.active, merged.merged_into) == (False, story.facts["A"].fact_id)


def test_the_richer_wording_is_shown_and_the_own_one_kept() -> None:
    story = Story().claim("A", 1).claim("A and more", 2).relate("A", "refines", "A and more", richer="A and more")
    assert story.told() == ["A and more 1-now x2"]
    assert story.settled().facts[story.facts["A"].fact_id].own_content == "A"


def test_an_older_wording_that_is_richer_stays() -> None:
    story = Story().claim("A and more", 1).claim("A", 2).relate("A", "refines", "A and more", richer="A and more")
    assert story.told() == ["A and more 1-now x2"]


def test_an_assistant_s_richer_wording_never_replaces_the_user_s() -> None:
    story = Story().claim("A", 1).claim("A and more", 2, by="assistant_derived").relate("A", "refines", "A and more", richer="A and more")
    assert story.told() == ["A 1-now x2"]


def test_undoing_a_merge_brings_both_back_in_their_own_words() -> None:
    story = Story().claim("A", 1).claim("A and more", 2).relate("A", "refines", "A and more", richer="A and more")
    settled = story.settled()
    undone = slots.settle(settled.facts.values(), story.said, [replace(story.relations[0], relation="compatible", decided_by="person")])
    assert told(undone) == ["A 1-now x1", "A and more 2-now x1"]


@pytest.mark.parametrize("hour", [0.5, 2])
def test_an_assistant_s_word_never_retires_what_the_user_stated(hour: float) -> None:
    story = Story().claim("A", 1).claim("B", hour, by="assistant_derived").relate("A", "contradicts", "B")
    expected = {0.5: ["A 1-now x1", "B 0.5-1 by A@1 x1"], 2: ["A 1-now x1", "B 2-now disputes A@1 x1"]}
    assert story.told() == expected[hour]


def test_the_user_confirming_it_settles_a_dispute() -> None:
    story = Story().claim("A", 1).claim("B", 2, by="assistant_derived").claim("B", 3).relate("A", "contradicts", "B")
    assert story.told() == ["A 1-3 by B@2 x1", "B 2-now x2"]


def test_two_that_a_person_called_two_are_never_joined_by_a_third() -> None:
    story = Story().claim("A", 1).claim("B", 2).claim("C", 3)
    story.relate("A", "compatible", "B", by="person").relate("A", "same", "C").relate("B", "same", "C")
    assert story.told() == ["A 1-now x2", "B 2-now x1"]


def test_what_a_person_restored_stays_beside_what_had_retired_it() -> None:
    story = Story().claim("A", 1).claim("B", 2).claim("B too", 3).relate("B", "same", "B too")
    story.relate("A", "updates", "B too").relate("A", "compatible", "B", by="person")
    assert story.told() == ["A 1-now x1", "B 2-now x2"]


def _brought(order: Sequence[tuple[str, float]]) -> list[str]:
    story = Story()
    for text, hour in order:
        story.claim(text, hour)
    texts = list(story.facts)
    for one, other in itertools.combinations(texts, 2):
        is_same = {one, other} == {"A", "A'"}
        story.relate(one, "same" if is_same else "contradicts", other)
    return told(slots.settle(story.facts.values(), story.said, story.relations))


CLAIMS = [("A", 1.0), ("B", 2.0), ("A", 3.0), ("C", 4.0), ("A'", 5.0)]


def test_every_order_of_five_claims_ends_in_the_same_state() -> None:
    expected = _brought(CLAIMS)
    assert expected == ["A 1-2 by B@2 x1", "A 3-4 by C@4 x1", "A' 5-now x1", "B 2-3 by A@3 x1", "C 4-5 by A'@5 x1"]
    assert all(_brought(order) == expected for order in itertools.permutations(CLAIMS))


KINDS: tuple[Kind, ...] = ("same", "updates", "contradicts", "compatible")
PAIRS = list(itertools.combinations("ABCD", 2))
DECIDED = st.lists(
    st.tuples(st.sampled_from(PAIRS), st.sampled_from(KINDS), st.sampled_from(("mind", "person"))), unique_by=lambda one: one[0]
)
CLAIMED = st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from(("user_stated", "assistant_derived"))), max_size=5)


@given(decided=DECIDED, more=CLAIMED)
def test_whatever_people_and_minds_decide_nothing_is_ended_by_what_was_claimed_before_it(
    decided: list[tuple[tuple[str, str], Kind, str]], more: list[tuple[str, str]]
) -> None:
    story = Story()
    for hour, (text, by) in enumerate([*((text, "user_stated") for text in "ABCD"), *more]):
        story.claim(text, hour, by=by)
    for (one, other), kind, who in decided:
        story.relate(one, kind, other, by=who)
    rows = story.settled().facts
    for fact in rows.values():
        if fact.superseded_by:
            later = rows[fact.superseded_by]
            assert fact.claimed_at < later.claimed_at
            assert fact.claimed_at < (fact.valid_to or NOON)
            assert later.merged_into is None
        if fact.merged_into:
            assert rows[fact.merged_into].merged_into is None


def test_settling_again_changes_nothing() -> None:
    story = Story().claim("A", 1).claim("B", 2).claim("A", 3).claim("A'", 4).relate("A", "updates", "B").relate("A", "same", "A'")
    first = story.settled()
    said = [replace(one, fact_id=first.moved.get(one.event_id, one.fact_id)) for one in story.said]
    again = slots.settle(first.facts.values(), said, story.relations)
    assert again.facts == first.facts
    assert not again.copies
    assert not again.moved
