"""What became of the pairs is counted as told: a twin is a twin in any case of letters, and a fact that is nowhere told is lost."""

from dataclasses import asdict

import pytest

from bench.peers.cases import Case
from bench.peers.judged import Counts, counted

FIRST, SECOND = "Ines lives in Porto.", "Ines moved to Braga."


def _counts(kind, told, *, first=FIRST, second=SECOND):
    case = Case("a pair", kind, first, second, agent="agent-1")
    return {name: count for name, count in asdict(counted([case], {"agent-1": told})).items() if count}


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([SECOND], {"updates": 1, "facts": 1}),
        ([FIRST, SECOND], {"updates": 1, "facts": 1, "updates_lost": 1, "old_still_told": 1}),
        ([FIRST], {"updates": 1, "facts": 1, "updates_lost": 1, "old_still_told": 1, "facts_lost": 1}),
        ([], {"updates": 1, "facts": 1, "updates_lost": 1, "both_gone": 1, "facts_lost": 1}),
    ],
)
def test_an_update_is_lost_where_the_old_is_still_told_or_the_new_is_not(told, counts):
    assert _counts("update", told) == counts


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([FIRST], {}),
        ([SECOND], {}),
        ([FIRST, SECOND], {"twins_in_other_words": 1}),
        (["something else"], {"facts_lost": 1}),
    ],
)
def test_one_fact_in_two_wordings_is_to_be_told_in_one_of_them(told, counts):
    assert _counts("same", told) == {"same": 1, "facts": 1, **counts}


@pytest.mark.parametrize(
    ("told", "counts"),
    [
        ([FIRST], {}),
        ([FIRST, "ines  lives in PORTO."], {"twins_word_for_word": 1}),
        ([], {"facts_lost": 1}),
    ],
)
def test_the_same_words_are_to_be_told_once(told, counts):
    assert _counts("word for word", told, second=FIRST) == {"word_for_word": 1, "facts": 1, **counts}


@pytest.mark.parametrize(("told", "lost"), [([FIRST, SECOND], 0), ([SECOND], 1), ([], 2)])
def test_of_two_compatible_facts_each_may_be_lost(told, lost):
    assert _counts("compatible", told).get("facts_lost", 0) == lost


def test_what_another_agent_is_told_does_not_count():
    case = Case("a pair", "compatible", FIRST, SECOND, agent="agent-1")
    assert counted([case], {"agent-2": [FIRST, SECOND]}) == Counts(facts=2, facts_lost=2)
