"""From a text to its words, in any language.

A chunk between spaces becomes one or a few keys if it is plainly a word, a number or a quantity. Whatever is not plainly one of these
(an address, a path, a version, an identifier, a range, a sign) is its own key, with every character and its case. So is each sign beside
a word: a comma, a full stop inside the text, a quote, a bracket.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from nous.text import WORD, bare, case_is_content, core_of, folded, form, one_i, unended

from . import english


class Words(NamedTuple):
    """A text as keys, and for each key the piece of text it came from."""

    keys: tuple[str, ...]
    pieces: tuple[str, ...]
    has_dash: bool
    is_english: bool
    is_one_case: bool  # all small letters or all capitals, and not about how something is spelled


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

# Two shapes of one sign. A stop that stands alone between spaces is none: `git add . now` is not `git add. now`.
_ONE_SIGN = {"、": ",", "。": ".", "।": ".", "۔": "."}
_ALONE = {".": " .", "!": " !", "..": " .."}
_GREEK_QUESTION = re.compile("[\u0370-\u03ff\u1f00-\u1fff][\"')]*;")

_ACRONYM = re.compile(r"U\.S(?:\.A)?|U\.K|U\.N|E\.U|U\.A\.E|D\.C|A\.I|T\.V|[AP]\.M|E\.G|I\.E", re.IGNORECASE)
_MARKED = re.compile(r"(`|\*\*)(?=\S)(.+)\1")

_NUMBER = r"(\d+(?:[.,]\d+)*)"
_UNIT = "[mkcµμ]?[mgl]|mcg|kg|lbs?|oz|ft|[kmg]?hz|k?wh?|v|mah|km/?h|mph|[kmgt]b|ms|h|mins?|hrs?|secs?|yrs?|am|pm|%|°[cf]?"
_QUANTITY = re.compile(f"{_NUMBER}({_UNIT})", re.IGNORECASE)
_PRICE = re.compile(rf"(?:([$€£¥₹₽₩₺₫₴]){_NUMBER}|{_NUMBER}([$€£¥₹₽₩₺₫₴]))")


@lru_cache(maxsize=512)
def words_of(text: str) -> Words:
    """The words of `text`."""
    formed = form(text)
    is_spelled = case_is_content(formed)
    reader = _Reader(_spread(formed if is_spelled else one_i(bare(formed))))
    reader.spell() if is_spelled else reader.read()
    return Words(
        tuple(reader.keys),
        tuple(reader.pieces),
        "-" in formed,
        english.is_english(set(reader.keys)),
        not is_spelled and (formed.isupper() or formed == formed.lower()),
    )


def _spread(formed: str) -> str:
    """The text with what stands for itself (a character of an unspaced script, a picture, a long dash) between spaces."""
    if max(formed, default="") >= "\u0e00":
        formed = _PICTURES.sub(r" \1 ", _UNSPACED.sub(r" \1 ", formed))
    return _LONG_DASH.sub(" — ", formed) if "—" in formed or "--" in formed else formed


class _Reader:
    """Reads the chunks of one text, one after another."""

    def __init__(self, formed: str) -> None:
        self.formed = formed
        self.is_shouting = formed.isupper()
        self.keys: list[str] = []
        self.pieces: list[str] = []
        self.before = ""
        self.asks = "?" in formed

    def read(self) -> None:
        """Chunk by chunk."""
        for chunk in self.formed.split():
            if len(chunk) == 1 and "\u3041" <= chunk <= "\u9fff" and chunk.isalpha():  # no case, and no word of a list
                self.keys.append(chunk)
                self.pieces.append(chunk)
                self.before = chunk
            elif chunk.isalpha():
                self.word(chunk)
            else:
                self.chunk(chunk)

    def spell(self) -> None:
        """Each chunk as it stands, where the text is about how something is spelled."""
        self.keys = unended(self.formed).split()
        self.pieces = list(self.keys)

    def add(self, piece: str, *keys: str) -> None:
        """One piece of text as its keys; the piece stands with the first of them."""
        self.keys += keys
        self.pieces.append(piece)
        self.pieces += [""] * (len(keys) - 1)
        self.before = keys[-1]

    def chunk(self, chunk: str) -> None:
        """A core and the signs around it, or a sign alone."""
        core = core_of(chunk)
        if not core:
            self.sign(chunk, _ALONE.get(chunk, _ONE_SIGN.get(chunk, chunk)))
            return
        before, _, behind = chunk.partition(core)
        self.signs(before)
        self.core(core, stopped=behind.startswith("."))
        self.before += behind
        self.signs(behind.replace(";", "?") if ";" in behind and _GREEK_QUESTION.search(chunk) else behind)

    def signs(self, signs: str) -> None:
        """The signs beside a word, each by itself; one that only opens a question says nothing where the question ends as one."""
        for sign in signs:
            if sign != "¿" or not self.asks:
                self.sign(sign, _ONE_SIGN.get(sign, sign))

    def sign(self, piece: str, key: str) -> None:
        """A sign, which is not the word before another."""
        self.keys.append(key)
        self.pieces.append(piece)

    def core(self, core: str, *, stopped: bool) -> None:
        """A compound or a contraction, an acronym with stops, a quantity, a price, or itself."""
        if core.isdecimal():
            self.add(core, core)
        elif WORD.fullmatch(core):
            self.word(core, stopped=stopped)
        elif _ACRONYM.fullmatch(core):
            acronym = core.replace(".", "").upper()
            self.add(core, acronym if acronym == "US" and self.before != "the" else acronym.lower())
        elif marked := _MARKED.fullmatch(core):
            self.add(marked[2], marked[2])
        elif quantity := _QUANTITY.fullmatch(core):
            self.add(quantity[1], quantity[1])
            self.word(quantity[2])
        elif price := _PRICE.fullmatch(core):
            for part in filter(None, price.groups()):
                self.add(part, part)
            self.before = core
        else:
            self.add(core, folded(core, self.before))

    def word(self, word: str, *, stopped: bool = False) -> None:
        """One word, its case folded, a contraction undone, a unit behind its number by its one name."""
        key = folded(word, self.before, shouting=self.is_shouting, stopped=stopped)
        if key in english.UNITS and (self.before[-1:].isdigit() or self.before in english.NUMBERS):
            self.add(word, english.UNITS[key])
        elif key in english.CONTRACTIONS:
            self.add(word, *english.CONTRACTIONS[key])
        else:
            key = english.ONE_WORD.get(key, key)
            self.keys.append(key)
            self.pieces.append(word)
            self.before = key
