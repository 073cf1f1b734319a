"""Which of an agent's censors apply to a turn: its trigger pattern is in what was said.

    pattern  rm -rf       those words, in any case and however they are spaced, as whole words: not in `farm -rf`
             push*main    with anything of the same line between; `push*` is pushes and pushing
             删除生产库     where words do not stand apart, wherever it stands
    turn     ─▶ one form, one case, one kind of space ─▶ found, or not

A pattern is no regular expression (`.*` is read as `*`, and every other sign is itself). Where words begin and end is marked once in the
turn and once in the pattern, so that what is between two stars is looked for as it stands. Each part of a pattern is looked for once in
each line at most, whatever somebody wrote into it: 50 patterns in a turn of 1,048,576 characters take about a second, so what is long is
looked at in a thread. The whole turn is looked at, the fence too: nobody gets past a censor by writing one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nous import text
from nous.aside import aside
from store.censors import Censor

from .hearing import FREE

SHOWN_CHARACTERS = 500  # of what matched
ANYTHING = "*"

LINE, BEGINS, ENDS = "\ue000", "\ue001", "\ue002"
_SIGNS = dict.fromkeys(map(ord, (LINE, BEGINS, ENDS)), "")
_A_WORD = re.compile(f"[^\\W{FREE}]+")
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
    heard = _marked(LINE.join(turn.translate(_SIGNS).splitlines()))
    found = [Match(censor, matched[:SHOWN_CHARACTERS]) for censor in censors if (matched := _found(censor.trigger_pattern, heard))]
    return sorted(found, key=lambda one: (not one.is_blocking, one.censor.created_at, str(one.censor.censor_id)))


async def matches_of(censors: Sequence[Censor], turn: str) -> list[Match]:
    """`matches`, in a thread where it takes long."""
    return await aside(len(turn) + sum(len(one.trigger_pattern) for one in censors), matches, censors, turn)


def is_match(pattern: str, turn: str) -> bool:
    """Whether this pattern is in what was said."""
    return _found(pattern, _marked(LINE.join(turn.translate(_SIGNS).splitlines()))) is not None


def _marked(said: str) -> str:
    """In one form and case, with a sign where a word begins and where it ends, of words that stand apart."""
    return _A_WORD.sub(rf"{BEGINS}\g<0>{ENDS}", text.form(said).casefold())


def _found(pattern: str, heard: str) -> str | None:
    """The first stretch of a line that has all parts of the pattern in their order: each as early as it can be leaves most for others."""
    parts = _parts(pattern)
    start = heard.find(parts[0]) if parts else -1
    while start >= 0:
        line_ends = heard.find(LINE, start)
        line_ends = len(heard) if line_ends < 0 else line_ends
        end = start
        for part in parts:
            at = heard.find(part, end, line_ends)
            if at < 0:
                break
            end = at + len(part)
        else:
            return heard[start:end].translate(_SIGNS)
        start = heard.find(parts[0], line_ends)
    return None


@lru_cache(maxsize=4_096)
def _parts(pattern: str) -> tuple[str, ...]:
    """What stands between the stars, each to be found by itself; beside a star a word may go on."""
    pieces = text.form(pattern.translate(_SIGNS)).casefold().replace(f".{ANYTHING}", ANYTHING).split(ANYTHING)
    last = len(pieces) - 1
    return tuple(
        _part(raw.strip(), begins=at == 0 or raw[0] == " ", ends=at == last or raw[-1] == " ")
        for at, raw in enumerate(pieces)
        if raw.strip()
    )


def _part(piece: str, *, begins: bool, ends: bool) -> str:
    """These very characters, beginning and ending as a word does where that is wanted."""
    marked = _A_WORD.sub(rf"{BEGINS}\g<0>{ENDS}", piece)
    marked = marked if begins else marked.removeprefix(BEGINS)
    return marked if ends else marked.removesuffix(ENDS)
