"""From words to the keys two texts are compared by: the words of one meaning made alike."""

from functools import lru_cache
from typing import NamedTuple

from . import english
from .alike import ELIDED, as_in_english, with_dates, without_elided
from .words import words_of


class Reading(NamedTuple):
    """A text as keys to compare and, for each key, the piece of text it came from."""

    keys: tuple[str, ...]
    pieces: tuple[str, ...]
    is_english: bool
    is_one_case: bool
    has_comma: bool


def read_both(old: str, new: str) -> tuple[Reading, Reading]:
    """Both texts as English if one of them surely is: two wordings of one fact are in one language."""
    is_english = words_of(old).is_english or words_of(new).is_english
    return read(old, is_english), read(new, is_english)


@lru_cache(maxsize=512)
def read(text: str, is_english: bool) -> Reading:
    """The keys of `text`, and what they were read from."""
    words = words_of(text)
    keys, pieces, found = list(words.keys), list(words.pieces), set(words.keys)
    if not found.isdisjoint(ELIDED):
        keys, pieces = without_elided(keys, pieces)
    if is_english:
        keys = as_in_english(keys, pieces)
    if words.has_dash or not found.isdisjoint(english.MONTHS):
        keys, pieces = with_dates(keys, pieces)
    return Reading(tuple(keys), tuple(pieces), is_english, words.is_one_case, "," in keys)
