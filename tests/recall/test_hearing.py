"""Phrases are found as whole words, the longest first, and are quick to be made ready: every command that recalls begins with that."""

import re

import pytest

from recall import languages
from recall.hearing import WORD_ENDS, Phrases, heard


@pytest.mark.parametrize(
    ("phrases", "said", "found"),
    [
        ("decid*|decide between", "Deciding is to decide between two", ["deciding", "decide between"]),
        ("run|running late", "He is running late on his run", ["running late", "run"]),
        ("run", "running runs rerun run", ["run"]),
        ("tea|tea时", "tea时 tea", ["tea时", "tea"]),
        ("哪个|哪个更好|vs", "postgres vs mysql哪个更好", ["vs", "哪个更好"]),
        ("قرار*|هل", "والقرارات هل", ["والقرارات", "هل"]),
    ],
)
def test_of_phrases_that_begin_alike_the_longest_is_found_and_words_are_whole(phrases: str, said: str, found: list[str]) -> None:
    assert Phrases(phrases).found(heard(said)) == found


@pytest.mark.parametrize("phrases", [languages.GREETINGS, *languages.HINTS.values(), *languages.FRAMES.values()])
def test_hundreds_of_phrases_are_ready_at_once(phrases: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may stand behind a word is a set of characters that takes 2 ms to compile: said of each phrase, a start takes 2 s longer."""
    written: list[str] = []
    compiled = re.compile
    monkeypatch.setattr(re, "compile", lambda pattern: written.append(pattern) or compiled(pattern))
    Phrases(phrases)
    (pattern,) = written
    assert 1 <= pattern.count(WORD_ENDS) <= 3
