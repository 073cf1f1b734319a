"""What a text takes of a budget, and what is cut of it."""

from hypothesis import given
from hypothesis import strategies as st

from recall.sentences import cut_at_a_sentence, sentences
from recall.tokens import MARGIN, approximate, counted, fitting


def test_a_budget_is_charged_more_than_the_tokenizer_counts() -> None:
    assert counted("hello world", margin=1.0) == 2
    assert counted("hello world") == 4  # 2 times 1.51, rounded up
    assert counted("") == approximate("") == 0
    assert round(1.16 * 1.30, 2) == MARGIN


def test_an_approximation_is_within_half_of_what_is_counted_in_many_languages() -> None:
    for said in (
        "Maria takes her coffee black, and only in the morning before she goes to work.",
        "Maria trinkt ihren Kaffee schwarz, und nur morgens, bevor sie zur Arbeit geht.",
        "玛丽早上上班前喝黑咖啡，而且只在早上喝。",
        "Мария пьёт чёрный кофе только утром перед работой.",
    ):
        assert 0.5 < approximate(said) / counted(said, margin=1.0) < 5


@given(st.text(max_size=300), st.integers(0, 100))
def test_the_beginning_that_fits_is_one_and_fits(text: str, most: int) -> None:
    cut = fitting(text, most)
    assert text.startswith(cut)
    assert counted(cut) <= most


def test_a_text_is_taken_apart_at_the_ends_of_its_sentences() -> None:
    said = 'I like it. He said "no." Then he left! It costs 3.5 in app.py. 我们去了。他来了！\nA line\nDr. Mara came.'
    assert sentences(said) == [
        "I like it.",
        'He said "no."',
        "Then he left!",
        "It costs 3.5 in app.py.",
        "我们去了。",
        "他来了！",
        "A line",
        "Dr. Mara came.",
    ]


def test_a_cut_is_at_the_end_of_a_sentence_or_nowhere() -> None:
    text = "One is here. Two is there. Three"
    assert cut_at_a_sentence(text, "One is here. Two is") == "One is here."
    assert cut_at_a_sentence(text, "One is") == ""
    assert cut_at_a_sentence(text, text) == text
    assert cut_at_a_sentence("一来了。二来了。", "一来了。二") == "一来了。"


@given(st.text(alphabet=st.sampled_from("ab. !?。\nA3"), max_size=200))
def test_no_words_are_lost_between_sentences(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
