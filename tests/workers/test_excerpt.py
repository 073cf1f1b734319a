"""What stays at hand of a transcript: its first and last parts, cut where somebody stops, and never within what a fact rests on."""

from collections.abc import Collection

import pytest

from store import spans
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
def test_words_that_a_fact_rests_on_stay_whole_or_not_at_all_at_either_end(resting: str) -> None:
    text = "Hello to you. The safe is behind. It is the blue one. Nobody knows."
    ends: set[tuple[bool, bool]] = set()
    for most in range(20, 160):
        (kept,) = excerpt.of_turns(turns(f"{text} {'z ' * 600}. {text}"), most=most, resting=[resting])
        head, _, tail = kept.content.partition("[…")
        for end in (head, tail):
            assert resting in end or not any(sentence in end for sentence in resting.removesuffix(".").split(". "))
        ends.add((resting in head, resting in tail))
    assert ends >= {(False, False), (True, True)}


def test_where_both_ends_lie_within_what_facts_rest_on_only_the_mark_stays() -> None:
    first, last = ("the safe " * 290).strip(), ("the key " * 375).strip()
    assert said(excerpt.of_turns(turns(first, last), most=2_000, resting=[first, last])) == [(1, "[… 5,608 characters are put away …]")]
    assert said(excerpt.of_turns(turns(first), most=2_000, resting=[first])) == [(1, "[… 2,609 characters are put away …]")]
    told = excerpt.of_text(f"User: {first}\nAssistant: {last}", most=2_000, resting=[first, last])
    assert transcript.of_text(told) == ()
    assert told == "[… 5,609 characters are put away …]"


def test_words_that_overlap_others_far_beyond_the_cut_are_followed_to_where_the_first_of_them_begins() -> None:
    words = [f"word{at}" for at in range(3_000)]
    resting = {" ".join(words[at : at + 20]) for at in range(100, 2_900, 10)}
    (kept,) = excerpt.of_turns(turns(" ".join(words)), most=12_000, resting=resting)
    head, _, tail = kept.content.split("\n")
    assert (head.split()[-1], tail.split()[0]) == ("word99", "word2910")


def test_in_a_long_transcript_what_facts_rest_on_is_looked_for_around_the_cuts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    found = spans.found

    def listened(text: str, wordings: Collection[str]) -> list[spans.Span]:
        searched.append(len(text))
        return found(text, wordings)

    monkeypatch.setattr(spans, "found", listened)
    text = " ".join(f"Of harbour {at} was spoken at length, and of its ferry." for at in range(20_000))
    resting = [f"Of harbour {at} was spoken at length, and of its ferry." for at in (*range(25), *range(19_980, 20_000))]
    kept = excerpt.of(Transcript(text), most=2_000, resting=resting).detail
    assert len(text) > 1_000_000
    assert sum(searched) < 20_000
    assert kept is not None
    assert kept.splitlines()[0].endswith("and of its ferry.")
    assert kept.splitlines()[-1].startswith("Of harbour ")


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
