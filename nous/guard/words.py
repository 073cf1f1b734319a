"""From a text to its words, in any language.

A chunk between spaces becomes one or a few keys if it is plainly a word, a number or a quantity. Whatever is not plainly one of these
(an address, a path, a version, an identifier, a range, a sign) is its own key, with every character and its case.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from nous.text import WORD, bare, case_is_content, core_of, folded, form

from . import english


class Words(NamedTuple):
    """A text as keys, for each key the piece of text it came from, and what stood between them."""

    keys: tuple[str, ...]
    pieces: tuple[str, ...]  # with a comma behind it where it had one, or the like
    pauses: tuple[int, ...]  # how many keys stand before each comma and the like
    quotes: tuple[tuple[int, int], ...]  # and before the start and the end of each quotation
    has_dash: bool
    is_english: bool


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

_PAUSES = frozenset(",;:.!?、。")
_QUOTES = {'"': '"', "'": "'", "「": "」", "『": "』"}
_FACE = re.compile(r"[:;=].*[()\[\]{}]|[()\[\]{}].*[:;=]")
_GREEK_QUESTION = re.compile("[\u0370-\u03ff\u1f00-\u1fff][\"')]*;")

_ACRONYM = re.compile(r"U\.S(?:\.A)?|U\.K|U\.N|E\.U|U\.A\.E|D\.C|A\.I|T\.V|[aApP]\.[mM]|e\.g|i\.e")
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
    reader = _Reader(_spread(formed if is_spelled else bare(formed)))
    reader.spell() if is_spelled else reader.read()
    return Words(
        tuple(reader.keys),
        tuple(reader.pieces),
        tuple(reader.pauses),
        tuple(reader.quotes),
        "-" in formed,
        english.is_english(set(reader.keys)),
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
        self.pauses: list[int] = []
        self.quotes: list[tuple[int, int]] = []
        self.opened: dict[str, int] = {}

    def read(self) -> None:
        """Chunk by chunk."""
        chunks = self.formed.split()
        for at, chunk in enumerate(chunks, 1 - len(chunks)):
            if chunk.isalpha():
                self.word(chunk)
            else:
                self.chunk(chunk, is_last=at == 0)

    def spell(self) -> None:
        """Each chunk as it stands, where the text is about how something is spelled."""
        self.keys = self.formed.removesuffix(".").split()
        self.pieces = list(self.keys)

    def add(self, piece: str, *keys: str) -> None:
        """One piece of text as its keys; the piece stands with the first of them."""
        self.keys += keys
        self.pieces.append(piece)
        self.pieces += [""] * (len(keys) - 1)
        self.before = keys[-1]

    def chunk(self, chunk: str, *, is_last: bool) -> None:
        """A core without the punctuation around it, and what of that punctuation speaks."""
        core = core_of(chunk)
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
        if not is_last and not _PAUSES.isdisjoint(behind):
            self.pauses.append(len(self.keys))
            self.pieces[-1] += ","
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
        if not _PAUSES.isdisjoint(chunk):
            self.pauses.append(len(self.keys))
        if (len(chunk) > 1 and _FACE.search(chunk)) or (chunk == ":" and self.before[-1:].isdigit()):
            self.add(chunk, chunk)
        elif "?" in chunk or ("¿" in chunk and "?" not in self.formed):
            self.add("?", "?")

    def loud(self, core: str, before: str, behind: str, *, is_last: bool) -> str:
        """A number with the punctuation beside it that is part of it: 5!, 6", (500), and the 3. of an order."""
        if not behind or not core[-1].isdigit():
            return core
        if "!" in behind and not (is_last and len(core) > 1 and "=" not in self.formed):
            return core + "!"
        if "(" in before and ")" in behind:
            return f"({core})"
        if behind[0] in "'\"" and not re.search(rf"(?:^|[\s(\[]){behind[0]}", self.formed):
            return core + behind.rstrip(".,;:?)")
        return core + "." if behind[0] == "." and not is_last else core

    def core(self, core: str) -> None:
        """A compound or a contraction, an acronym with stops, a quantity, a price, or itself."""
        if core.isdecimal():
            self.add(core, core)
        elif WORD.fullmatch(core):
            self.word(core)
        elif _ACRONYM.fullmatch(core):
            acronym = core.replace(".", "")
            self.add(core, acronym if acronym == "US" and self.before != "the" else acronym.lower())
        elif marked := _MARKED.fullmatch(core):
            self.add(marked[2], marked[2])
        elif quantity := _QUANTITY.fullmatch(core):
            self.add(quantity[1], quantity[1])
            self.word(quantity[2])
        elif price := _PRICE.fullmatch(core):
            for part in filter(None, price.groups()):
                self.add(part, part)
        else:
            self.add(core, folded(core, self.before))

    def word(self, word: str) -> None:
        """One word, its case folded, a contraction undone, a unit behind its number by its one name."""
        key = folded(word, self.before, shouting=self.is_shouting)
        if key in english.UNITS and (self.before[-1:].isdigit() or self.before in english.NUMBERS):
            self.add(word, english.UNITS[key])
        elif key in english.CONTRACTIONS:
            self.add(word, *english.CONTRACTIONS[key])
        else:
            key = english.ONE_WORD.get(key, key)
            self.keys.append(key)
            self.pieces.append(word)
            self.before = key
