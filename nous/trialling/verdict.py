"""The verdict: whether b may take the place of a (spec 004: evaluated before it is shipped, and paused where recall drops).

    better        p@3, MRR                            told apart from 0, upwards
    not worse     p@1, gold covered, junk, answered   not told apart from 0 downwards, and not below it as measured either

    a gate is broken ─▶ do not ship        all are met ─▶ ship        otherwise ─▶ not enough to tell

Told apart is a difference whose interval at 95 % does not hold 0, where at least six conversations differ (paired). A measure that fewer
than six conversations have is not judged. `answered` is of all conversations, the others of those that both prompts got an answer to.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from .paired import LEAST, Measure

Wanted = Literal["better", "not worse"]
Stands = Literal["met", "broken", "open"]
Word = Literal["ship", "do not ship", "not enough to tell"]

P_AT_1, P_AT_3, MRR, COVERED, JUNK, ANSWERED = "p@1", "p@3", "MRR", "gold covered", "junk", "answered"
GATES: Mapping[str, Wanted] = {
    P_AT_3: "better",
    MRR: "better",
    P_AT_1: "not worse",
    COVERED: "not worse",
    JUNK: "not worse",
    ANSWERED: "not worse",
}
_LACKING = {P_AT_1: "probes", P_AT_3: "probes", MRR: "probes", COVERED: "gold facts", JUNK: "facts", ANSWERED: "words"}


@dataclass(frozen=True, slots=True)
class Gate:
    """One measure, what is wanted of it, how that stands and why."""

    measure: str
    wanted: Wanted
    stands: Stands
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done, and every gate."""

    word: Word
    gates: tuple[Gate, ...]


def judged(measures: Iterable[Measure]) -> Verdict:
    """The verdict on these."""
    by_name = {one.name: one for one in measures}
    gates = tuple(_gate(name, wanted, by_name.get(name)) for name, wanted in GATES.items())
    stands = {one.stands for one in gates}
    word: Word = "do not ship" if "broken" in stands else "not enough to tell" if "open" in stands else "ship"
    return Verdict(word, gates)


def _gate(name: str, wanted: Wanted, measure: Measure | None) -> Gate:
    units = measure.units if measure else 0
    if measure is None or units < LEAST:
        have = f"only {units} transcripts have" if units > 1 else "only 1 transcript has" if units else "no transcript has"
        return Gate(name, wanted, "open", f"{have} {_LACKING[name]}, and {LEAST} are the least")
    if measure.is_told_apart:
        return Gate(name, wanted, "met", "better") if measure.gain > 0 else Gate(name, wanted, "broken", "worse")
    if wanted == "better":
        return Gate(name, wanted, "open", "not told apart from no difference")
    if measure.gain < 0:
        return Gate(name, wanted, "open", "worse as measured, which may be chance")
    return Gate(name, wanted, "met", "not worse as measured")
