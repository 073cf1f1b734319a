"""What was just said is not told again: a memory that one of the last turns says already is left out.

    the last turns ─▶ their statements, each sentence and the whole turn ─▶ vectors, made once
    memory ─┬─ nearest statement at the embedder's check_similarity or above ─┐
            └─ without an embedder: more than half of their terms are shared ──┴─▶ and the guard finds no other number, date, unit,
                                                                             name, negation or role ─▶ said already

A question says nothing, so a memory that resembles one is not repeated: it may be its answer. Nor does the turn that asks, in whatever
words: whoever asks for a fact in its own words wants it. What differs in a number, a name or a "not"
may be the very update that the turn is about, and is told. The spec's 0.85 (001, D4) fits its own embedder; each has its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nous import guard
from nous.fence import without_recalled
from nous.terms import terms
from store.vectors import Vector

from .framing import asks
from .hearing import heard
from .overlap import REPEATED, jaccard
from .sentences import sentences

UTTERANCES_OF_A_TURN = 2
"""What the user said and what was answered."""

SENTENCES_OF_AN_UTTERANCE = 12
"""The last ones of an utterance that are looked at one by one; of a longer one the whole is looked at too."""

LONGEST_UTTERANCE_CHARACTERS = 4_000
GUARDED_CHARACTERS = 1_000
"""How much of two texts is compared while somebody waits: 1 ms, and the 8,000 of the longest fact 6 ms (measured). Whether two facts are
one is never decided by a part of them: the workers, and what counts or fits what those do, give the guard the whole of both."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """What says already what a memory says, and how near it is: cosine, or the share of terms where there is no embedder."""

    by: str
    measure: str
    nearness: float

    def __str__(self) -> str:
        return f"{self.measure} {self.nearness:.2f} with what was just said: {self.by[:80]!r}"


def statements(conversation: Sequence[str], *, window: int) -> list[str]:
    """What the last `window` turns say, as texts to compare with; what they ask is no statement.

    `conversation` are utterances, two of which are a turn: the user's and the answer (spec 001, D7 counts turns).
    """
    said: dict[str, None] = {}
    for utterance in conversation[-window * UTTERANCES_OF_A_TURN :] if window else ():
        own = without_recalled(utterance)[-LONGEST_UTTERANCE_CHARACTERS:].strip()
        parts = [part for part in sentences(own)[-SENTENCES_OF_AN_UTTERANCE:] if not asks(heard(part))]
        said |= dict.fromkeys(parts)
        if len(parts) > 1:
            said[" ".join(parts)] = None
    return list(said)


@dataclass(frozen=True, slots=True)
class Said:
    """What was just said, with its vectors if there are any; `threshold` is the embedder's check_similarity, `overlap` a share of terms."""

    texts: Sequence[str]
    vectors: Sequence[Vector] | None
    threshold: float
    overlap: float = REPEATED

    def already(self, memory: str, vector: Vector | None) -> Repeat | None:
        """What says this memory already; None when nothing does."""
        if not self.texts:
            return None
        if self.vectors is not None and vector is not None:
            near = np.stack(list(self.vectors)) @ vector
            candidates = [(float(near[at]), self.texts[at]) for at in np.argsort(-near, kind="stable") if near[at] >= self.threshold]
            return _agreed(memory, candidates, "cosine")
        own = set(terms(memory))
        shared = sorted(((jaccard(own, set(terms(text))), text) for text in self.texts), key=lambda one: -one[0])
        return _agreed(memory, [one for one in shared if one[0] > self.overlap], "overlap")


def _agreed(memory: str, candidates: Sequence[tuple[float, str]], measure: str) -> Repeat | None:
    """The nearest of them that says nothing else."""
    for nearness, text in candidates:
        if not any(map(_is_telling, guard.agree(text[:GUARDED_CHARACTERS], memory[:GUARDED_CHARACTERS]).findings)):
            return Repeat(text, measure, nearness)
    return None


def _is_telling(finding: guard.Finding) -> bool:
    """Whether the two say another thing: a number, date, unit, negation, role or name, or one identifier instead of another."""
    return finding.kind in guard.DECISIVE or finding.kind == "name" or (finding.kind == "code" and bool(finding.old and finding.new))
