"""How a text is heard: without the fence and in one case, and whether certain phrases are in it.

    said ─▶ heard (one form, one case) ─▶ Phrases("decid*|chose").found(heard)

A phrase of letters is made of whole words, and may go on where it ends in `*`. In scripts whose words do not stand apart, and in Korean,
whose words carry others behind them, a phrase is found where it stands; in Arabic also behind what is written together with it. The time is
linear in the text.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from nous import text
from nous.fence import without_recalled

FREE = (  # scripts in which words do not stand apart, or carry others before or behind them
    "\u0600-\u06ff\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
)
_IS_FREE = re.compile(f"[{FREE}]")
WORD_BEGINS = f"(?<![^\\W{FREE}])"
WORD_ENDS = f"(?![^\\W{FREE}])"
"""As parts of a regular expression: no letter or digit of a word that stands apart is before, or behind."""
_ARABIC = re.compile("[\u0600-\u06ff]")
_ARABIC_PREFIXES = r"(?<!\w)(?:[وفبلك]{0,2}(?:ال)?)"
_GOES_ON = r"\w*"


def heard(said: str) -> str:
    """`said` without what was recalled into it, in one form and small letters."""
    return text.form(without_recalled(said)).casefold()


class Phrases:
    """Phrases to be found in what `heard` gives: words and rows of words, parted by `|`."""

    def __init__(self, phrases: str) -> None:
        every = sorted({_heard_phrase(phrase) for phrase in phrases.split("|") if phrase.strip()}, key=lambda one: (-len(one), one))
        self._pattern = re.compile(_as_pattern(every))

    def found(self, heard_text: str) -> list[str]:
        """What was found, from left to right, each once."""
        return list(dict.fromkeys(self._pattern.findall(heard_text)))

    def first(self, heard_text: str) -> re.Match[str] | None:
        """The first one."""
        return self._pattern.search(heard_text)

    def begins(self, heard_text: str) -> re.Match[str] | None:
        """The one that the text begins with."""
        return self._pattern.match(heard_text)

    def without(self, heard_text: str) -> str:
        """The text with a space instead of each."""
        return self._pattern.sub(" ", heard_text)


def stands_apart(character: str) -> bool:
    """Whether words of its script stand apart and carry no others with them."""
    return (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M") and not _IS_FREE.match(character)


def _heard_phrase(phrase: str) -> str:
    return text.form(phrase).casefold()


def _as_pattern(phrases: list[str]) -> str:
    """All of them, with what must be before and behind them said once for all neighbours that begin, or end, alike.

    So most places are passed over at a glance, and there is little to compile: each set of characters costs two milliseconds. Behind a
    phrase that goes on to the end of its word stands nothing that must not.
    """
    by_beginning: dict[str, list[str]] = {}
    for phrase in phrases:
        by_beginning.setdefault(_bounds(phrase[0])[0], []).append(phrase)
    return "|".join(f"{before}(?:{'|'.join(_ended(some))})" for before, some in by_beginning.items())


def _ended(phrases: list[str]) -> Iterator[str]:
    """Neighbours that end alike, with what must be behind them; their order, the longest first, is kept."""
    for behind, alike in groupby(phrases, key=lambda phrase: _bounds(phrase.removesuffix("*")[-1])[1]):
        yield f"(?:{'|'.join(_written(phrase, behind) for phrase in alike)}){behind}"


def _written(phrase: str, behind: str) -> str:
    words = re.escape(phrase.removesuffix("*"))
    return f"{words}{_GOES_ON}" if behind and phrase.endswith("*") else words


def _bounds(letter: str) -> tuple[str, str]:
    """What must be before and behind a phrase that begins, or ends, with this letter."""
    if _ARABIC.match(letter):
        return _ARABIC_PREFIXES, r"(?!\w)"
    return (WORD_BEGINS, WORD_ENDS) if stands_apart(letter) else ("", "")
