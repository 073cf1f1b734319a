"""How a story is worded: lines of words, some of them telling and some only for the record; counts, times and quotes in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

# Control characters, and those that turn the direction of what follows them.
_UNSHOWN = dict.fromkeys((*range(32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), "�")

Tone = Literal["plain", "faint", "telling"]
"""How a page is to show words: as they are, in the background, or so that nobody misses them."""


@dataclass(frozen=True)
class Line:
    """Words in a row, each with its tone."""

    parts: tuple[tuple[str, Tone], ...]

    def __str__(self) -> str:
        return "".join(words for words, _ in self.parts)


def line(words: str, tone: Tone = "plain") -> Line:
    """A line in one tone."""
    return Line(((words, tone),))


def one_line(content: str) -> str:
    """What somebody said, on one line."""
    return " ".join(content.split()) or "(nothing)"


def visible(words: str) -> str:
    """Words that steer neither a terminal nor a page: what would is shown as �."""
    return words.translate(_UNSHOWN)


def quoted(content: str, *, most: int | None = None) -> str:
    """What somebody said, on one line and in quotation marks; the beginning of it where it has more than `most` characters."""
    said = one_line(content)
    return f"“{said}”" if most is None or len(said) <= most else f"“{said[:most].rstrip()}…”"


def listed(words: Iterable[str]) -> str:
    """Words in one sentence: a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def a(noun: str) -> str:
    """`a fact`, `an episode`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def plural(count: int, noun: str) -> str:
    """`1 fact`, `2 facts`, `1,000 facts`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def moment(at: datetime) -> str:
    """A time to the minute, in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def rounded(value: float) -> float:
    """A number to four decimals, which is as much as anybody reads."""
    return round(value, 4)


def spoken(name: str) -> str:
    """A name of ours as one says it: recorded_as_noise is recorded as noise."""
    return name.replace("_", " ")
