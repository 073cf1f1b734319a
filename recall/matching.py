"""Which of an agent's censors apply to a turn: its trigger pattern is in what was said.

    pattern  rm -rf       those words, in any case and however they are spaced, as whole words: not in `farm -rf`
             push*main    with anything of the same line between; `push*` is pushes and pushing
             删除生产库     where words do not stand apart, wherever it stands
    turn     ─▶ one form, one case, one kind of space ─▶ found, or not

A pattern is no regular expression (`.*` is read as `*`, and every other sign is itself), so it takes time in proportion to the turn,
whatever somebody wrote into it. The whole turn is looked at, the fence too: nobody gets past a censor by writing one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from nous import text
from store.censors import Censor

from .hearing import WORD_BEGINS, WORD_ENDS, stands_apart

SHOWN_CHARACTERS = 500  # of what matched
ANYTHING = "*"
BLOCKING = frozenset({"block", "absolute"})


@dataclass(frozen=True, slots=True)
class Match:
    """A censor that applies, and the words of the turn that it applies to."""

    censor: Censor
    matched: str

    @property
    def is_blocking(self) -> bool:
        """Whether it stops the agent."""
        return self.censor.severity in BLOCKING


def matches(censors: Iterable[Censor], turn: str) -> list[Match]:
    """The censors that apply to what was said, those that stop first, then the oldest."""
    lines = [heard for line in turn.splitlines() if (heard := _folded(line))]
    found = [Match(censor, matched[:SHOWN_CHARACTERS]) for censor in censors if (matched := _found(censor.trigger_pattern, lines))]
    return sorted(found, key=lambda one: (not one.is_blocking, one.censor.created_at, str(one.censor.censor_id)))


def is_match(pattern: str, turn: str) -> bool:
    """Whether this pattern is in what was said."""
    lines = [heard for line in turn.splitlines() if (heard := _folded(line))]
    return _found(pattern, lines) is not None


def _folded(said: str) -> str:
    return text.form(said).casefold()


def _found(pattern: str, lines: Iterable[str]) -> str | None:
    """The first stretch of a line that has all parts of the pattern in their order."""
    parts = _parts(pattern)
    if not parts:
        return None
    return next((stretch for line in lines if (stretch := _stretch(parts, line)) is not None), None)


@lru_cache(maxsize=4_096)
def _parts(pattern: str) -> tuple[re.Pattern[str], ...]:
    """What stands between the stars, each to be found by itself; beside a star a word may go on."""
    pieces = _folded(pattern).replace(f".{ANYTHING}", ANYTHING).split(ANYTHING)
    last = len(pieces) - 1
    return tuple(
        _part(raw.strip(), begins=at == 0 or raw[0] == " ", ends=at == last or raw[-1] == " ")
        for at, raw in enumerate(pieces)
        if raw.strip()
    )


def _part(piece: str, *, begins: bool, ends: bool) -> re.Pattern[str]:
    """These very characters, beginning and ending as a word does where that is wanted: no repetition, so no backtracking."""
    before = WORD_BEGINS if begins and stands_apart(piece[0]) else ""
    behind = WORD_ENDS if ends and stands_apart(piece[-1]) else ""
    return re.compile(f"{before}{re.escape(piece)}{behind}")


def _stretch(parts: tuple[re.Pattern[str], ...], line: str) -> str | None:
    """From the first part to the last; taking each as early as it can be leaves the most for those behind it."""
    start, end = -1, 0
    for part in parts:
        found = part.search(line, end)
        if found is None:
            return None
        start, end = (found.start() if start < 0 else start), found.end()
    return line[start:end]
