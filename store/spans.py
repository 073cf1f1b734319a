"""Where words stand in a text as it was written, however it writes them.

    "I live in Oslo"   in   "User: I LIVE,\\u00a0in Oslo."   ──▶   the stretch from the I to the o

Words are compared one after another as they are folded for comparing (nous.text); what stands between them does not count. Words of a
script without spaces are its characters. Words that are few, such as `Yes`, are only found where they are a whole line.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nous.text import SPACED, UNSPACED, fold_case, form

MARK = "[forgotten]"
FEW_CHARACTERS = 4  # fewer would be found anywhere; a character of a script without spaces counts for two

_TOKEN = re.compile(f"{SPACED.pattern}|{UNSPACED.pattern}")
_LABEL = re.compile(r"^[ \t]*+[^\n:：]{1,60}[:：]", re.MULTILINE)
_PLAIN = re.compile(r"[\t\n\r -~]*+")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, folded, and where it stands: from `start` up to `end`. `line` counts from 0."""

    folded: str
    start: int
    end: int
    line: int
    is_label: bool


Span = tuple[int, int]
"""From, up to."""


def found(text: str, wordings: Iterable[str]) -> list[Span]:
    """Where any of these stands in the text, in order; stretches that touch or overlap are one."""
    words = words_of(text)
    spoken = [word for word in words if not word.is_label]
    wanted = [_wanted(wording) for wording in set(wordings)]
    spans = {span for some in (words, spoken) for span in _all_where(some, wanted)}
    return _joined(sorted(spans))


def redacted(text: str, wordings: Iterable[str]) -> str:
    """The text with a mark in place of each of these."""
    kept, at = [], 0
    for start, end in found(text, wordings):
        kept += [text[at:start], MARK]
        at = end
    return "".join([*kept, text[at:]])


def redacted_in(value: Any, wordings: Sequence[str]) -> Any:
    """A JSON value with a mark in place of each of these, in whatever text of it."""
    if isinstance(value, str):
        return redacted(value, wordings)
    if isinstance(value, list):
        return [redacted_in(one, wordings) for one in value]
    if isinstance(value, dict):
        return {name: redacted_in(one, wordings) for name, one in value.items()}
    return value


def overlap(left: Iterable[Span], right: Iterable[Span]) -> bool:
    """Whether any stretch of the one shares a character with one of the other."""
    others = list(right)
    return any(start < other_end and other_start < end for start, end in left for other_start, other_end in others)


def is_few(wording: str) -> bool:
    """Whether it is so little that it would be found anywhere."""
    return sum(len(one) * (2 if UNSPACED.match(one) else 1) for one in _wanted(wording)) < FEW_CHARACTERS


def words_of(text: str) -> list[Word]:
    """The words of a text with where they stand."""
    folded, places = _folded(text)
    labels = [match.span() for match in _LABEL.finditer(text)]
    lines = [match.start() for match in re.finditer("\n", text)]
    return list(_placed(folded, places, labels, lines))


def _placed(folded: str, places: Sequence[Span], labels: Sequence[Span], lines: Sequence[int]) -> Iterator[Word]:
    line = label = 0
    for match in _TOKEN.finditer(folded):
        start, end = places[match.start()][0], places[match.end() - 1][1]
        while line < len(lines) and lines[line] < start:
            line += 1
        while label < len(labels) and labels[label][1] <= start:
            label += 1
        is_label = label < len(labels) and labels[label][0] <= start
        yield Word(match[0], start, end, line, is_label)


@lru_cache(maxsize=512)
def _wanted(wording: str) -> tuple[str, ...]:
    return tuple(word.folded for word in words_of(wording))


def _all_where(words: Sequence[Word], wanted: Iterable[Sequence[str]]) -> Iterator[Span]:
    """Each place where the words of any of these stand one after another."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        places.setdefault(word.folded, []).append(at)
    for some in wanted:
        if some:
            yield from _where(words, some, places.get(some[0], ()))


def _where(words: Sequence[Word], wanted: Sequence[str], places: Iterable[int]) -> Iterator[Span]:
    """Those of these places from which on these words stand one after another."""
    count, is_few_ = len(wanted), sum(len(one) * (2 if UNSPACED.match(one) else 1) for one in wanted) < FEW_CHARACTERS
    for at in places:
        is_there = at + count <= len(words) and all(words[at + more].folded == wanted[more] for more in range(1, count))
        if is_there and (not is_few_ or _is_a_line(words, at, count)):
            yield words[at].start, words[at + count - 1].end


def _is_a_line(words: Sequence[Word], at: int, count: int) -> bool:
    """Whether nothing else was said in the lines of these words."""
    before, after = (words[at - 1] if at else None), (words[at + count] if at + count < len(words) else None)
    begins = before is None or before.line < words[at].line or before.is_label
    return begins and (after is None or after.line > words[at + count - 1].line)


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _folded(text: str) -> tuple[str, Sequence[Span]]:
    """The text folded for comparing, and for each of its characters where that stands in the text as it was written."""
    if _PLAIN.fullmatch(text):
        return text.lower(), _Itself(len(text))
    characters: list[str] = []
    places: list[Span] = []
    for start, end in _clusters(text):
        shape = _shape(text[start:end])
        characters.append(shape)
        places += [(start, end)] * len(shape)
    return "".join(characters), places


class _Itself(Sequence[Any]):
    """Each character stands where it stands."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: Any) -> Any:
        return at, at + 1


def _clusters(text: str) -> Iterator[Span]:
    """The text in characters, each with the marks that belong to it and whatever behind it cannot be seen."""
    start = 0
    for at in range(1, len(text)):
        if not _belongs(text[at]):
            yield start, at
            start = at
    if text:
        yield start, len(text)


@lru_cache(maxsize=8_192)
def _belongs(character: str) -> bool:
    is_jamo = "\u1160" <= character <= "\u11ff" or character in "\uff9e\uff9f"
    return is_jamo or unicodedata.category(character)[0] == "M" or (not character.isspace() and not form(character))


@lru_cache(maxsize=65_536)
def _shape(cluster: str) -> str:
    if cluster.isspace():
        return " "
    lead = " " if cluster[0].isspace() else ""  # a space with something that cannot be seen
    return lead + fold_case(form(cluster))
