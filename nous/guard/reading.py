"""From words to the keys two texts are compared by: the words of one meaning made alike, and the signs that speak put between them."""

import re
from functools import lru_cache
from typing import NamedTuple

from . import english
from .alike import ELIDED, as_in_english, with_dates, without_elided
from .words import Words, words_of


class Reading(NamedTuple):
    """A text as keys to compare and, for each key, the piece of text it came from."""

    keys: tuple[str, ...]
    pieces: tuple[str, ...]
    is_english: bool


_HAN_TITLE = re.compile("(?:(?![我你您咱俺私僕君])[\u30a1-\u30ff\u3400-\u9fff])+")


def read_both(old: str, new: str) -> tuple[Reading, Reading]:
    """Both texts as English if one of them surely is: two wordings of one fact are in one language."""
    is_english = words_of(old).is_english or words_of(new).is_english
    return read(old, is_english), read(new, is_english)


@lru_cache(maxsize=512)
def read(text: str, is_english: bool) -> Reading:
    """The keys of `text`, and what they were read from."""
    words = words_of(text)
    keys, pieces, found = list(words.keys), list(words.pieces), set(words.keys)
    if words.pauses or words.quotes:
        _with_speaking_signs(words, keys, pieces, is_english=is_english)
    if not found.isdisjoint(ELIDED):
        keys, pieces = without_elided(keys, pieces)
    if is_english:
        keys = as_in_english(keys, pieces)
    if words.has_dash or not found.isdisjoint(english.MONTHS):
        keys, pieces = with_dates(keys, pieces)
    return Reading(tuple(keys), tuple(pieces), is_english)


def _with_speaking_signs(words: Words, keys: list[str], pieces: list[str], *, is_english: bool) -> None:
    """Put between the keys those commas and quotation marks that change what is said."""
    signs = [(at, ",") for at in words.pauses if _is_speaking_pause(words, at)]
    for start, end in words.quotes:
        if _is_speaking_quote(words, start, end, is_english=is_english):
            signs += [(start, '"'), (end, '"')]
    for at, sign in sorted(signs, reverse=True):
        keys.insert(at, sign)
        pieces.insert(at, sign)


def _is_speaking_pause(words: Words, at: int) -> bool:
    """`No, more came`; `she likes cooking, cats and tea`; `Bob, says Alice, is ill`; `call me, Bob`."""
    if not 0 < at < len(words.keys):
        return False
    before, behind = words.keys[at - 1], words.keys[at]
    is_call = at == len(words.keys) - 1 and words.pieces[at][:1].isupper() and before in {"me", "him", "her", "us", "them", "you"}
    return before in english.ANSWERS or before.endswith("ing") or behind in english.SAYING or is_call


def _is_speaking_quote(words: Words, start: int, end: int, *, is_english: bool) -> bool:
    """Whether someone else may speak in this quotation: `Bob said "I am ill"` is not `Bob said I am ill`."""
    if end - start <= 1 or (start == 0 and end == len(words.keys)):
        return False
    quoted = words.keys[start:end]
    if is_english:
        return not english.SPEAKERS.isdisjoint(quoted)
    return len(quoted) > 4 or not _HAN_TITLE.fullmatch("".join(quoted))
