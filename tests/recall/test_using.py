"""What an answer drew on: what it names, and what it says in its own words; nothing else that was told."""

from uuid import UUID

import pytest

from recall.using import compared, not_understood
from store.served import Line, Named, Serving

TEA, DESK = UUID("5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10"), UUID("6c1f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10")
TOLD = Serving(UUID(int=1), (Named("fact", TEA, "f-5b0f0d3e"), Named("decision", DESK, "d-6c1f0d3e")), "Anything to know?")
LINES = {
    ("fact", TEA): Line("Maria drinks green tea in the morning", "Maria"),
    ("decision", DESK): Line("Chose a standing desk for the office"),
}


def drew_on(answer: str, *cited: str) -> list[tuple[UUID, str]]:
    return [(one.id, one.how) for one in compared(TOLD, LINES, answer, cited=cited).drawn_on]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("She drinks green tea in the morning.", [(TEA, "overlap")]),
        ("No idea.", []),
        ("", []),
        ("See [f-5b0f0d3e].", [(TEA, "cited")]),
        ("See [F-5B0F0D3E] and (d-6c1f0d3e)!", [(TEA, "cited"), (DESK, "cited")]),
        (f"It is {TEA}.", [(TEA, "cited")]),
        ("See f-5b0f0d3e1, xf-5b0f0d3e and d-5b0f0d3e.", []),
        ("f-aaaaaaaa is no memory of this turn.", []),
    ],
)
def test_an_answer_draws_on_what_it_names_or_says(answer: str, found: list[tuple[UUID, str]]) -> None:
    assert drew_on(answer) == found


def test_a_long_answer_that_says_it_in_one_sentence_drew_on_it() -> None:
    long = "Let me think about the many things that could be said here, one after another. " * 20
    assert drew_on(f"{long} She drinks green tea in the morning.") == [(TEA, "overlap")]


@pytest.mark.parametrize(
    "cited", ["f-5b0f0d3e", " F-5B0F0D3E ", "[f-5b0f0d3e]", "f-5b0f0d", "5b0f0d3e", "5b0f0d3e-7a0e", str(TEA), TEA.hex]
)
def test_what_is_cited_beside_the_answer_counts_however_it_is_written(cited: str) -> None:
    assert drew_on("No idea.", cited) == [(TEA, "cited")]


def test_what_was_forgotten_meanwhile_has_no_words_to_share() -> None:
    assert compared(TOLD, {}, "She drinks green tea in the morning.").drawn_on == ()


def asked(question: str, line: Line, answer: str, *cited: str) -> tuple[bool, bool]:
    """Of one memory that was told to a question: whether the answer was compared with it, and whether it drew on it."""
    found = compared(Serving(UUID(int=1), TOLD.memories[:1], question), {("fact", TEA): line}, answer, cited=cited)
    return bool(found.compared), bool(found.drawn_on)


COFFEE = Line("Maria takes her coffee black", "Maria")


@pytest.mark.parametrize(
    ("question", "answer", "drew"),
    [
        ("Hi, I am back", "Hello Maria!", False),
        ("How does Maria take her coffee?", "How does Maria take her coffee?", False),
        ("How does Maria take her coffee?", "I do not know how Maria takes her coffee.", False),
        ("How does Maria take her coffee?", "She takes it black.", True),
        ("How does she like it?", "Black.", True),
    ],
)
def test_who_is_named_or_asked_about_is_not_used_by_that(question: str, answer: str, drew: bool) -> None:
    assert asked(question, COFFEE, answer) == (True, drew)


def test_what_says_no_more_than_the_question_is_not_judged_by_words_it_cannot_add_but_by_its_id() -> None:
    question = "Does Maria take her coffee black?"
    assert asked(question, COFFEE, "Yes, Maria takes her coffee black.") == (False, False)
    assert asked(question, COFFEE, "No idea.") == (False, False)
    assert asked(question, COFFEE, "Yes.", "f-5b0f0d3e") == (True, True)


def test_all_that_was_told_is_compared_and_an_answer_without_words_with_nothing() -> None:
    assert [one.id for one in compared(TOLD, LINES, "No idea.").compared] == [TEA, DESK]
    assert compared(TOLD, LINES, " \n").compared == ()


def test_what_is_cited_and_names_nothing_that_was_told_is_not_understood() -> None:
    answer, cited = f"See f-5b0f0d3e, [f-aaaaaaaa] and {UUID(int=7)}, an order number.", ["d-6c1f0d", "f-6c1f0d3e", str(UUID(int=9)), ""]
    assert not_understood(TOLD.memories, answer, cited=cited) == ("f-aaaaaaaa", "f-6c1f0d3e", str(UUID(int=9)), "")
    assert not_understood((), "See [f-5b0f0d3e].") == ("f-5b0f0d3e",)
