"""Labelled pairs that thresholds are fitted to: those that are shipped, those of a file, and the merges that a person judged.

{"kind": "fact", "lang": "en", "one": "Noor is vegetarian.", "other": "Noor eats no meat.", "relation": "same"}, a line each

    fact      two facts: same, or update, compatible, different, which are all two facts
    subject   two names of what facts are about: same, different
    opening   the first words of two conversations: same request, different ones
    repeat    a memory, and what was just said: the same, or something else
"""

from collections.abc import Collection, Iterable, Sequence
from importlib.resources import files
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from nous import sample
from nous.errors import UserMistake
from store.audits import JudgedMerge

from . import labelled

SHIPPED = "threshold_pairs.jsonl"
Kind = Literal["fact", "subject", "opening", "repeat"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Pair(BaseModel):
    """One line. `is_merged`: it is from the store's own merges, so it was near to begin with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind = "fact"
    lang: str = ""
    one: str = Field(min_length=1)
    other: str = Field(min_length=1)
    relation: Literal["same", "update", "compatible", "different"]
    is_merged: bool = Field(default=False, exclude=True)

    @property
    def is_one(self) -> bool:
        """Whether the two say one thing."""
        return self.relation == "same"


def shipped() -> list[Pair]:
    """The set that comes with this version."""
    with files(sample).joinpath(SHIPPED).open("rb") as written:
        return [pair for _, pair in labelled.of_lines(written, Pair, "pair", name=SHIPPED)]


def of_file(file: str) -> list[Pair]:
    """The pairs of a file; `-` is standard input. Raises UserMistake naming the line that is none."""
    return labelled.of_file(file, Pair, "pair")


def of_merges(judged: Iterable[JudgedMerge]) -> list[Pair]:
    """The merges that a person judged."""
    return [Pair(one=one.whole, other=one.part, relation="same" if one.is_one else "different", is_merged=True) for one in judged]


def in_languages(pairs: Sequence[Pair], languages: Collection[str]) -> list[Pair]:
    """Those in these languages, and those that name none; all where no language is named. Raises UserMistake when there is none of one."""
    known = {one.lang for one in pairs if one.lang}
    if missing := [one for one in languages if one not in known]:
        raise UserMistake(f"there is no pair in {missing[0]!r}; the pairs are in {', '.join(sorted(known)) or 'no named language'}")
    return [one for one in pairs if not languages or not one.lang or one.lang in languages]
