"""Words that differ in case only, where one of the texts is all in small letters or all in capitals and its case says nothing."""

import re

from nous.text import WORD, fold_case

from .reading import Reading

_LEAST = 5  # words: of `US` or `us` alone nobody knows what is meant
_ABBREVIATION = re.compile(r"\.?[A-Za-z]{1,5}(?:\.[A-Za-z]{1,4})*(?:\.?'s)?")
_CAMEL = re.compile(r"(?<![A-Za-z])[a-z]+[A-Z]")
_COUNTS = frozenset({"one", "hundred", "thousand", "million", "billion"})


def says_nothing(here: Reading, at: int, there: Reading, opposite: int) -> bool:
    """Whether these two keys are one word, and the case of at least one of the texts cannot tell which: `WHO` in `a report of the who`.

    A unit behind a number, a name in code and you in German (`Sie`) stay what they are.
    """
    if here.pieces[at].isupper() and here.pieces[at] == there.pieces[opposite]:
        return True  # `Japan, US` and `Japan US`
    if not (here.is_one_case or there.is_one_case) or min(len(here.keys), len(there.keys)) < _LEAST:
        return False
    piece, other = here.pieces[at], there.pieces[opposite]
    return bool(piece) and fold_case(piece) == fold_case(other) and all(map(_is_free, (piece, other))) and not _is_counted(here, at)


def _is_free(piece: str) -> bool:
    """Whether the case of this is only a matter of how a text is written."""
    if _CAMEL.search(piece) or (piece.istitle() and len(piece) > 1):
        return False
    return WORD.fullmatch(piece) is not None or _ABBREVIATION.fullmatch(piece) is not None


def _is_counted(here: Reading, at: int) -> bool:
    """Whether this may be a unit behind its number."""
    before = here.keys[at - 1] if at else ""
    return (before[-1:].isdigit() or before in _COUNTS) and len(here.pieces[at]) < 5
