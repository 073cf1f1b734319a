"""What a fact rests on: a quote that really was said, by somebody whose words count, at some time.

    quote ─┬─ in a turn of the user's ───────────▶ user_stated
           ├─ in a turn of an assistant's ───────▶ assistant_derived
           ├─ across turns, or in a text without speakers ▶ episode_summary
           └─ nowhere, or in a tool's output ────▶ the fact is dropped, and counted

Compared are forms (nous.text): whatever only looks different is alike, and case is folded. A quote ends where words end: `at 10` is not
in `at 100`. One of fewer than four characters would be found anywhere, unless it is all that was said in a turn; a letter of a script
without spaces counts for two.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby

from events import MAX_CONTENT_CHARACTERS, Provenance
from nous.text import SPACED, UNSPACED, fold_case, form, normalise
from providers.mind import Utterance

from .question import Extracted
from .transcript import voucher

QUOTE_CHARACTERS = 4
TRUST: Sequence[Provenance] = ("user_stated", "assistant_derived", "episode_summary")
"""In which order turns are searched: what the user said too, the user vouches for."""

NAME_CHARACTERS = 1_000  # what FactLearned takes
_AROUND = " .,;:!?…\"'()[]。、！？"
_WORDS = re.compile(f"({SPACED.pattern})")
_BREAK = "\n"  # on both sides of each word that is compared, and nowhere in a form


@dataclass(frozen=True, slots=True)
class Source:
    """Who vouches for a quote, and when it was said, if that is known."""

    provenance: Provenance
    said_at: datetime | None


@dataclass(frozen=True, slots=True)
class Sourced:
    """A fact with what it rests on."""

    fact: Extracted
    source: Source


@dataclass(frozen=True, slots=True)
class _Turn:
    """What was said, with its words set apart, and its source."""

    said: str
    source: Source


class Said:
    """What was said in a conversation, to be searched for quotes."""

    def __init__(self, utterances: Iterable[Utterance]) -> None:
        turns = [(_apart(_folded(one.content)), voucher(one.speaker), one.said_at) for one in utterances]
        self._turns = sorted(
            (_Turn(said, Source(who, said_at)) for said, who, said_at in turns if who), key=lambda turn: TRUST.index(turn.source.provenance)
        )
        self._runs = [
            [_Turn(said, Source("episode_summary", said_at)) for said, _, said_at in run]
            for is_voiced, run in groupby(turns, key=lambda turn: turn[1] is not None)
            if is_voiced
        ]

    @property
    def is_voiced(self) -> bool:
        """Whether anything was said that could be a source."""
        return bool(self._turns)

    def source(self, quote: str) -> Source | None:
        """Who said this, whoever is trusted most; None when nobody did whose words count."""
        quoted = _quoted(quote)
        if not quoted:
            return None
        words, is_short = _apart(quoted), _is_short(quoted)
        for turn in self._turns:
            if _is_all(words, turn.said) if is_short else words in turn.said:
                return turn.source
        if is_short:
            return None
        return next((found for run in self._runs if (found := _across(words, run))), None)


def sourced(facts: Iterable[Extracted], said: Said, *, most: int) -> tuple[list[Sourced], dict[str, int]]:
    """The facts that have a source, and how many were dropped for which reason."""
    found: dict[str, Sourced] = {}
    dropped: dict[str, int] = {}
    for fact in facts:
        source = said.source(fact.quote)
        why = _unfit(fact) or ("" if source else _unsaid(fact.quote)) or ("" if len(found) < most else "over the limit")
        if why or source is None:
            dropped[why] = dropped.get(why, 0) + 1
        else:
            found.setdefault(normalise(fact.content), Sourced(fact, source))
    return list(found.values()), dropped


def _unfit(fact: Extracted) -> str:
    """Why no event could carry it; empty when one can."""
    if not form(fact.content):
        return "empty"
    if len(fact.content) > MAX_CONTENT_CHARACTERS or len(fact.quote) > MAX_CONTENT_CHARACTERS:
        return "too long"
    return "too long" if any(len(name or "") > NAME_CHARACTERS for name in (fact.subject, fact.attribute)) else ""


def _unsaid(quote: str) -> str:
    return "quote too short" if _is_short(_quoted(quote)) else "quote not said"


def _is_short(quoted: str) -> bool:
    """Whether it might be found anywhere."""
    doubled = sum(map(str.isalpha, UNSPACED.findall(quoted)))
    return len(quoted.replace(" ", "")) + doubled < QUOTE_CHARACTERS


def _is_all(words: str, said: str) -> bool:
    """Whether nothing else was said, but for what is only around it."""
    return said.strip(_AROUND + _BREAK) == words.strip(_BREAK)


def _across(words: str, run: Sequence[_Turn]) -> Source | None:
    """The source of words that begin in one turn and end in another."""
    place = " ".join(turn.said for turn in run).find(words)
    if place < 0:
        return None
    ends = accumulate(len(turn.said) + 1 for turn in run)
    return next(turn.source for turn, end in zip(run, ends, strict=True) if place < end)


def _quoted(quote: str) -> str:
    return _folded(quote).strip(_AROUND)


def _apart(folded: str) -> str:
    """With a break on both sides of each word and number, so that no part of one is found."""
    return _BREAK.join(_WORDS.split(folded))


def _folded(text: str) -> str:
    return fold_case(form(text))
