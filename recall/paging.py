"""A record in pages: where each begins is told by the lengths of its lines alone, so that of a long one no more is read than a page.

    lengths of the lines ─▶ pieces of 300 characters, numbered from 1 ─▶ the lines that hold a page's pieces ─▶ those that fit

A piece ends with a word where one ends near there. The lengths are those that are stored: where less of a line is told, for something was
recalled into it, its last pieces are empty; where more is, its last piece is longer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from nous import fence
from nous.errors import UserMistake

from .tokens import counted_all

PIECE_CHARACTERS = 300
"""Of a piece, which fits into the smallest page."""

BACK_CHARACTERS = 60  # that a piece may be shorter, to end with a word
MOST_CHARACTERS_OF_A_TOKEN = 8
"""Of ordinary text; a page of other text may be shorter than it could be."""


@dataclass(frozen=True, slots=True)
class Window:
    """The lines that hold the pieces of a page, from `begin` to before `end`, and how many pieces each of them has.

    The page leaves out the first `skip` pieces; it begins with piece `first` of `of`.
    """

    begin: int
    end: int
    counts: tuple[int, ...]
    skip: int
    first: int
    of: int


@dataclass(frozen=True, slots=True)
class Page:
    """What a page tells, line by line; its last piece is `last`."""

    lines: tuple[str, ...]
    last: int


def window(lengths: Sequence[int], *, first: int, most_tokens: int) -> Window:
    """Where the page is that begins with the piece `first`. Raises UserMistake where there is no such piece."""
    counts = [max(1, ceil(length / PIECE_CHARACTERS)) for length in lengths]
    total = sum(counts)
    if first > max(total, 1):
        raise UserMistake(f"it has {total:,} lines, so there is none from {first:,} on; leave from_line out for the first")
    begin, before = 0, 0
    while begin < len(counts) and before + counts[begin] < first:
        before += counts[begin]
        begin += 1
    skip = first - 1 - before
    end, room = begin, ceil(most_tokens * MOST_CHARACTERS_OF_A_TOKEN / PIECE_CHARACTERS) + skip
    while end < len(counts) and (room > 0 or end == begin):
        room -= counts[end]
        end += 1
    return Window(begin, end, tuple(counts[begin:end]), skip, first, total)


def fill(page: Window, lines: Sequence[str], *, most_tokens: int, margin: float) -> Page:
    """As many pieces of these lines, which are the window's, as fit into so many tokens; one at least."""
    pieces = list(_pieces(page, lines))
    left, shown = most_tokens, 0
    for cost in counted_all([f"{fence.BAR}{piece}\n" for _, piece in pieces], margin=margin):
        left -= cost
        if left < 0 and shown:
            break
        shown += 1
    told: dict[int, str] = {}
    for line, piece in pieces[:shown]:
        told[line] = told.get(line, "") + piece
    return Page(tuple(filter(None, map(str.strip, told.values()))), page.first - 1 + shown)


def _pieces(page: Window, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each piece with the number of its line."""
    skip = page.skip
    for number, (line, count) in enumerate(zip(lines, page.counts, strict=True)):
        start = _end(line, skip * PIECE_CHARACTERS)
        for piece in range(skip, count):
            end = len(line) if piece == count - 1 else _end(line, (piece + 1) * PIECE_CHARACTERS)
            yield number, line[start:end]
            start = end
        skip = 0


def _end(line: str, at: int) -> int:
    """Where a piece ends that would end there."""
    if at == 0 or at >= len(line):
        return min(at, len(line))
    space = line.rfind(" ", at - BACK_CHARACTERS, at)
    return at if space < 0 else space + 1
