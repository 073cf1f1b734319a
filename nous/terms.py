"""Terms: what a text is found by, whatever language it is in: words folded and stemmed, pairs of characters where words do not stand apart.

    text ──form──▶ one Unicode form ──fold──▶ no case, no accents ──┬─ words that stand apart ──▶ stemmed in the language of the text
                                                                   ├─ numbers ───────────────▶ as they are
                                                                   └─ Han, kana, Thai, Hangul ▶ pairs of neighbours

The language is guessed by script, and among those in Latin letters by the little words it cannot do without and by its accents; a text
that may as well be English is English. A guess may fail on a short text, so a word that is not English is a term beside its stem. The
little words themselves are left out, unless there is nothing else: `Who is it?` is found by all it says.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from threading import get_ident

import Stemmer

from nous.little import LITTLE
from nous.text import SPACED, fold_case, form

LONGEST_TERM = 64
"""Characters of a term that count: a key of 8,000 characters is told from another by its beginning."""

MOST_TERMS = 10_000
"""Terms of one text: every pair of neighbours of the longest text a fact may be (8,000 characters), and room."""

_REMEMBERED_STEMS = 20_000

_OF_SCRIPT = {
    "CYRILLIC": "russian",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "DEVANAGARI": "hindi",
    "TAMIL": "tamil",
    "ARMENIAN": "armenian",
}
_ACCENTED = {"spanish": "ñ¿¡", "portuguese": "ãõ", "french": "èêëîûœ", "german": "äöüß", "italian": "ìò", "swedish": "åøæ"}
_ASCII_WORD = re.compile(r"[a-z]+|\d+")
_SHORTENED = re.compile(r"(?<=\w)'(?:s|t|d|m|ll|re|ve)\b|\b(?:[cdjlmnst]|qu|gl|dell|nell|all|un)'(?=\w)", re.IGNORECASE)

# Scripts without spaces between words, and Hangul, whose words carry their particles with them.
_TOGETHER = (
    "\u0e00-\u109f\u1780-\u17ff\u1950-\u1aaf\u3005-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff\U0001b000-\U0001b2ff\U00020000-\U0003ffff"
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
)
_RUN = re.compile(f"[{_TOGETHER}]+")
_MARKS = "".join(
    chr(code)
    for first, end in ((0x0E00, 0x10A0), (0x1780, 0x1800), (0x1950, 0x1AB0))
    for code in range(first, end)
    if unicodedata.category(chr(code))[0] == "M"
)
_SIGN = re.compile(f".[{_MARKS}]*")
_PUNCTUATION = re.compile("[\u3001-\u3003\u3008-\u3020\u3030\u30fb\uff00-\uff0f]+")


def terms(text: str) -> list[str]:
    """The terms of a text in their order, each as often as it is said; those of a question are found in what says the same.

    A term has letters and digits only. A text of nothing but signs has none.
    """
    formed = fold_case(form(text))
    if formed.isascii():
        pairs: list[str] = []
        words = _ASCII_WORD.findall(_SHORTENED.sub(" ", formed) if "'" in formed else formed)
        spoken = _guessed(words, "")
    else:
        accented, formed = formed, _plain(formed)
        pairs = list(_pairs(formed))
        words = [word for word in SPACED.findall(_SHORTENED.sub(" ", formed)) if not _RUN.match(word)]
        spoken = _of_script(words) or _guessed(words, accented)
    little = LITTLE.get(spoken, frozenset())
    telling = [word[:LONGEST_TERM] for word in words if word not in little]
    if not (telling or pairs):
        telling = [word[:LONGEST_TERM] for word in words]
    stems = _stemmer(spoken, get_ident()).stemWords(telling)
    if spoken != "english":
        stems += [word for word, stem in zip(telling, stems, strict=True) if word != stem]
    return [*stems, *pairs][:MOST_TERMS]


def language(text: str) -> str:
    """The language a text is most likely in, `english` where nothing tells another."""
    formed = fold_case(form(text))
    words = SPACED.findall(_plain(formed))
    return _of_script(words) or _guessed(words, "" if formed.isascii() else formed)


def _of_script(words: list[str]) -> str | None:
    """The language of the first word in another script than Latin, if that has a stemmer of its own."""
    first = next((word[0] for word in words if word[0] > "\u024f"), None)
    return _OF_SCRIPT.get(unicodedata.name(first, "").partition(" ")[0]) if first else None


def _guessed(words: list[str], accented: str) -> str:
    """The language these folded words are most likely in; what several languages share, and an accent of one, are its part of a vote."""
    votes: dict[str, float] = {}
    for word in words:
        if shared := _WHOSE.get(word):
            for language in shared:
                votes[language] = votes.get(language, 0.0) + 1 / len(shared)
    if not votes and not accented:
        return "english"
    for language, letters in _ACCENTS.items():
        if not letters.isdisjoint(accented):
            votes[language] = votes.get(language, 0.0) + 1.0
    return max(_LIKELIEST_FIRST, key=lambda language: votes.get(language, 0.0))


_LIKELIEST_FIRST = [language for language in LITTLE if language not in _OF_SCRIPT.values()]
_ACCENTS = {language: frozenset(letters) for language, letters in _ACCENTED.items()}
_WHOSE = {
    word: tuple(language for language in _LIKELIEST_FIRST if word in LITTLE[language])
    for language in _LIKELIEST_FIRST
    for word in LITTLE[language]
}


def _plain(formed: str) -> str:
    """Without accents on Latin and Greek letters: `café` is found by `cafe`. The letters of other scripts keep their marks."""
    return "".join(_BARE.get(letter) or _bared(letter) for letter in formed)


_BARE: dict[str, str] = {"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "ı": "i", "æ": "ae", "œ": "oe", "ё": "е"}


def _bared(letter: str) -> str:
    if letter.isascii() or not ("\u00c0" <= letter <= "\u03ff" or "\u1e00" <= letter <= "\u1fff"):
        return letter
    return _BARE.setdefault(letter, unicodedata.normalize("NFD", letter)[0])


def _pairs(formed: str) -> Iterator[str]:
    """Each two neighbours of what is written together; a sign that stands alone is a term by itself."""
    for run in _RUN.findall(_PUNCTUATION.sub(" ", formed)):
        signs = _SIGN.findall(run)
        if len(signs) == 1:
            yield signs[0][:LONGEST_TERM]
        for left, right in pairwise(signs):
            yield (left + right)[:LONGEST_TERM]


@lru_cache(maxsize=64)
def _stemmer(language: str, _thread: int) -> "Stemmer.Stemmer":
    """One for each language and thread: it is no thread's but its own, and remembers what it stemmed."""
    return Stemmer.Stemmer(language, _REMEMBERED_STEMS)
