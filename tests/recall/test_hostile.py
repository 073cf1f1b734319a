"""Nobody can make recall think forever: whatever a turn is made of, reading it takes time in proportion to its length.

The bounds are a hundred times what is needed: they only tell what grows with the square of a text, or worse, from what does not.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nous import clock, fence, terms, text
from recall import assembling, dates, intent, overlap, repeated, sentences, significance, tokens
from recall.framing import framing
from recall.hearing import heard

CHARACTERS = 12_000
SECONDS = 2.0

PIECES = (
    *"aA1_.-/:, \n()[]<\"'“`*@#?!…。ア中яاก",
    *("a_", "ab_", "ab_cd.", "aB", "Aa", "a1", "a-", "1.", "1,", "a.b/", "@a", "a' ", "A a ", "in ", "may ", "1 may ", "in 2023 "),
    *("key ", "the key is ", "hi ", "Yo ", "Ola Nordmann ", "1,111", "< ", "<recalled_memory ", "</recalled_memory>", ". ", "a中", "中a "),
)
READERS: dict[str, Callable[[str], object]] = {
    "intent": intent.signals,
    "frame": lambda said: framing(heard(said)),
    "dates": lambda said: dates.span(said, clock.now()),
    "statements": lambda said: repeated.statements([said], window=1),
    "sentences": sentences.sentences,
    "cut": lambda said: sentences.cut_at_a_sentence(f"{said}.", said),
    "terms": terms.terms,
    "drawn on": lambda said: overlap.drawn_on("Maria lives in Oslo", said),
    "form": text.form,
    "normalised": text.normalise,
    "without what was recalled": fence.without_recalled,
    "harmless": assembling.harmless,
    "asks to remember": significance.asks_to_remember,
    "tokens": tokens.counted,
}


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Stop what takes longer, even inside a regular expression."""

    def stop(*_: object) -> None:
        raise AssertionError(f"{what} is not read within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_nothing_that_is_said_over_and_over_takes_long_to_read(reader: Callable[[str], object]) -> None:
    for piece in PIECES:
        said = (piece * CHARACTERS)[:CHARACTERS]
        with within(SECONDS, f"{CHARACTERS:,} characters of {piece!r}"):
            reader(f"{said}!")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.sampled_from(sorted(READERS)))
def test_nor_does_any_mixture_of_it(pieces: list[str], reader: str) -> None:
    together = "".join(pieces)
    with within(SECONDS, f"{together!r} over and over"):
        READERS[reader](together * (10_000 // len(together)))
