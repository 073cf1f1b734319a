"""From a text to the keys it is compared by.

A chunk between spaces becomes one or a few keys if it is plainly a word, a number, a quantity or a date. Whatever is not plainly one
of these (an address, a path, a version, an identifier, a range, a sign) is its own key, with every character and its case.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from nous.text import WORD, case_is_content, folded, form

from . import english

ARTICLE = "a / the"  # the key of an article that may be swapped for another


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
_BULLET = re.compile(r"[-*•·‣▪●○–—] (?=\D)")
_LONG_DASH = re.compile("—+|(?<=[^\\W\\d_])--(?=[^\\W\\d_])|(?<!\\S)--(?!\\S)")

_OPENING = "\"'([{,;¡¿「『《〈【、，"
_CLOSING = "\"')]}.,;:!?。、「」『』《》〈〉【】।۔።॥"
_QUOTES = {'"': '"', "'": "'", "「": "」", "『": "』"}
_FACE = re.compile(r"[:;=].*[()\[\]{}]|[()\[\]{}].*[:;=]")
_GREEK_QUESTION = re.compile("[\u0370-\u03ff\u1f00-\u1fff][\"')]*;")

_ACRONYM = re.compile(r"(?:[A-Z]\.)+[A-Z]\.?|[aApP]\.[mM]|e\.g|i\.e")
_MARKED = re.compile(r"(`|\*\*)(?=\S)(.+)\1")

_NUMBER = r"(\d+(?:[.,]\d+)*)"
_QUANTITY = re.compile(
    _NUMBER + r"(mg|kg|cm|mm|km|ml|lbs?|oz|ft|hz|khz|mhz|ghz|kwh|kmh|mph|mb|gb|tb|kb|ms|mins?|hrs?|secs?|yrs?|am|pm|%)", re.IGNORECASE
)
_PRICE = re.compile(rf"(?:([$€£¥₹₽₩₺₫₴]){_NUMBER}|{_NUMBER}([$€£¥₹₽₩₺₫₴]))")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")
_DAY = re.compile(r"(0?[1-9]|[12]\d|3[01])(st|nd|rd|th)?")
_ISO_DATE = re.compile(r"([12]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_YEAR = re.compile(r"[12]\d{3}")


@lru_cache(maxsize=2048)
def read(text: str) -> Reading:
    """The keys of `text`, and what they were read from."""
    reader = _Reader(_spread(form(text)))
    keys, pieces = reader.read()
    words = set(keys)
    is_english = english.is_english(words)
    if reader.pauses or reader.quotes:
        keys, pieces = reader.with_speaking_signs(is_english=is_english)
    if not words.isdisjoint(_ELIDED):
        keys, pieces = _elided(keys, pieces)
    if is_english:
        keys = _as_in_english(keys, pieces)
    if not words.isdisjoint(english.MONTHS) or "-" in reader.formed:
        keys, pieces = _dates(keys, pieces)
    return Reading(tuple(keys), tuple(pieces), is_english, reader.is_shouting)


def _spread(formed: str) -> str:
    """The text with what stands for itself (a character of an unspaced script, a picture, a long dash) between spaces."""
    if bullet := _BULLET.match(formed):
        formed = formed[bullet.end() :]
    if max(formed, default="") >= "\u0e00":
        formed = _PICTURES.sub(r" \1 ", _UNSPACED.sub(r" \1 ", formed))
    return _LONG_DASH.sub(" — ", formed) if "—" in formed or "--" in formed else formed


class _Reader:
    """Reads the chunks of one text, one after another."""

    def __init__(self, formed: str) -> None:
        self.formed = formed
        self.is_shouting = formed.isupper()
        self.is_spelled = case_is_content(formed)
        self.keys: list[str] = []
        self.pieces: list[str] = []
        self.before = ""
        self.pauses: list[int] = []  # how many keys stand before each comma
        self.quotes: list[tuple[int, int]] = []  # and before the start and the end of each quotation
        self.opened: dict[str, int] = {}

    def read(self) -> tuple[list[str], list[str]]:
        chunks = self.formed.split()
        for at, chunk in enumerate(chunks, 1 - len(chunks)):
            if chunk.isalpha():
                self.word(chunk)
            else:
                self.chunk(chunk, is_last=at == 0)
        return self.keys, self.pieces

    def add(self, piece: str, *keys: str) -> None:
        """One piece of text as its keys; the piece stands with the first of them."""
        self.keys += keys
        self.pieces.append(piece)
        self.pieces += [""] * (len(keys) - 1)
        self.before = keys[-1]

    def chunk(self, chunk: str, *, is_last: bool) -> None:
        """A core without the punctuation around it, and what of that punctuation speaks."""
        core = chunk.lstrip(_OPENING).rstrip(_CLOSING)
        if not core:
            return self.punctuation(chunk)
        before, _, behind = chunk.partition(core)
        for sign in before:
            if sign in _QUOTES:
                self.opened[_QUOTES[sign]] = len(self.keys)
        if "¿" in before and "?" not in self.formed:
            self.add("¿", "¿")
        if core.isalpha():
            self.word(core if len(core) > 1 or "!" not in behind else core + "!")
        else:
            self.core(self.loud(core, before, behind, is_last=is_last))
        if behind and not is_last:
            self.pauses.append(len(self.keys))
        for sign in behind:
            if sign in self.opened:
                self.quotes.append((self.opened.pop(sign), len(self.keys)))
        if "?" in behind or (";" in behind and _GREEK_QUESTION.search(chunk)):
            self.add("?", "?")
        return None

    def punctuation(self, chunk: str) -> None:
        """A chunk of signs only: dropped when it is silent, kept when it is a face or asks."""
        for sign in chunk:  # in unspaced scripts, where signs stand alone
            if sign in self.opened:
                self.quotes.append((self.opened.pop(sign), len(self.keys)))
            elif sign in _QUOTES:
                self.opened[_QUOTES[sign]] = len(self.keys)
        self.pauses.append(len(self.keys))
        if len(chunk) > 1 and _FACE.search(chunk):
            self.add(chunk, chunk)
        elif "?" in chunk or ("¿" in chunk and "?" not in self.formed):
            self.add("?", "?")

    def loud(self, core: str, before: str, behind: str, *, is_last: bool) -> str:
        """A number with the punctuation beside it that is part of it: 5!, 6", (500), and the 3. of an order."""
        if not behind or not core[-1].isdigit():
            return core
        if "!" in behind:
            return core + "!"
        if "(" in before and ")" in behind:
            return f"({core})"
        if behind[0] in "'\"" and not re.search(rf"(?:^|[\s(\[]){behind[0]}", self.formed):
            return core + behind.rstrip(".,;:?)")
        return core + "." if behind[0] == "." and not is_last else core

    def core(self, core: str) -> None:
        """A compound or a contraction, an acronym with stops, a quantity, a price, or itself."""
        if WORD.fullmatch(core):
            self.word(core)
        elif _ACRONYM.fullmatch(core):
            self.word(core.replace(".", ""))
        elif marked := _MARKED.fullmatch(core):
            self.add(marked[2], marked[2])
        elif quantity := _QUANTITY.fullmatch(core):
            self.add(quantity[1], quantity[1])
            self.word(quantity[2])
        elif price := _PRICE.fullmatch(core):
            for part in filter(None, price.groups()):
                self.add(part, part)
        else:
            self.add(core, core if self.is_spelled else folded(core, self.before))

    def word(self, word: str) -> None:
        """One word, its case folded, a contraction undone, a unit behind its number by its one name."""
        key = word if self.is_spelled else folded(word, self.before, shouting=self.is_shouting)
        if key in english.UNITS and (self.before[-1:].isdigit() or self.before in english.NUMBERS):
            self.add(word, english.UNITS[key])
        elif key in english.CONTRACTIONS:
            self.add(word, *english.CONTRACTIONS[key])
        else:
            key = english.ONE_WORD.get(key, key)
            self.keys.append(key)
            self.pieces.append(word)
            self.before = key

    def with_speaking_signs(self, *, is_english: bool) -> tuple[list[str], list[str]]:
        """The keys with those commas and quotation marks between them that change what is said."""
        signs = [(at, ",") for at in self.pauses if self.is_speaking_pause(at)]
        for start, end in self.quotes:
            if self.is_speaking_quote(start, end, is_english=is_english):
                signs += [(start, '"'), (end, '"')]
        keys, pieces = self.keys, self.pieces
        for at, sign in sorted(signs, reverse=True):
            keys, pieces = [*keys[:at], sign, *keys[at:]], [*pieces[:at], sign, *pieces[at:]]
        return keys, pieces

    def is_speaking_pause(self, at: int) -> bool:
        """`No, more came`; `she likes cooking, cats and tea`; `Bob, says Alice, is ill`; `call me, Bob`."""
        if not 0 < at < len(self.keys):
            return False
        before, behind = self.keys[at - 1], self.keys[at]
        is_call = at == len(self.keys) - 1 and self.pieces[at][:1].isupper() and before in {"me", "him", "her", "us", "them", "you"}
        return before in english.ANSWERS or before.endswith("ing") or behind in english.SAYING or is_call

    def is_speaking_quote(self, start: int, end: int, *, is_english: bool) -> bool:
        """Whether someone else may speak in this quotation: `Bob said "I am ill"` is not `Bob said I am ill`."""
        if end - start <= 1 or (start == 0 and end == len(self.keys)):
            return False
        return not is_english or not english.SPEAKERS.isdisjoint(self.keys[start:end])


_ELIDED = frozenset({"'s", "that", "located"})


def _elided(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Without the words that say nothing where they stand: `said that she`, `is located in`; and `'s` by its full name."""
    kept: list[int] = []
    for at, key in enumerate(keys):
        before, behind = keys[at - 1] if at else "", keys[at + 1] if at + 1 < len(keys) else ""
        if key == "'s":
            keys[at] = "has" if behind in english.HAS_BEFORE else "is"
        silent = (key == "that" and before in english.SAYING and behind in english.SUBJECTS) or (
            key == "located" and before in english.BE and behind in {"in", "at", "on"}
        )
        if not silent:
            kept.append(at)
    return [keys[at] for at in kept], [pieces[at] for at in kept]


def _as_in_english(keys: list[str], pieces: list[str]) -> list[str]:
    """Number words, thousands, `&` and articles made alike, as far as they are certain."""
    alike = [english.CERTAIN.get(key, key) for key in keys]
    for at, key in enumerate(keys):
        if key in english.ARTICLES and _is_article(keys, pieces, at):
            alike[at] = ARTICLE
        elif "," in key and _THOUSANDS.fullmatch(key):
            alike[at] = key.replace(",", "")
    return alike


def _is_article(keys: list[str], pieces: list[str], at: int) -> bool:
    """Whether `a` or `the` stands before what it may be swapped before, and is no name, as in `Plan A works`."""
    behind = keys[at + 1] if at + 1 < len(keys) else ""
    is_name = pieces[at] == "A" and at > 0 and not pieces[at - 1].endswith((".", "!", "?"))
    return not is_name and behind not in english.ARTICLE_MATTERS_BEFORE and WORD.fullmatch(behind) is not None


def _dates(keys: list[str], pieces: list[str]) -> tuple[list[str], list[str]]:
    """Month and day, in either order and however written, as one key; with the year when it stands there."""
    dated_keys: list[str] = []
    dated_pieces: list[str] = []
    at = 0
    while at < len(keys):
        key, taken = _date(keys, at)
        dated_keys.append(key)
        dated_pieces.append(pieces[at] if taken == 1 else " ".join(pieces[at : at + taken]))
        at += taken
    return dated_keys, dated_pieces


def _date(keys: list[str], at: int) -> tuple[str, int]:
    """The key at `at`, or the date that begins there; and how many keys it takes."""
    key = keys[at]
    if len(key) == 10 and (iso := _ISO_DATE.fullmatch(key)):
        return _dated(int(iso[2]), int(iso[3]), iso[1]), 1
    if key in english.MONTHS:
        return _month_first(keys, at)
    if key[0].isdigit() or key in (ARTICLE, "the"):
        return _day_first(keys, at)
    return key, 1


def _month_first(keys: list[str], at: int) -> tuple[str, int]:
    """October 15, October the 15th, October 15th 2023; and Oct 2023."""
    month, behind = english.MONTHS[keys[at]], keys[at + 1 : at + 4]
    skipped = int(behind[:1] in ([ARTICLE], ["the"]))
    if len(behind) > skipped and (day := _DAY.fullmatch(behind[skipped])):
        year = _year(behind[skipped + 1 :])
        return _dated(month, int(day[1]), year), 2 + skipped + bool(year)
    return (f"month {month}", 1) if _year(behind) else (keys[at], 1)


def _day_first(keys: list[str], at: int) -> tuple[str, int]:
    """15 October, the 15th of October, 15th October 2023; a plain day only where it cannot be a count."""
    skipped = int(keys[at] in (ARTICLE, "the"))
    day, *behind = keys[at + skipped : at + skipped + 4] or [""]
    is_day = _DAY.fullmatch(day)
    if is_day is None or (skipped and not is_day[2]):
        return keys[at], 1
    of = int(behind[:1] == ["of"] and bool(is_day[2]))
    month, year = english.MONTHS.get("".join(behind[of : of + 1])), _year(behind[of + 1 :])
    if month is None or not (is_day[2] or year or _is_plain_date(keys, at)):
        return keys[at], 1
    return _dated(month, int(is_day[1]), year), 2 + skipped + of + bool(year)


def _is_plain_date(keys: list[str], at: int) -> bool:
    """Whether `12 March` here is a day: `on 12 March`, but not `sold 12 March tickets`."""
    before = keys[at - 1] if at else "on"
    behind = keys[at + 2] if at + 2 < len(keys) else "and"
    return (before in english.BEFORE_A_DATE or before in english.DAYS) and behind in english.BEHIND_A_DATE


def _year(keys: list[str]) -> str:
    return keys[0] if keys and _YEAR.fullmatch(keys[0]) else ""


def _dated(month: int, day: int, year: str) -> str:
    return f"date {year + '-' if year else ''}{month}-{day}"
