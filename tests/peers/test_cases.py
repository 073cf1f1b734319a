"""The pairs that come with the repository, the agents they are seated with, and the rounds they are said in."""

from collections import Counter
from dataclasses import replace

from bench.peers.cases import KINDS, PAIRS_OF_AN_AGENT, Case, normal, rounds, seated, small


def test_the_small_set_has_every_kind_and_no_words_twice():
    pairs = small()
    words = Counter(text for case in pairs for text in {normal(case.first), normal(case.second)})
    assert {case.kind for case in pairs} == set(KINDS)
    assert max(words.values()) == 1
    assert len(seated(pairs)) == len(pairs)


def test_words_are_the_same_exactly_where_the_kind_says_so():
    assert all((normal(case.first) == normal(case.second)) == (case.kind == "word for word") for case in small())


def test_no_agent_has_more_pairs_than_it_may_and_all_are_the_same_every_time():
    pairs = seated(small())
    assert max(Counter(case.agent for case in pairs).values()) <= PAIRS_OF_AN_AGENT
    assert pairs == seated(small())


def test_a_pair_whose_words_another_pair_said_is_left_out():
    one = Case("one", "same", "Ines lives in Porto.", "Porto is where Ines lives.")
    other = replace(one, key="other", kind="update", first="ines lives in  porto.", second="Ines moved to Braga.")
    assert len(seated([one, other])) == 1


def test_one_writer_says_every_first_fact_before_every_second():
    pairs = small()
    said = [saying.text for one in rounds(pairs, 1) for saying in one]
    assert said == [case.first for case in pairs] + [case.second for case in pairs]


def test_two_writers_say_both_facts_of_a_pair_at_once():
    pairs = small()
    assert [tuple(saying.text for saying in one) for one in rounds(pairs, 2)] == [(case.first, case.second) for case in pairs]
    assert all(first.at < second.at for first, second in rounds(pairs, 2))
