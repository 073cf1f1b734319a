"""A memory in full, as much of it at once as a model has room for: a transcript of a thousand turns comes in pages.

a page of the memory (recall.paging) ─▶ in its fence, and below it how to get the others
"""

from recall import tokens
from recall.expanding import Expanded

FEWEST_TOKENS = 1_000
LONGEST_COUNT = 10_000_000  # of lines, for the room that is kept for saying how to go on

TOKENS = 4_000
"""Of a page, where nobody says how many: about as many as a recall tells."""


def room(most: int, *, margin: float) -> int:
    """How many tokens of a page are the memory's, where saying how to go on takes the others."""
    return most - tokens.counted(_on(LONGEST_COUNT, LONGEST_COUNT, LONGEST_COUNT + 1), margin=margin)


def said(found: Expanded) -> str:
    """The page, and of a memory that goes on how to get the rest."""
    return f"{found.text}{_on(found.first, found.last, found.of)}"


def _on(first: int, last: int, of: int) -> str:
    if first == 1 and last >= of:
        return ""
    rest = f"; {of - last:,} follow: call expand with from_line={last + 1}, or with a question for what bears on it" if last < of else ""
    return f"\nLines {first:,} to {last:,} of {of:,}{rest}."
