"""A memory in full, as much of it at once as a model has room for: a transcript of a thousand turns comes in pages.

lines ─▶ pieces, none of them long ─▶ from the one that is asked for as many as fit ─▶ the fence, and how to get the others
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from nous import fence
from nous.errors import UserMistake
from recall import tokens
from recall.assembling import harmless
from recall.expanding import Expanded
from recall.sentences import cut_at_a_sentence

LONGEST_PIECE = 300
"""Characters: a piece fits into the smallest page."""

FEWEST_TOKENS = 1_000
LONGEST_COUNT = 10_000_000  # of lines, for the room that is kept for saying how to go on

TOKENS = 4_000
"""Of a page, where nobody says how many: about as many as a recall tells."""


def page(found: Expanded, *, first: int, most: int, margin: float) -> str:
    """The page of at most `most` tokens that begins with the line `first` (from 1), and of a memory that goes on how to get the rest.

    What is to the point of the question stands on the first page. Raises UserMistake where the memory has no such line.
    """
    pieces = [piece for line in found.lines for piece in _pieces(line)]
    if first > max(len(pieces), 1):
        raise UserMistake(f"it has {len(pieces):,} lines, so there is none from {first:,} on; leave from_line out for the first")
    begins = [f"[{found.kind} {found.memory_id}]"]
    if found.part and first == 1:
        begins += _pieces(f"to the point: {harmless(found.part)}")
    around = _said(begins, LONGEST_COUNT, LONGEST_COUNT, LONGEST_COUNT + 1)
    shown = list(_fitting(pieces[first - 1 :], most - tokens.counted(around, margin=margin), margin))
    last = first - 1 + len(shown)
    return _said([*begins, *shown], first, last, len(pieces))


def _said(lines: Sequence[str], first: int, last: int, of: int) -> str:
    text = fence.recalled(lines)
    if first == 1 and last == of:
        return text
    rest = f"; {of - last:,} follow: call expand with from_line={last + 1}, or with a question for what bears on it" if last < of else ""
    return f"{text}\nLines {first:,} to {last:,} of {of:,}{rest}."


def _fitting(pieces: Sequence[str], room: int, margin: float) -> Iterator[str]:
    """The first of them, and those after it there is room for."""
    yield from islice(pieces, 1)
    left = room - sum(tokens.counted(f"{fence.BAR}{piece}\n", margin=margin) for piece in islice(pieces, 1))
    for piece in islice(pieces, 1, None):
        left -= tokens.counted(f"{fence.BAR}{piece}\n", margin=margin)
        if left < 0:
            return
        yield piece


def _pieces(line: str) -> list[str]:
    """A line, cut at the ends of sentences where it is long, or wherever it has to be."""
    pieces: list[str] = []
    while len(line) > LONGEST_PIECE:
        piece = cut_at_a_sentence(line, line[:LONGEST_PIECE]) or line[:LONGEST_PIECE].rpartition(" ")[0] or line[:LONGEST_PIECE]
        pieces.append(piece)
        line = line[len(piece) :].lstrip()
    return [*pieces, line] if line else pieces
