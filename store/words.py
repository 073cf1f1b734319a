"""Words: what a memory is found by, kept beside it as a `tsvector` whose positions count how often each term is said.

    fact ──said──▶ "Mara takes her coffee black" ──terms──▶ 'black':1 'coffe':1 'mara':1 'take':1, and 4 in all

A memory written here gets them in the statement that writes it; one that was there before search was, from the fill (`wordless`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from nous.terms import terms

MOST_TIMES = 255
"""A `tsvector` counts no further; a memory that says a word so often is about it."""

MOST_BYTES = 1 << 19
"""What the words of a memory take at most. A `tsvector` holds 1 MiB; only a text of long words in another script comes near it."""

COLUMNS = ("words", "word_count")


def kept(said: str) -> dict[str, object]:
    """The values of a row's COLUMNS: of more words than there is room for those that were said first, and none of the others counts."""
    found, left = Counter(terms(said)), MOST_BYTES
    for term, times in found.items():
        left -= len(term.encode()) + 4 + 2 * min(times, MOST_TIMES)
        if left < 0:
            found[term] = 0
    found = +found
    return {
        "words": " ".join(f"'{term}':{','.join(map(str, range(1, min(times, MOST_TIMES) + 1)))}" for term, times in found.items()),
        "word_count": found.total(),
    }


def query(wanted: Iterable[str]) -> str:
    """The `tsquery` of what says any of these terms."""
    return " | ".join(f"'{term}'" for term in wanted)


def fact(content: str, subject: str | None) -> str:
    """What a fact is found by: its words and whom they are about."""
    return f"{content} {subject}" if subject and subject.casefold() not in content.casefold() else content


def joined(parts: Sequence[str | None]) -> str:
    """What these say, one after another; what is not there says nothing."""
    return "\n".join(part for part in parts if part)
