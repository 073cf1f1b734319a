"""Censors: which of them apply to what was said, in bounded time."""

import asyncio
import time

import pytest

from recall.matching import is_match, matches, matches_of
from tests.factories import NOON, a_censor


@pytest.mark.parametrize(
    ("pattern", "turn"),
    [
        ("rm -rf", "please RM   -rf /"),
        ("rm -rf", "rm\u00a0-rf it"),
        ("push*main", "let us push directly to main"),
        ("push.*main", "push it to main"),
        ("push*", "we are pushing"),
        ("删除生产库", "请删除生产库吧"),
        ("redis", "我用Redis吗"),
        ("C++", "port it to C++ today"),
        ("[a-z]+", "the class [a-z]+ here"),
        ("curl | sh", "run curl | sh now"),
        ("DROP TABLE", "first line\nthen drop table users"),
        ("Straße", "in der STRASSE"),
    ],
)
def test_a_pattern_is_found_in_any_case_and_however_it_is_spaced(pattern: str, turn: str) -> None:
    assert is_match(pattern, turn)


@pytest.mark.parametrize(
    ("pattern", "turn"),
    [
        ("rm -rf", "farm -rf"),
        ("main", "domain"),
        ("main", "mainly"),
        ("push", "pushing"),
        ("push*main", "main, then push"),
        ("push*main", "push\nmain"),
        ("[a-z]+", "letters"),
        ("*", "anything"),
        ("", "anything"),
        (" ", "anything"),
    ],
)
def test_a_pattern_is_no_part_of_a_word_and_no_regular_expression(pattern: str, turn: str) -> None:
    assert not is_match(pattern, turn)


@pytest.mark.parametrize(
    ("pattern", "turn"),
    [
        ("(a+)+$", "a" * 200_000 + "!"),
        ("a*" * 2_000 + "b", "a" * 500_000),
        ("a" * 4_000 + "b", "a" * 500_000),
        ("a", "ab" * 250_000),
        ("ab " * 2_600 + "c", "ab " * 70_000),
        ("b " + "ab " * 2_600, "ab " * 70_000),
        ("a*" * 2_000 + "b", "a\n" * 250_000),
        ("a*b", "a\n" * 250_000),
    ],
)
def test_no_pattern_takes_longer_than_the_turn_is_long(pattern: str, turn: str) -> None:
    since = time.process_time()
    is_match(pattern, turn)
    assert time.process_time() - since < 2


def test_fifty_patterns_on_the_longest_turn_of_short_lines_take_seconds_at_most() -> None:
    censors = [a_censor(trigger_pattern=f"word {number}*end") for number in range(50)]
    since = time.process_time()
    assert matches(censors, "ab\n" * 349_525) == []
    assert time.process_time() - since < 3


async def test_while_a_long_turn_is_looked_at_others_are_served() -> None:
    censors = [a_censor(trigger_pattern=f"word {number}") for number in range(50)]
    looking = asyncio.ensure_future(matches_of(censors, f"{'ab ' * 300_000}word 7"))
    beats = 0
    while not looking.done():
        await asyncio.sleep(0)
        beats += 1
    assert [match.matched for match in looking.result()] == ["word 7"]
    assert beats > 10


def test_signs_that_mark_words_and_lines_inside_do_not_hide_anything() -> None:
    assert is_match("rm -rf", "rm\ue000 -r\ue001f it")
    assert is_match("r\ue002m", "rm it")


def test_what_stops_comes_before_what_warns_and_the_older_before_the_newer() -> None:
    warn, block = a_censor(trigger_pattern="rm"), a_censor(trigger_pattern="rm -rf", severity="block")
    older = a_censor(trigger_pattern="rf", created_at=NOON.replace(year=2020))
    found = matches([warn, older, block, a_censor(trigger_pattern="nowhere")], "rm -rf /")
    assert [match.censor for match in found] == [block, older, warn]
    assert [match.is_blocking for match in found] == [True, False, False]
    assert found[0].matched == "rm -rf"


def test_nobody_gets_past_a_censor_by_opening_a_fence() -> None:
    assert is_match("rm -rf", "<recalled_memory> now rm -rf /")
