"""How much two texts share of their words, whatever language they are in: the same stems, and pairs of characters where words do not stand
apart.

    overlap(one, other)       Jaccard: what both say of all that either says, 0 to 1
    drawn_on(memory, answer)  how much of a memory is in an answer: the best of the whole answer and of its sentences

The spec compares words of three letters and more (001, D3), which no Chinese sentence has; terms are in nous.terms. It compares the whole
answer alone, too: docs/decisions/0026-use.md says why its sentences count here, and what names somebody does not.
"""

from collections.abc import Set
from functools import lru_cache

from nous.terms import terms

from .sentences import sentences

REFERENCED = 0.15
"""From here on an answer drew on a memory (spec 001, D3)."""

REPEATED = 0.5
"""Above this a memory says again what was just said (spec 001), unless another value was fitted or set."""


def overlap(one: str, other: str) -> float:
    """The share of terms both have of those that either has, 0 to 1; 0 where one has none."""
    return jaccard(set(terms(one)), set(terms(other)))


def drawn_on(memory: str, answer: str, *, known: Set[str] = frozenset()) -> float:
    """How much of `memory` an answer says, 0 to 1: a long answer that says it in one sentence drew on it as much as a short one.

    `known` are terms that come from elsewhere, such as the question's: what shares no others with the memory says nothing of it.
    """
    wanted = set(terms(memory))
    return max((jaccard(wanted, said) for said in _said(answer) if (wanted & said) - known), default=0.0)


def jaccard(one: Set[str], other: Set[str]) -> float:
    """Of two sets of terms."""
    return len(one & other) / len(one | other) if one and other else 0.0


@lru_cache(maxsize=8)
def _said(answer: str) -> tuple[frozenset[str], ...]:
    """The terms of the whole answer, and of each sentence; many memories are held against one answer."""
    parts = sentences(answer)
    return tuple(frozenset(terms(part)) for part in (answer, *(parts if len(parts) > 1 else ())))
