"""Ranking: what says most to the question comes first, and a weight decides between what says about as much."""

import math
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from nous.errors import Misconfigured
from recall.calibrating import JudgedQuestion, calibrated_ranking, figures, fitted_ranking
from recall.ranking import PLAIN, Weights, certainty, rank
from store.search import Found
from tests.factories import NOON, an_id


def a_found(**over: Any) -> Found:
    fields: dict[str, Any] = {
        "kind": "fact",
        "memory_id": an_id(),
        "text": "The ferry leaves at nine",
        "detail_characters": 0,
        "at": NOON,
        "provenance": "user_stated",
        "confidence": 1.0,
        "is_noise": False,
        "episode_id": None,
        "subject": None,
        "similarity": 0.5,
        "words": 4.0,
    }
    return Found(**fields | over)


def order(found: list[Found], weights: Weights = PLAIN, *, recency: float = 0.0, **over: Any) -> list[UUID]:
    given: dict[str, Any] = {"boosts": {}, "now": NOON} | over
    return [one.found.memory_id for one in rank(found, weights=weights, recency=recency, **given)]


def test_weights_of_one_restore_the_order_of_relevance_whatever_the_memories_are() -> None:
    drawn = random.Random(3)
    found = [
        a_found(
            similarity=drawn.uniform(-0.5, 1.0),
            words=drawn.uniform(0, 20),
            provenance=drawn.choice(["user_stated", "episode_summary", "assistant_derived", "transcript"]),
            confidence=drawn.random(),
            is_noise=drawn.random() < 0.5,
            at=NOON - timedelta(days=drawn.randint(0, 900)),
        )
        for _ in range(200)
    ]
    ranked = rank(found, weights=PLAIN, recency=1.0, boosts={(one.kind, one.memory_id): drawn.uniform(0.5, 1.5) for one in found}, now=NOON)
    relevance = [one.relevance for one in ranked]
    assert relevance == sorted(relevance, reverse=True)
    assert all(one.score == one.relevance for one in ranked)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"provenance": "user_stated"}, {"provenance": "assistant_derived"}),
        ({"confidence": 1.0}, {"confidence": 0.2}),
        ({"is_noise": False}, {"is_noise": True}),
        ({"at": NOON}, {"at": NOON - timedelta(days=400)}),
        ({"similarity": 0.6}, {"similarity": 0.5}),
        ({"words": 6.0}, {"words": 4.0}),
    ],
)
def test_of_two_that_say_as_much_the_better_vouched_the_surer_the_newer_comes_first(better: dict[str, Any], worse: dict[str, Any]) -> None:
    good, bad = a_found(**better), a_found(**worse)
    assert order([bad, good], Weights(), recency=1.0) == [good.memory_id, bad.memory_id]


def test_what_counts_less_is_further_down_below_zero_too() -> None:
    noise, plain = a_found(similarity=-0.2, words=0.0, is_noise=True), a_found(similarity=-0.2, words=0.0)
    assert order([noise, plain], Weights()) == [plain.memory_id, noise.memory_id]


def test_age_counts_as_much_as_the_plan_asks_for() -> None:
    old, new = a_found(at=NOON - timedelta(days=900), similarity=0.55), a_found()
    assert order([old, new], Weights(), recency=0.0) == [old.memory_id, new.memory_id]
    assert order([old, new], Weights(), recency=1.0) == [new.memory_id, old.memory_id]


def test_use_moves_a_memory_and_no_history_moves_none() -> None:
    used, new, unused = a_found(), a_found(), a_found()
    boosts = {("fact", used.memory_id): 1.5, ("fact", unused.memory_id): 0.5}
    assert order([unused, new, used], Weights(), boosts=boosts) == [used.memory_id, new.memory_id, unused.memory_id]


def test_what_is_new_is_not_behind_what_is_no_more_relevant_and_not_before_what_is() -> None:
    better, worse, new = a_found(similarity=0.7), a_found(similarity=0.49), a_found(similarity=0.5)
    boosts = {("fact", better.memory_id): 1.0, ("fact", worse.memory_id): 1.5}
    assert order([better, worse, new], Weights(), boosts=boosts) == [worse.memory_id, better.memory_id, new.memory_id]
    found = rank([better, worse, new], weights=Weights(), recency=0.0, boosts=boosts, now=NOON, new={("fact", new.memory_id)})
    assert [one.found for one in found] == [new, worse, better]
    assert found[0].score == pytest.approx(found[1].score)
    assert found[0].score == pytest.approx(found[0].relevance * math.prod(found[0].factors.values()))
    boosts = {("fact", better.memory_id): 1.5, ("fact", worse.memory_id): 0.5}
    assert order([better, worse, new], Weights(), boosts=boosts, new={("fact", new.memory_id)}) == [
        one.memory_id for one in (better, new, worse)
    ]


def test_what_is_new_has_every_other_weight_against_it_all_the_same() -> None:
    noise, used = a_found(similarity=0.55, is_noise=True), a_found(similarity=0.5)
    key = ("fact", noise.memory_id)
    assert order([noise, used], Weights(), boosts={("fact", used.memory_id): 1.5}, new={key}) == [used.memory_id, noise.memory_id]
    far, farther = a_found(similarity=-0.2, words=0.0), a_found(similarity=-0.21, words=0.0)
    boosts = {("fact", farther.memory_id): 1.5}
    assert order([far, farther], Weights(), boosts=boosts) == [farther.memory_id, far.memory_id]
    assert order([far, farther], Weights(), boosts=boosts, new={("fact", far.memory_id)}) == [far.memory_id, farther.memory_id]


def test_without_an_embedder_the_words_alone_decide_and_one_without_a_vector_is_not_lost_among_others() -> None:
    most, some = a_found(similarity=None, words=9.0), a_found(similarity=None, words=2.0)
    assert order([some, most]) == [most.memory_id, some.memory_id]
    far, unembedded = a_found(similarity=0.3, words=0.0), a_found(similarity=None, words=9.0)
    assert order([far, unembedded]) == [unembedded.memory_id, far.memory_id]


def test_the_same_memories_in_any_order_are_told_in_one_order() -> None:
    found = [a_found() for _ in range(20)]
    assert order(found) == order(found[::-1]) == sorted(one.memory_id for one in found)


def test_every_factor_is_told_and_the_relevance_stays_beside_the_score() -> None:
    (one,) = rank([a_found(is_noise=True, confidence=0.0)], weights=Weights(), recency=0.0, boosts={}, now=NOON, terms=4)
    assert one.relevance == pytest.approx(0.5 + 0.15 * 4.0 / 2)
    assert one.factors == {"provenance": 1.0, "confidence": 0.9, "noise": 0.5, "recency": 1.0, "use": 1.0}
    assert one.score == pytest.approx(one.relevance * 0.45)


def test_a_long_question_does_not_drown_the_meaning_in_its_words() -> None:
    near, wordy = a_found(similarity=0.9, words=10.0), a_found(similarity=0.1, words=30.0)
    assert order([near, wordy], terms=4) == [wordy.memory_id, near.memory_id]
    assert order([near, wordy], terms=100) == [near.memory_id, wordy.memory_id]


def test_certainty_is_the_plain_cosine_of_the_first_fact() -> None:
    passage, fact = a_found(kind="passage", similarity=0.4, words=30.0), a_found(similarity=0.6)
    ranked = rank([passage, fact], weights=PLAIN, recency=0.0, boosts={}, now=NOON)
    assert ranked[0].found == passage
    assert (certainty(ranked), certainty(ranked[:1]), certainty([])) == (0.6, 0.4, None)


@pytest.mark.parametrize("values", [{"word": 1.0}, {"noise": -1}, {"noise": "much"}, {"noise": float("nan")}, {"old": True}])
def test_a_weight_that_is_none_is_refused_by_its_name(values: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match=next(iter(values))):
        Weights.of(values)


# ── calibrating ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_judged(*found: Found, right: Found) -> JudgedQuestion:
    return JudgedQuestion(found, frozenset({right.memory_id}), 4, NOON)


def asked(number: int) -> JudgedQuestion:
    """What answers is as near as what does not, and says more of the words; now and then the other way round."""
    drawn = random.Random(number)
    right = a_found(similarity=0.5 + drawn.uniform(-0.05, 0.05), words=6.0)
    wrong = [a_found(similarity=0.55 + drawn.uniform(-0.05, 0.05), words=1.0) for _ in range(5)]
    return a_judged(*wrong, right, right=right)


def test_what_was_fitted_is_better_also_for_questions_it_was_not_fitted_on() -> None:
    start = replace(PLAIN, words=0.0)
    made = calibrated_ranking([asked(number) for number in range(60)], start)
    assert made.weights.words > 0
    assert made.is_better
    assert made.after.p_at_1 > made.before.p_at_1
    assert made.unseen_after.mrr > made.unseen_before.mrr
    assert made.unseen_after.questions == 60
    assert made.before.found == made.after.found == 1.0, "what search found, no weight changes"


def test_the_first_place_is_not_paid_with_the_second() -> None:
    start = Weights()
    judged = [asked(number) for number in range(40)]
    assert figures(judged, fitted_ranking(judged, start)).p_at_1 >= figures(judged, start).p_at_1


def test_where_every_order_is_as_good_the_weights_stay() -> None:
    only = a_found()
    made = calibrated_ranking([a_judged(only, right=only) for _ in range(30)], Weights())
    assert made.weights == Weights()
    assert not made.is_better
