"""From a text to the keys it is compared by.

A chunk between spaces becomes one or a few keys if it is plainly a word, a number, a quantity or a date. Whatever is not plainly one
of these (an address, a path, a version, an identifier, a range, a sign) is its own key, with every character and its case.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from nous.text import ACRONYM, WORD, case_is_content, folded, form

from . import english

ARTICLE = "·"  # the key of an article that may be swapped for another


class Reading(NamedTuple):
    """A text as keys to compare and, for each key, the piece of text it came from."""

    keys: tuple[str, ...]
    pieces: tuple[str, ...]
    is_english: bool
    is_shouting: bool


# Scripts written without spaces are compared character by character.
_UNSPACED = re.compile(
    "(["
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Tibetan, Burmese, Khmer, Tai
    "\u3005-\u3007\u3021-\u3029\u303b\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana, bopomofo, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # Han
    "])"
)
_PICTURES = re.compile("([\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff]+)")
_LONG_DASH = re.compile("—+|(?<=[^\\W\\d_])--(?=[^\\W\\d_])|(?<!\\S)--(?!\\S)")

_OPENING = "\"'([{,;¡¿「『《〈【、，"
_CLOSING = "\"')]}.,;:!?。、「」『』《》〈〉【】।۔።॥"
_SILENT = frozenset(_OPENING + _CLOSING + "·") - {"?", "·"}
_FACE = re.compile(r"[:;=].*[()\[\]{}]|[()\[\]{}].*[:;=]")
_GREEK_END = re.compile("[\u0370-\u03ff\u1f00-\u1fff][\"')]*;")

_QUANTITY = re.compile(
    r"(\d+(?:[.,]\d+)*)(mg|kg|cm|mm|km|ml|lbs?|oz|ft|hz|khz|mhz|ghz|kwh|kmh|mph|mb|gb|tb|kb|ms|min|mins|hrs?|secs?|yrs?|am|pm|%)",
    re.IGNORECASE,
)
_PRICE = re.compile(r"([$€£¥₹₽₩₺₫₴])(\d+(?:[.,]\d+)*)")
_PRICE_BEHIND = re.compile(r"(\d+(?:[.,]\d+)*)([$€£¥₹₽₩₺₫₴])")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DAY_OF_MONTH = re.compile(r"(0?[1-9]|[12]\d|3[01])(st|nd|rd|th)?")
_ISO_DATE = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_YEAR = re.compile(r"[12]\d{3}")


@lru_cache(maxsize=2048)
def read(text: str) -> Reading:
    """The keys of `text`, and what they were read from."""
    formed = _spread(form(text))
    chunks = formed.split()
    keys, pieces = _Reader(formed, chunks).read()
    words = set(keys)
    is_english = english.is_english(words)
    keys, pieces = _sayings(keys, pieces)
    if is_english:
        keys = _english_keys(keys, pieces)
    if not english.MONTHS.keys().isdisjoint(words) or any(_ISO_DATE.fullmatch(key) for key in keys if len(key) == 10):
        keys, pieces = _dates(keys, pieces)
    return Reading(tuple(keys), tuple(pieces), is_english, formed.isupper())


def _spread(formed: str) -> str:
    """The text with what stands for itself (a character of an unspaced script, a picture, a long dash) between spaces."""
    if formed.isascii():
        return _LONG_DASH.sub(" — ", formed) if "--" in formed else formed
    spread = _UNSPACED.sub(r" \1 ", formed)
    return _LONG_DASH.sub(" — ", _PICTURES.sub(r" \1 ", spread))


class _Reader:
    """Reads the chunks of one text, one after another."""

    def __init__(self, formed: str, chunks: list[str]) -> None:
        self.formed, self.chunks = formed, chunks
        self.shouting = formed.isupper()
        self.spelled = case_is_content(formed)
        self.keys: list[str] = []
        self.pieces: list[str] = []

    def read(self) -> tuple[list[str], list[str]]:
        last = len(self.chunks) - 1
        for at, chunk in enumerate(self.chunks):
            if chunk.isascii() and chunk.islower() and chunk.isalpha() and len(chunk) > 2:
                self.word(chunk)
            else:
                self.chunk(chunk, is_last=at == last)
        return self.keys, self.pieces

    def add(self, piece: str, *keys: str) -> None:
        self.keys += keys
        self.pieces += [piece, *[""] * (len(keys) - 1)]

    def chunk(self, chunk: str, *, is_last: bool) -> None:
        """One chunk: its core without the punctuation around it, and what of that punctuation speaks."""
        core = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if not core:
            return self.punctuation(chunk)
        at = chunk.index(core)
        before, behind = chunk[:at], chunk[at + len(core) :]
        if "¿" in before and "?" not in self.formed:
            self.add("¿", "¿")
        self.core(self.loud(core, before, behind, is_last=is_last))
        if "?" in behind or _GREEK_END.search(chunk):
            self.add("?", "?")
        return None

    def punctuation(self, chunk: str) -> None:
        """A chunk of signs only: dropped when it is silent, kept when it is a face or asks."""
        if len(chunk) > 1 and _FACE.search(chunk):
            self.add(chunk, chunk)
        elif "?" in chunk or ("¿" in chunk and "?" not in self.formed):
            self.add("?", "?")

    def loud(self, core: str, before: str, behind: str, *, is_last: bool) -> str:
        """The core with the punctuation beside it that is part of it: 5!, 6", 3. before more words, (500)."""
        if len(core) == 1 and "!" in behind:
            return core + "!"
        if not core[-1].isdigit():
            return core
        if "!" in behind:
            return core + "!"
        if "(" in before and ")" in behind:
            return f"({core})"
        if behind[:1] in ("'", '"') and not re.search(rf"(?:^|[\s(\[]){behind[0]}", self.formed):
            return core + behind.rstrip(".,;:?)")
        if behind[:1] == "." and not is_last:
            return core + "."
        return core

    def core(self, core: str) -> None:
        """One core: a word, an acronym with stops, a quantity, a price, or itself."""
        if WORD.fullmatch(core):
            return self.word(core)
        if ACRONYM.fullmatch(core):
            return self.word(core.replace(".", ""))
        if quantity := _QUANTITY.fullmatch(core):
            self.add(quantity[1], quantity[1])
            return self.word(quantity[2])
        if price := _PRICE.fullmatch(core) or _PRICE_BEHIND.fullmatch(core):
            self.add(price[1], price[1])
            return self.add(price[2], price[2])
        return self.add(core, core if self.spelled else folded(core, self.before()))

    def word(self, word: str) -> None:
        """One word, its case folded, a contraction undone, a unit behind its number by its one name."""
        before = self.before()
        key = word if self.spelled else folded(word, before, shouting=self.shouting)
        if before[-1:].isdigit() and key in english.UNITS:
            return self.add(word, english.UNITS[key])
        if "'" in key:
            return self.contraction(word, key)
        return self.add(word, english.ONE_WORD.get(key, key)) if key != "cannot" else self.add(word, "can", "not")

    def contraction(self, word: str, key: str) -> None:
        if key in english.CONTRACTIONS:
            return self.add(word, *english.CONTRACTIONS[key])
        if key in english.APOSTROPHE_S:
            return self.add(word, english.APOSTROPHE_S[key], "'s")
        return self.add(word, key)

    def before(self) -> str:
        return self.keys[-1] if self.keys else ""


def _sayings(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Without the words that say nothing where they stand: `said that she`, `is located in`; and `'s` by its full name."""
    kept: list[int] = []
    for at, key in enumerate(keys):
        before, behind = keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""
        if key == "'s":
            keys[at] = "has" if behind in english.HAS_BEFORE else "is"
        if key == "that" and before in english.SAYING and behind in english.SUBJECTS:
            continue
        if key == "located" and before in english.BE and behind in {"in", "at", "on"}:
            continue
        kept.append(at)
    return [keys[at] for at in kept], [pieces[at] for at in kept]


def _english_keys(keys: list[str], pieces: list[str]) -> list[str]:
    """Number words, thousands, `&` and articles, as far as they are certain."""
    read_keys = []
    for at, key in enumerate(keys):
        behind = keys[at + 1] if at + 1 < len(keys) else ""
        if key in english.ARTICLES:
            is_article = behind and WORD.fullmatch(behind) and behind not in english.ARTICLE_MATTERS_BEFORE
            read_keys.append(ARTICLE if is_article and not _is_label(pieces, at) else key)
        elif key == "&":
            read_keys.append("and")
        elif "," in key and _THOUSANDS.fullmatch(key):
            read_keys.append(key.replace(",", ""))
        else:
            read_keys.append(english.NUMBERS.get(key) or english.ORDINALS.get(key, key))
    return read_keys


def _is_label(pieces: list[str], at: int) -> bool:
    """Whether this A is a name, as in `Plan A works`: a capital in the middle."""
    return pieces[at] == "A" and at > 0 and not pieces[at - 1].endswith((".", "!", "?"))


def _dates(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Month and day, in either order and however written, as one key; with the year when it stands there."""
    dated_keys: list[str] = []
    dated_pieces: list[str] = []
    at = 0
    while at < len(keys):
        key, taken = _date(keys, at)
        dated_keys.append(key)
        dated_pieces.append(" ".join(pieces[at : at + taken]))
        at += taken
    return dated_keys, dated_pieces


def _date(keys: list[str], at: int) -> tuple[str, int]:
    """The key at `at`, or the date that begins there; and how many keys it takes."""
    key, *rest = keys[at : at + 5]
    if iso := _ISO_DATE.fullmatch(key):
        return _dated(int(iso[2]), int(iso[3]), iso[1]), 1
    if key in english.MONTHS and rest:
        skipped = 1 if rest[0] in (ARTICLE, "the") else 0
        if day := _DAY_OF_MONTH.fullmatch(rest[skipped]) if len(rest) > skipped else None:
            year = _year(rest[skipped + 1 :])
            return _dated(english.MONTHS[key], int(day[1]), year), 2 + skipped + bool(year)
        return (f"month {english.MONTHS[key]}", 1) if _YEAR.fullmatch(rest[0]) else (key, 1)
    skipped = 1 if key in (ARTICLE, "the") else 0
    ahead = [key, *rest][skipped:]
    day = _DAY_OF_MONTH.fullmatch(ahead[0]) if ahead else None
    if day is None or (skipped and not day[2]):
        return key, 1
    of = 1 if ahead[1:2] == ["of"] and day[2] else 0
    month = english.MONTHS.get(ahead[1 + of]) if len(ahead) > 1 + of else None
    year = _year(ahead[2 + of :])
    if month is None or not (day[2] or year or at == 0 or keys[at - 1] in english.BEFORE_A_DATE or keys[at - 1] in english.DAYS):
        return key, 1
    return _dated(month, int(day[1]), year), skipped + 2 + of + bool(year)


def _year(keys: list[str]) -> str:
    return keys[0] if keys and _YEAR.fullmatch(keys[0]) else ""


def _dated(month: int, day: int, year: str) -> str:
    return f"date {year + '-' if year else ''}{month}-{day}"
