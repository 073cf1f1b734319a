"""A long record in pages: nothing is left out or told twice, whatever its lines are, and no more of it is read than a page."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from nous.errors import UserMistake
from recall import paging
from recall.paging import PIECE_CHARACTERS

LINES = some.lists(some.text(alphabet="ab .\n", max_size=1_000).map(lambda said: said.replace("\n", " ").strip()), max_size=6)


def pages(lines: list[str], *, most_tokens: int) -> list[paging.Page]:
    """All of them, each read as one who goes on from the one before."""
    first, told = 1, []
    while True:
        window = paging.window([len(line) for line in lines], first=first, most_tokens=most_tokens)
        page = paging.fill(window, lines[window.begin : window.end], most_tokens=most_tokens, margin=1.0)
        told.append(page)
        if page.last >= window.of:
            return told
        assert page.last >= first
        first = page.last + 1


@given(lines=LINES, most_tokens=some.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_pages_together_are_the_whole(lines: list[str], most_tokens: int) -> None:
    told = "".join(line for page in pages(lines, most_tokens=most_tokens) for line in page.lines)
    assert told.replace(" ", "") == "".join(lines).replace(" ", "")


def test_what_fits_is_one_page_with_its_lines_as_they_are() -> None:
    lines = ["one " * 500, "", "two"]
    (page,) = pages(lines, most_tokens=10_000)
    assert page.lines == (lines[0].strip(), "two")


def test_a_piece_ends_with_a_word_where_one_ends_near_there() -> None:
    words = pages(["word " * 1_000], most_tokens=100)
    assert sum(line.count("word") for page in words for line in page.lines) == 1_000
    assert all(set(line.split()) == {"word"} for page in words for line in page.lines)
    solid = pages(["x" * 1_000], most_tokens=1)
    assert [line for page in solid for line in page.lines] == ["x" * PIECE_CHARACTERS] * 3 + ["x" * 100]


def test_no_more_lines_are_wanted_than_a_page_may_hold() -> None:
    lengths = [1_000_000] * 50
    middle = paging.window(lengths, first=paging.window(lengths, first=1, most_tokens=1).of // 2, most_tokens=1_000)
    assert middle.end - middle.begin <= 2
    assert (middle.begin, middle.of) == (24, 50 * 3_334)


def test_a_line_that_became_shorter_or_longer_than_it_was_stored_keeps_the_numbers_of_the_others() -> None:
    window = paging.window([900, 10], first=2, most_tokens=10_000)
    for now in ("a" * 310, "a" * 2_000):
        page = paging.fill(window, [now, "the end"], most_tokens=10_000, margin=1.0)
        assert page.lines == (now[PIECE_CHARACTERS:], "the end")
        assert page.last == window.of == 4


def test_there_is_no_page_behind_the_last() -> None:
    with pytest.raises(UserMistake, match="it has 4 lines, so there is none from 5 on"):
        paging.window([900, 10], first=5, most_tokens=1_000)
    assert paging.window([], first=1, most_tokens=1_000).of == 0
