"""Whatever was claimed, in whatever order, and however a mind contradicts itself: one state follows, without cycle or loose end."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import get_args
from uuid import UUID

import pytest

from store.facts import Fact
from store.mentions import Said
from store.relations import Kind, Relation, pair
from tests.factories import AGENT, NOON, a_fact, an_id
from tests.workers.test_slots import told
from workers.standing import slots
from workers.standing.slots import Settled, moment

KINDS: tuple[Kind, ...] = get_args(Kind)
PROVENANCES = ("user_stated", "episode_summary", "assistant_derived")
STORIES = 160


class Story:
    """A few texts, claims of them at a few moments, and any relation between any two."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.texts = [f"text {number}" for number in range(self.dice.randint(2, 6))]
        self.claims = [self._claim(number) for number in range(self.dice.randint(len(self.texts), 14))]
        told_of = {claim.text for claim in self.claims}
        self.relations = [
            self._relation(one, other)
            for at, one in enumerate(self.texts)
            for other in self.texts[at + 1 :]
            if self.dice.random() < 0.7 and {one, other} <= told_of
        ]

    def _claim(self, number: int) -> "Claim":
        text = self.texts[number] if number < len(self.texts) else self.dice.choice(self.texts)
        return Claim(text, f"event-{number:02}", self.dice.randint(0, 8), self.dice.choice(PROVENANCES), self.dice.choice([0.25, 0.5, 1.0]))

    def _relation(self, one: str, other: str) -> Relation:
        kind = self.dice.choice(KINDS)
        agent, low, high = pair(AGENT, _fact(one, "").text_key, _fact(other, "").text_key)
        richer = self.dice.choice([low, high]) if kind == "refines" else None
        by = "person" if kind == "compatible" and self.dice.random() < 0.5 else "mind"
        return Relation(agent, low, high, kind, richer, by, None, None, "", "event-0", NOON)  # type: ignore[arg-type]

    def misled(self, relation: Relation) -> Relation:
        """The relation, or another that stood in its place for a while."""
        kind = relation.relation if self.dice.random() < 0.7 else self.dice.choice(KINDS)
        return replace(relation, relation=kind, richer_key=relation.low_key if kind == "refines" else None)

    def shuffled(self) -> "list[Claim]":
        return self.dice.sample(self.claims, len(self.claims))


class Claim:
    def __init__(self, text: str, event_id: str, hour: int, provenance: str, confidence: float) -> None:
        self.text, self.event_id, self.hour, self.provenance, self.confidence = text, event_id, hour, provenance, confidence


class Store:
    """Rows and mentions as the deduplicator and the checkers leave them, settled after as many claims as the test says."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self.relations = relations
        self.facts: dict[UUID, Fact] = {}
        self.said: list[Said] = []

    def hear(self, claim: Claim) -> None:
        """As the deduplicator does: to a row of these words that stands, else to one it is too old to return from, else a new row."""
        rows = [fact for fact in self.facts.values() if fact.text_key == _fact(claim.text, "").text_key]
        at = NOON + timedelta(hours=claim.hour)
        best = max(rows, key=lambda row: (self._whole(row).active, self._whole(row).claimed_at, row.stored_by), default=None)
        if best is None or not (self._whole(best).active or at <= (self._whole(best).valid_to or at)):
            best = replace(_fact(claim.text, claim.event_id), valid_from=at, claimed_at=at, claimed_by=claim.event_id)
            self.facts[best.fact_id] = best
        self.said.append(Said(claim.event_id, an_id(), best.fact_id, at, claim.provenance, claim.confidence))

    def _whole(self, fact: Fact) -> Fact:
        return self.facts[fact.merged_into] if fact.merged_into else fact

    def settle(self) -> Settled:
        """Settle and keep what follows."""
        settled = slots.settle(self.facts.values(), self.said, self.relations)
        assert settled.facts.keys() >= self.facts.keys(), "every row still stands somewhere"
        self.facts = dict(settled.facts)
        self.said = [replace(one, fact_id=settled.moved.get(one.event_id, one.fact_id)) for one in self.said]
        return settled


def _fact(text: str, stored_by: str) -> Fact:
    return a_fact(content=text, subject="Maria", stored_by=stored_by)


def check(facts: dict[UUID, Fact], said: Sequence[Said]) -> None:
    """What holds of any state."""
    for fact in facts.values():
        assert fact.active == (fact.superseded_by is None and fact.merged_into is None), "active, or why it is not"
        assert fact.superseded_by is None or fact.merged_into is None
        if fact.merged_into:
            assert facts[fact.merged_into].merged_into is None, "merged into one that stands for itself"
            assert fact.merged_into != fact.fact_id
        if fact.superseded_by:
            by = facts[fact.superseded_by]
            assert by.merged_into is None, "retired by a fact, not by a wording of one"
            assert (by.claimed_at, by.claimed_by) > (fact.claimed_at, fact.claimed_by), "retired by what was claimed later: no cycle"
            assert fact.valid_to is not None
            assert fact.valid_from <= fact.claimed_at <= fact.valid_to
        if fact.disputes:
            assert fact.active
            assert facts[fact.disputes].active
            assert fact.provenance != "user_stated"
    active = [fact.text_key for fact in facts.values() if fact.active]
    assert len(active) == len(set(active)), "no two active facts say the same"
    counted = sum(fact.confirmation_count + 1 for fact in facts.values() if fact.merged_into is None)
    assert counted == len(said), "every claim counts for one fact"
    assert {one.fact_id for one in said} == facts.keys(), "no row without a claim, no claim without a row"


@pytest.mark.parametrize("chunk", range(8))
def test_any_claims_and_any_relations_end_in_a_state_without_cycle_or_loose_end_and_settling_again_changes_nothing(chunk: int) -> None:
    for seed in range(chunk, STORIES, 8):
        story = Story(seed)
        store = Store(story.relations)
        for claim in story.claims:
            store.hear(claim)
        store.settle()
        check(store.facts, store.said)
        before = dict(store.facts)
        again = store.settle()
        assert again.facts == before, seed
        assert not again.copies, seed
        assert not again.moved, seed


@pytest.mark.parametrize("chunk", range(8))
def test_the_order_of_rows_claims_and_relations_in_the_input_does_not_matter(chunk: int) -> None:
    for seed in range(chunk, STORIES, 8):
        story = Story(seed)
        store = Store(story.relations)
        for claim in story.claims:
            store.hear(claim)
        first = slots.settle(store.facts.values(), store.said, story.relations)
        dice = random.Random(seed)
        for _ in range(5):
            rows, said, relations = list(store.facts.values()), list(store.said), list(story.relations)
            for some in (rows, said, relations):
                dice.shuffle(some)
            assert slots.settle(rows, said, relations) == first, seed


@pytest.mark.parametrize("chunk", range(8))
def test_claims_that_arrive_one_by_one_in_any_order_end_in_the_state_of_all_at_once(chunk: int) -> None:
    """Settled after every claim, with every relation known, or some unknown and some thought otherwise until the end."""
    for seed in range(chunk, STORIES, 8):
        story = Story(seed)
        expected = _state(_brought(story, story.claims, is_settled_each=False, is_misled=False))
        for number in range(4):
            order = story.shuffled()
            settled = _brought(story, order, is_settled_each=number > 0, is_misled=number > 1)
            assert _state(settled) == expected, (seed, [claim.event_id for claim in order])


def _state(settled: Settled) -> list[str]:
    """The state in words, with who vouches for what."""
    whole = [fact for fact in settled.facts.values() if fact.merged_into is None]
    return told(settled) + sorted(f"{fact.content} {fact.claimed_by} {fact.provenance} {fact.confidence}" for fact in whole)


def _brought(story: Story, claims: Sequence[Claim], *, is_settled_each: bool, is_misled: bool) -> Settled:
    store = Store(story.relations)
    for claim in claims:
        store.hear(claim)
        if is_misled:
            store.relations = [story.misled(one) for one in story.relations if story.dice.random() < 0.8]
        if is_settled_each:
            store.settle()
            check(store.facts, store.said)
    store.relations = story.relations
    settled = store.settle()
    check(store.facts, store.said)
    return settled


def test_the_moments_of_an_agent_s_claims_are_all_different() -> None:
    """Two claims at one time are told apart by their events, so which came later never depends on who asks."""
    one, other = (Said(event, an_id(), an_id(), NOON, "user_stated", 0.5) for event in ("a", "b"))
    assert moment(one) < moment(other)


@pytest.mark.parametrize("heard_as", [0, 1], ids=["one row", "another row"])
def test_whose_words_may_be_replaced_does_not_depend_on_which_row_of_them_was_heard(heard_as: int) -> None:
    """The user vouches for the words, in this row of them or another: an assistant's richer ones do not take their place."""
    rows = [_fact("A", "event-1"), _fact("A", "event-2")][: heard_as + 1]
    richer = _fact("A and more", "event-3")
    said = [
        Said("event-1", an_id(), rows[0].fact_id, NOON, "assistant_derived", 0.5),
        Said("event-2", an_id(), rows[heard_as].fact_id, NOON + timedelta(hours=1), "user_stated", 0.5),
        Said("event-3", an_id(), richer.fact_id, NOON + timedelta(hours=2), "assistant_derived", 0.5),
    ]
    agent, low, high = pair(AGENT, rows[0].text_key, richer.text_key)
    refines = Relation(agent, low, high, "refines", richer.text_key, "mind", None, None, "", "event-0", NOON)
    [whole] = [fact for fact in slots.settle([*rows, richer], said, [refines]).facts.values() if fact.active]
    assert whole.content == "A"
