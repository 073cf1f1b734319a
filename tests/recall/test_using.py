"""What an answer drew on: what it names, and what it says in its own words; nothing else that was told."""

from uuid import UUID

import pytest

from recall.using import referenced
from store.served import Named

TEA, DESK = UUID("5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10"), UUID("6c1f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10")
TOLD = (Named("fact", TEA, "f-5b0f0d3e"), Named("decision", DESK, "d-6c1f0d3e"))
LINES = {("fact", TEA): "Maria drinks green tea in the morning", ("decision", DESK): "Chose a standing desk for the office"}


def drew_on(answer: str, *cited: str) -> list[tuple[UUID, str]]:
    return [(one.id, one.how) for one in referenced(TOLD, LINES, answer, cited=cited)]


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


@pytest.mark.parametrize("cited", ["f-5b0f0d3e", " F-5B0F0D3E ", str(TEA), TEA.hex])
def test_what_is_cited_beside_the_answer_counts_however_it_is_written(cited: str) -> None:
    assert drew_on("No idea.", cited) == [(TEA, "cited")]


def test_what_was_forgotten_meanwhile_has_no_words_to_share() -> None:
    assert referenced(TOLD, {}, "She drinks green tea in the morning.") == ()
