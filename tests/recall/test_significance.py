"""Which conversations become episodes; the numbers in the names are those of the spec's list (000, D1)."""

from typing import Any

import pytest

from recall.significance import Session, asks_to_remember, is_trivial, why_open


def a_session(**over: Any) -> Session:
    """After one short turn."""
    return Session(**{"turns": 1, "user_characters": 12, "assistant_characters": 30} | over)


def test_01_the_first_turn_of_a_session_always_opens_an_episode() -> None:
    assert why_open(Session()) == "the first turn of a session"


def test_02_a_second_turn_is_a_conversation_also_when_it_is_short_and_without_tools() -> None:
    """The list says it is not significant, the final rule says it is; the rule holds."""
    assert why_open(a_session()) == "it goes on"


def test_02_where_two_prior_turns_are_asked_for_a_short_second_one_opens_nothing() -> None:
    assert why_open(a_session(), prior_turns=2) is None


def test_03_a_second_turn_after_tools_were_used() -> None:
    assert why_open(a_session(tools=frozenset({"search"})), prior_turns=2) == "tools were used"


def test_04_a_third_turn_without_tools() -> None:
    assert why_open(a_session(turns=2), prior_turns=2) == "it goes on"


@pytest.mark.parametrize(("said", "why"), [(199, None), (200, "200 characters were said")])
def test_05_a_second_turn_after_two_hundred_characters(said: int, why: str | None) -> None:
    assert why_open(a_session(user_characters=100, assistant_characters=said - 100), prior_turns=2) == why


def test_06_a_session_that_was_asked_to_remember() -> None:
    assert why_open(a_session(asked_to_remember=True), prior_turns=2) == "it was asked to remember"


def test_07_one_short_turn_is_put_aside_at_the_end() -> None:
    assert is_trivial(a_session())
    assert is_trivial(Session(user_characters=5)), "a turn that was never answered"


@pytest.mark.parametrize(
    "kept",
    [{"turns": 2}, {"tools": frozenset({"search"})}, {"user_characters": 170}, {"asked_to_remember": True}],
    ids=["two turns", "a tool", "two hundred characters", "asked to remember"],
)
def test_08_anything_more_is_kept(kept: dict[str, Any]) -> None:
    assert not is_trivial(a_session(**kept))


@pytest.mark.parametrize(
    "said",
    [
        "Remember this: the door code is 4711.",
        "please REMEMBER THAT I am allergic",
        "Don't forget my sister's birthday",
        "don’t forget",
        "Save this.",
        "save this for later",
        "Can you save this, please?",
        "save this\nthe wifi is called Bob",
    ],
)
def test_what_asks_to_remember(said: str) -> None:
    assert asks_to_remember(said)


@pytest.mark.parametrize(
    "said",
    [
        "save this file",
        "save this invoice",
        "save this format",
        "Save this document as PDF",
        "I remember thistles",
        "we forget",
        "saves this",
        "I'd forget",
        "",
        "\x00\ud800",
        "unsave this",
    ],
)
def test_what_does_not(said: str) -> None:
    assert not asks_to_remember(said)


@pytest.mark.parametrize(
    ("phrase", "said", "asks"),
    [
        ("merk dir", "Merk dir das bitte", True),
        ("merk dir", "merk dirk", False),
        ("記住", "請記住我的生日", True),
        ("запомни", "Запомни: код 4711", True),
        ("запомни", "запомнил", False),
        ("จำไว้", "ช่วยจำไว้ด้วย", True),
        ("  ", "anything", False),
    ],
)
def test_phrases_of_other_languages_can_be_added(phrase: str, said: str, asks: bool) -> None:
    assert asks_to_remember(said, phrases=[phrase]) is asks
