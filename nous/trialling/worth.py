"""What a reading of an episode is worth: its facts held against what ought to be known of it. For measuring alone.

    gold ─┬─ no fact is near enough (the embedder's check_similarity) ─▶ not covered
          ├─ near ones lack a name or number of it, or deny it ────────▶ not covered
          └─ a near one has them all ──────────────────────────────────▶ covered

What differs between two wordings the guard says (nous.guard): it takes `15 April` for `April 15th` and `five` for 5. Of what differs only
the gold's names and numbers count, and negations: a fact that says more than the gold covers it. A name is a word with a capital, or a
digit in it, that does not begin a sentence, or is one of `names`; so that German nouns are names too, and words of scripts without capitals
are none.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nous import guard
from nous.text import fold_case, form
from store.vectors import Vector

_TOKEN = re.compile(r"[^\W_]+(?:[.,:/'’_\-][^\W_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:…。！？]\s+|^[-*•]\s*)[\"'“(]*$")
_POSSESSIVE = re.compile(r"['’]s?$")
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "i'll"})


@dataclass(frozen=True, slots=True)
class Known:
    """Of each gold fact whether one of the facts says it, and how near the nearest is (cosine; 0 when there is none)."""

    covered: tuple[bool, ...]
    nearest: tuple[float, ...]


def known(
    gold: Sequence[str], facts: Sequence[str], vectors: Mapping[str, Vector], *, at_least: float, names: Collection[str] = ()
) -> Known:
    """What these facts know of the gold, by the vectors (of length one) of both."""
    if not gold or not facts:
        return Known((False,) * len(gold), (0.0,) * len(gold))
    rows, columns = (np.array([vectors[text] for text in texts], np.float32) for texts in (gold, facts))
    similar = rows @ columns.T
    covered = (
        any(cosine >= at_least and keeps(one, fact, names=names) for fact, cosine in zip(facts, row, strict=True))
        for one, row in zip(gold, similar, strict=True)
    )
    return Known(tuple(covered), tuple(map(float, similar.max(axis=1))))


def keeps(gold: str, fact: str, *, names: Collection[str] = ()) -> bool:
    """Whether the fact has every name and number of the gold, and does not deny it."""
    findings = guard.agree(gold, fact).findings
    if any(finding.kind == "negation" for finding in findings):
        return False
    differing = {token for finding in findings for token in tokens(finding.old)}
    return not (set(telling(gold, names=names)) & differing) - set(tokens(fact))


def telling(text: str, *, names: Collection[str] = ()) -> Iterator[str]:
    """The names and numbers in a text, folded."""
    known = {token for name in names for token in tokens(name)}
    text = form(text)
    for found in _TOKEN.finditer(text):
        word, token = found[0], _folded(found[0])
        is_name = word != word.lower() and token not in _FIRST_PERSON and not _BEGINS.search(text, 0, found.start())
        if is_name or token in known or any(map(str.isdigit, word)):
            yield token


def tokens(text: str) -> list[str]:
    """The words and numbers of a text, folded, without possessives."""
    return [_folded(found[0]) for found in _TOKEN.finditer(form(text))]


def present(wanted: Iterable[str], text: str) -> tuple[int, int]:
    """How many of these names and numbers are in a text, and how many they are, each once."""
    each, there = set(wanted), set(tokens(text))
    return len(each & there), len(each)


def _folded(token: str) -> str:
    return _POSSESSIVE.sub("", fold_case(token))
