"""Which quotes count as said: whole words in any script, and short ones only where they are all that was said."""

import pytest

from providers.mind import Utterance
from workers.episodes.question import Extracted
from workers.episodes.sources import Said, sourced


def user(*contents: str) -> Said:
    return Said(Utterance(content=content, speaker="User") for content in contents)


@pytest.mark.parametrize(
    ("turn", "quote", "is_said"),
    [
        ("我吃素", "我吃素", True),
        ("我吃素，不喝酒。", "吃素", True),
        ("我吃素，不喝酒。", "素", False),
        ("素。", "素", True),
        ("ฉันกินเจ", "กินเจ", True),
        ("No.", "No", True),
        ("“No!”", "no", True),
        ("No, never.", "No", False),
        ("A 🙂🙂 day", "🙂🙂", False),
        ("…", "…", False),
        ("", "", False),
    ],
)
def test_a_short_quote_counts_where_it_is_a_whole_turn_or_says_enough_in_its_script(turn: str, quote: str, is_said: bool) -> None:
    assert (user("x", turn).source(quote) is not None) == is_said


@pytest.mark.parametrize(
    ("turn", "quote", "is_said"),
    [
        ("tôi ở Huế", "tôi ở Hu", False),
        ("tôi ở Huế", "tôi ở Huế", True),
        ("tôi yêu Việt Nam", "yêu Vi", False),
        ("나는 서울에 산다", "나는 서울에 산", False),
        ("나는 서울에 산다", "나는 서울에", True),
        ("मैं दिल्ली में रहता हूँ", "मैं दिल्ल", False),
        ("мы живём в Омске", "живём в Омск", False),
        ("我住在东京都。", "我住在东京", True),
        ("私は東京に住んでいる", "東京に住ん", True),
        ("ผมอยู่กรุงเทพ", "อยู่กรุง", True),
        ("我用Python写", "我用Python", True),
        ("我用Python写", "我用Pyth", False),
        ("a room of 5 m²", "room of 5 m", False),
        ("there are 10² cells", "there are 10", False),
        ("it costs 5mg a day", "it costs 5", True),
    ],
)
def test_a_quote_ends_where_a_word_ends_in_scripts_that_have_spaces(turn: str, quote: str, is_said: bool) -> None:
    assert (user(turn).source(quote) is not None) == is_said


def test_a_short_turn_of_a_tool_is_no_source() -> None:
    assert Said([Utterance(content="我吃素", speaker="tool"), Utterance(content="hello", speaker="User")]).source("我吃素") is None


def test_a_quote_across_turns_has_the_time_and_the_voucher_of_a_run() -> None:
    source = user("And then", "I moved to Bergen.").source("then I moved")
    assert source is not None
    assert source.provenance == "episode_summary"


def test_a_fact_is_dropped_because_its_quote_is_too_short_or_because_nobody_said_it() -> None:
    facts = [Extracted(content=quote, quote=quote, confidence=1) for quote in ("a", "素", "", "I live in Rome")]
    kept, dropped = sourced(facts, user("a day in Oslo, 吃素的"), most=5)
    assert kept == []
    assert dropped == {"quote too short": 2, "empty": 1, "quote not said": 1}


@pytest.mark.parametrize(
    ("said", "quote"), [("ab " * 300_000, "ab " * 2_600 + "a"), ("a" * 1_000_000, "a" * 8_000), ("." * 2**20, "." * 8_000 + "a")]
)
def test_a_long_quote_that_almost_stands_everywhere_is_not_said(said: str, quote: str) -> None:
    assert user(said).source(quote) is None


@pytest.mark.parametrize("between", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\n", " \r\n "])
def test_what_a_mind_writes_on_several_lines_stays_several_words(between: str) -> None:
    fact = Extracted(content=f"one{between}two", quote="one\x00\x07 \x9ftwo", confidence=1)
    assert (fact.content, fact.quote) == ("one two", "one two")
