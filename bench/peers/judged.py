"""What became of the pairs, counted from what a system tells as true.

    twin, word for word    the same words are told more than once
    twin, in other words   both wordings of one fact are told
    update lost            the old fact is still told, or the new one is not; counted apart: neither is
    fact lost              a fact that ought to stand is told in none of its wordings

What a system keeps elsewhere (a history, a fact marked as past) is not told. A retired fact is no lost one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .cases import Case, normal


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counts of pairs, but for `facts_lost` of `facts`, which are of facts."""

    word_for_word: int = 0
    twins_word_for_word: int = 0
    same: int = 0
    twins_in_other_words: int = 0
    updates: int = 0
    updates_lost: int = 0
    old_still_told: int = 0
    both_gone: int = 0
    facts: int = 0
    facts_lost: int = 0


def counted(cases: Sequence[Case], told: Mapping[str, Sequence[str]]) -> Counts:
    """Counts for these pairs, given what is told for each agent."""
    heard = {agent: Counter(map(normal, texts)) for agent, texts in told.items()}
    totals: Counter[str] = Counter()
    for case in cases:
        totals.update(_of(case, heard.get(case.agent, Counter())))
    return Counts(**totals)


def _of(case: Case, heard: Mapping[str, int]) -> Counter[str]:
    first, second = heard.get(normal(case.first), 0), heard.get(normal(case.second), 0)
    match case.kind:
        case "word for word":
            return Counter(word_for_word=1, twins_word_for_word=first > 1, facts=1, facts_lost=not first)
        case "same":
            twins, lost = bool(first and second), not first and not second
            return Counter(same=1, twins_in_other_words=twins, facts=1, facts_lost=lost)
        case "update":
            lost, gone = bool(first) or not second, not first and not second
            return Counter(updates=1, updates_lost=lost, old_still_told=bool(first), both_gone=gone, facts=1, facts_lost=not second)
        case "compatible":
            return Counter(facts=2, facts_lost=(not first) + (not second))
