"""The mind without a model: sure of one thing only."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

import pytest

from providers.mind import Claim, Judgement, Mind, Question, Relation
from providers.offline import OfflineMind

CLAIM = Claim(content="Ken keeps staging on port 5432.", said_at=datetime(2026, 1, 1, tzinfo=UTC), provenance="user_stated")


async def judge(old: Claim, new: Claim) -> Judgement:
    mind: Mind = OfflineMind()
    [judgement] = (await mind.relate(Question(new, (old,)))).judgements
    return judgement


@pytest.mark.parametrize("content", ["Ken keeps staging on port 5432.", "ken keeps staging on port 5432"])
async def test_the_same_words_are_the_same(content: str) -> None:
    assert (await judge(CLAIM, replace(CLAIM, content=content))).relation == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ken keeps staging on port 5432.", "Ken keeps staging on port 5433."),
        ("Alice manages Bob.", "Bob manages Alice."),
        ("The cache is enabled.", "The cache is not enabled."),
        ("He takes 10mg.", "He takes 5mg."),
        ("Lea likes tea.", "Lea enjoys tea."),
        ("", "Lea likes tea."),
    ],
)
async def test_all_else_is_unsure_with_what_differs(old: str, new: str) -> None:
    judgement = await judge(replace(CLAIM, content=old), replace(CLAIM, content=new))
    assert judgement.relation == "unsure"
    assert "≠" in judgement.reason


async def test_the_same_words_about_two_subjects_are_unsure() -> None:
    judgement = await judge(replace(CLAIM, subject="Alice"), replace(CLAIM, subject="Bob"))
    assert judgement.relation == "unsure"
    assert "Alice" in judgement.reason
    assert (await judge(replace(CLAIM, subject="Alice"), replace(CLAIM, subject="alice"))).relation == "same"


async def test_there_is_one_judgement_for_each_candidate_in_their_order() -> None:
    other = replace(CLAIM, content="Something else.")
    answer = await OfflineMind().relate(Question(CLAIM, (other, CLAIM, other)))
    assert [judgement.relation for judgement in answer.judgements] == ["unsure", "same", "unsure"]
    assert (await OfflineMind().relate(Question(CLAIM, ()))).judgements == ()


def test_the_relations_are_a_closed_list() -> None:
    assert get_args(Relation) == ("same", "refines", "updates", "contradicts", "compatible", "unsure")
