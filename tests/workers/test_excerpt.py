"""What stays at hand of a transcript: its first and last parts, cut where somebody stops, and never within what a fact rests on."""

import pytest

from store.sessions import Turn
from store.transcripts import Transcript
from tests.factories import a_session, a_turn
from workers.episodes import excerpt, transcript

SESSION = a_session()


def turns(*contents: str) -> tuple[Turn, ...]:
    speakers = ("user", "assistant")
    return tuple(a_turn(SESSION, position=at, speaker=speakers[(at - 1) % 2], content=content) for at, content in enumerate(contents, 1))


def said(kept: tuple[Turn, ...]) -> list[tuple[int, str]]:
    return [(one.position, one.content) for one in kept]


def test_what_fits_stays_as_it_is() -> None:
    whole = Transcript(turns=turns("Hello.", "Hi!"), served={1: "{}"})
    assert excerpt.of(whole, most=200, resting=()) == whole


def test_whole_turns_of_both_ends_stay_and_a_mark_says_how_much_is_left_out() -> None:
    kept = excerpt.of_turns(turns("a" * 90, "b" * 500, "c" * 500, "d" * 90), most=200, resting=())
    assert said(kept) == [(1, "a" * 90 + "\n[… 1,000 characters are put away …]"), (4, "d" * 90)]


def test_a_long_turn_is_cut_behind_a_sentence_and_before_one() -> None:
    first, last = "One is said. Two is said. " + "x" * 300, "y" * 300 + ". Three is said. Four is said."
    kept = excerpt.of_turns(turns(first, "z" * 900, last), most=80, resting=())
    assert [content.splitlines()[0] for _, content in said(kept)] == ["One is said. Two is said.", "Three is said. Four is said."]


def test_one_turn_that_is_all_there_is_keeps_both_its_ends() -> None:
    (only,) = excerpt.of_turns(turns("It began. " + "m " * 800 + ". It ended."), most=60, resting=())
    assert only.content.splitlines()[0] == "It began."
    assert only.content.splitlines()[-1] == "It ended."


def test_without_a_sentence_s_end_it_is_cut_at_a_word_and_without_a_word_at_the_limit() -> None:
    assert said(excerpt.of_turns(turns("word " * 200), most=40, resting=()))[0][1].splitlines()[0] == "word word word word"
    assert said(excerpt.of_turns(turns("嗨" * 400), most=40, resting=()))[0][1].splitlines()[0] == "嗨" * 20


@pytest.mark.parametrize("resting", ["The safe is behind. It is the blue one.", "It is the blue one. Nobody knows."])
def test_words_that_a_fact_rests_on_stay_whole_or_not_at_all(resting: str) -> None:
    text = "Hello to you. The safe is behind. It is the blue one. Nobody knows. " + "z " * 600
    for most in range(20, 160):
        (kept,) = excerpt.of_turns(turns(text), most=most, resting=[resting])
        head = kept.content.partition("[…")[0]
        assert resting in head or resting.split(". ")[0] not in head


def test_of_a_text_the_last_part_has_its_speaker_s_name_again_and_the_mark_is_nobody_s_words() -> None:
    text = "User: Hello there. " + "a " * 300 + "\nAssistant: " + "b " * 300 + ". It was a joy."
    kept = excerpt.of_text(text, most=60, resting=())
    assert kept.splitlines()[0] == "User: Hello there."
    assert kept.splitlines()[-1] == "Assistant: It was a joy."
    assert [(one.speaker, one.content) for one in transcript.of_text(kept)] == [
        ("User", "Hello there."),
        ("Assistant", "It was a joy."),
    ]


def test_a_text_without_speakers_is_cut_as_one() -> None:
    kept = excerpt.of_text("It began. " + "m " * 800 + ". It ended.", most=60, resting=())
    assert (kept.splitlines()[0], kept.splitlines()[-1]) == ("It began.", "It ended.")
    assert [one.content for one in transcript.of_text(kept)] == ["It began.\nIt ended."]


@pytest.mark.parametrize("most", range(200, 2_000, 111))
def test_no_more_stays_than_may(most: int) -> None:
    whole = Transcript(turns=turns(*("Sentence number one. Another one here! " * (at % 7 + 1) for at in range(40))))
    kept = excerpt.of(whole, most=most, resting=())
    assert sum(len(content.partition("\n[…")[0]) for _, content in said(kept.turns)) <= most
    assert kept.turns[0].position == 1
    assert kept.turns[-1].position == 40
