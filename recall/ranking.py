"""Ranking: in which order memories that were found are told: by what they say, who vouches for it, how old it is and what it was good for.

    cosine + words ──▶ relevance ──▶ × who vouches ──▶ × demoted ──▶ × noise ──▶ × age, by the plan ──▶ × use ──▶ score

Relevance is plain cosine plus BM25 on its scale, the same for all kinds, so that a fact and a passage can be compared. A weight of who
vouches is its factor, `transcript` above 1; noise, unsure, old and unused are what is left of a memory's relevance at worst. `words` and
`half_life_days` are no factors: what BM25 counts beside cosine, and days. With all the others at 1.0 the order is that of relevance.
What was measured, and on what: docs/quality.md. The relevance stays beside the score, so that no weight hides what the search found.

What is new and was not judged by its use yet is held back by nothing but itself: use takes no memory past it that would otherwise be behind
it (docs/decisions/0026-use.md).
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from nous.errors import Misconfigured
from store.search import Found, Kind
from store.usage import Memory

TYPICAL_TERMS = 4
"""Different terms of a question, where nobody says how many it has (LoCoMo's have four)."""

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Weights:
    """What ranking goes by. `words` is what BM25 counts beside cosine, `half_life_days` days; of the others 1.0 changes nothing.

    Four say who vouches for a memory. `demoted` is of a fact that upkeep demoted, one notch of who vouches: as much as an assistant's word
    counts less than a summary's. `noise` is of decisions that read like a status report, `unsure` of a memory with confidence 0,
    `old` of one that is far older than `half_life_days` where only what is new is wanted, `unused` of one that was told many times and
    never drawn on (0.5 is the spec's: its boost as it is). Words and transcript are fitted on LoCoMo (docs/quality.md); the others have
    nothing to be fitted on there, and are set so that they decide between memories that are about as relevant.
    """

    words: float = 0.15
    user_stated: float = 1.0
    episode_summary: float = 1.0
    assistant_derived: float = 0.95
    transcript: float = 1.06
    noise: float = 0.5
    unsure: float = 0.9
    demoted: float = 0.95
    old: float = 0.8
    half_life_days: float = 90.0
    unused: float = 0.5

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Weights":
        """These weights, and the defaults of those that are not named. Raises Misconfigured for a name or a value that is none."""
        known = {one.name for one in fields(cls)}
        wrong = [name for name, value in values.items() if name not in known or not _is_weight(value)]
        if wrong:
            raise Misconfigured(
                f"{wrong[0]}: {values[wrong[0]]!r} is no weight of ranking; there are {', '.join(sorted(known))}, each a number from 0"
            )
        return cls(**values)


PLAIN = replace(
    Weights(),
    user_stated=1.0,
    episode_summary=1.0,
    assistant_derived=1.0,
    transcript=1.0,
    noise=1.0,
    unsure=1.0,
    old=1.0,
    unused=1.0,
    demoted=1.0,
)
"""The order of relevance alone."""


@dataclass(frozen=True)
class Ranked:
    """A memory with its place: `relevance` before any weight, each weight's factor by its name, and what they come to."""

    found: Found
    relevance: float
    factors: dict[str, float]
    score: float


def rank(
    found: Collection[Found],
    *,
    weights: Weights,
    recency: float,
    boosts: Mapping[Memory, float],
    now: datetime,
    terms: int = TYPICAL_TERMS,
    new: Collection[Memory] = (),
) -> list[Ranked]:
    """The best first; of equals the more relevant, then the newer, then by id.

    `recency`, 0 to 1, is how much the plan asks for what is new; `boosts` are of store.usage, 1.0 for what is not in them; `terms` is how
    many different terms the question has, for BM25 grows with them; `new` are those that lack a history of use (store.usage): each scores
    no less than the best of those that would not be before it without theirs.
    """
    least = _least(found)
    ranked = [_ranked(one, weights, recency, boosts.get(one.key, 1.0), now, terms, least) for one in found]
    ranked = _lifted(ranked, new)
    return sorted(ranked, key=lambda one: (-one.score, -one.relevance, -one.found.at.timestamp(), one.found.kind, one.found.memory_id))


def certainty(ranked: Sequence[Ranked]) -> float | None:
    """How likely the best of these answers at all: the plain cosine of the first fact, or the mean of the first ten where there is no fact.

    Not the score, which is high whenever the words are the question's own, as they are where something was asked that was never said.
    Passages tell little either way. None without a vector. What it tells of such questions: docs/quality.md.
    """
    near = [(one.found.kind, one.found.similarity) for one in ranked if one.found.similarity is not None]
    fact = next((similarity for kind, similarity in near if kind == "fact"), None)
    first = [similarity for _, similarity in near[:10]]
    return fact if fact is not None else sum(first) / len(first) if first else None


def _ranked(one: Found, weights: Weights, recency: float, boost: float, now: datetime, terms: int, least: Mapping[Kind, float]) -> Ranked:
    similarity = least.get(one.kind, 0.0) if one.similarity is None else one.similarity
    relevance = similarity + weights.words * one.words / math.sqrt(max(terms, 1))
    age_days = max((now - one.at) / DAY, 0.0)
    faded = 1.0 - 0.5 ** (age_days / max(weights.half_life_days, 1e-9))
    factors = {
        "provenance": float(getattr(weights, one.provenance, 1.0)),
        "confidence": weights.unsure + (1.0 - weights.unsure) * one.confidence * (1.0 if one.demoted_to is None else one.demoted_to),
        **({} if one.demoted_to is None else {"demoted": weights.demoted}),
        "noise": weights.noise if one.is_noise else 1.0,
        "recency": 1.0 - recency * (1.0 - weights.old) * faded,
        "use": max(1.0 + 2.0 * (1.0 - weights.unused) * (boost - 1.0), 0.0),
    }
    return Ranked(one, relevance, factors, _score(relevance, math.prod(factors.values())))


def _lifted(ranked: list[Ranked], new: Collection[Memory]) -> list[Ranked]:
    """The same, where what is new has no less than what use alone would take past it."""
    if not new:
        return ranked
    best, by_place = -math.inf, []
    for unused, some in itertools.groupby(sorted(ranked, key=_unused), key=_unused):
        together = list(some)
        best = max(best, *(one.score for one in together))
        by_place += [_with_score(one, unused, best) if one.found.key in new else one for one in together]
    return by_place


def _unused(one: Ranked) -> float:
    """Its score without its use."""
    return _score(one.relevance, math.prod(factor for name, factor in one.factors.items() if name != "use"))


def _with_score(one: Ranked, unused: float, score: float) -> Ranked:
    """With at least this score, and the factor that its use would have had for that."""
    if score <= one.score:
        return one
    use = score / unused if unused > 0 else unused / score
    return replace(one, factors={**one.factors, "use": use}, score=score)


def _score(relevance: float, together: float) -> float:
    """A relevance times its factors; what counts less is further down, below 0 too."""
    return relevance * together if relevance >= 0 else relevance / max(together, 1e-9)


def _least(found: Collection[Found]) -> dict[Kind, float]:
    """The least similarity found of each kind: a memory without a vector is taken to be no nearer than that."""
    least: dict[Kind, float] = {}
    for one in found:
        if one.similarity is not None:
            least[one.kind] = min(one.similarity, least.get(one.kind, one.similarity))
    return least


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
