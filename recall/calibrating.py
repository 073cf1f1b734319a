"""Calibrating: the weights by which questions whose answers are known would be ranked best.

    question, what was found, what answers it ─┬─ half of them ──▶ fitted ──▶ held against the other half, and the other way round
                                               └─ all of them ───▶ the weights that are proposed, if the halves were not worse for it

Sought is the most of precision at 3 plus mean reciprocal rank, one weight after another, at a precision at 1 that is no lower. What
cannot change the order, because all that was found is alike in it, stays as it is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from uuid import UUID

from store.search import Found

from .ranking import Weights, rank

ROUNDS = 2
LEAST_GAIN = 0.001
"""Of the sum that is sought; less is chance, and a weight is not moved for it."""

TRIED: Mapping[str, Sequence[float]] = {
    "words": (0.0, 0.05, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4),
    "user_stated": (0.9, 1.0, 1.05, 1.1, 1.2),
    "episode_summary": (0.8, 0.9, 0.95, 1.0, 1.05, 1.1),
    "assistant_derived": (0.7, 0.8, 0.9, 0.95, 1.0),
    "transcript": (0.8, 0.9, 1.0, 1.05, 1.08, 1.12, 1.16, 1.2, 1.3),
    "noise": (0.25, 0.5, 0.75, 1.0),
    "unsure": (0.5, 0.7, 0.9, 1.0),
}
"""The values that are tried for each weight. How old and how used a memory is, a file of questions does not tell."""


@dataclass(frozen=True)
class JudgedQuestion:
    """A question with what search found for it, the ids of what answers it, and how many different terms it has."""

    found: tuple[Found, ...]
    relevant: frozenset[UUID]
    terms: int
    now: datetime


@dataclass(frozen=True)
class Figures:
    """Means over questions, each from 0 to 1: the first is right, the share of the first three that is, the reciprocal of the first place
    that is; and the share of all that answers, which search found at all: no weight changes that one.
    """

    questions: int
    p_at_1: float
    p_at_3: float
    mrr: float
    found: float

    @property
    def sought(self) -> float:
        """What is to be as high as can be."""
        return self.p_at_3 + self.mrr


@dataclass(frozen=True)
class CalibratedRanking:
    """The weights that are proposed, the figures of all questions before and after, and those of questions that had no part in the fit."""

    weights: Weights
    before: Figures
    after: Figures
    unseen_before: Figures
    unseen_after: Figures

    @property
    def is_better(self) -> bool:
        """Whether they are worth taking: better for what they were fitted on, and no worse for what they were not."""
        unseen = self.unseen_after.sought >= self.unseen_before.sought and self.unseen_after.p_at_1 >= self.unseen_before.p_at_1
        return self.after.sought > self.before.sought and unseen


def calibrated_ranking(judged: Sequence[JudgedQuestion], start: Weights) -> CalibratedRanking:
    """Fit, beginning at `start`."""
    halves = judged[::2], judged[1::2]
    unseen = [
        (figures(other, start), figures(other, fitted_ranking(half, start))) for half, other in (halves, halves[::-1]) if half and other
    ]
    weights = fitted_ranking(judged, start)
    return CalibratedRanking(
        weights,
        before=figures(judged, start),
        after=figures(judged, weights),
        unseen_before=_together([before for before, _ in unseen]),
        unseen_after=_together([after for _, after in unseen]),
    )


def fitted_ranking(judged: Sequence[JudgedQuestion], start: Weights) -> Weights:
    """The weights that rank these questions best, one after another, from `start` on."""
    best, floor = start, figures(judged, start).p_at_1
    reached = figures(judged, best).sought
    for _ in range(ROUNDS):
        before = best
        for name in _mattering(judged):
            for value in TRIED[name]:
                tried = replace(best, **{name: value})
                came = figures(judged, tried)
                if came.sought > reached + LEAST_GAIN and came.p_at_1 >= floor:
                    best, reached = tried, came.sought
        if best == before:
            break
    return best


def figures(judged: Collection[JudgedQuestion], weights: Weights) -> Figures:
    """What ranking by these weights comes to."""
    count = max(len(judged), 1)
    first = three = reciprocal = found = 0.0
    for one in judged:
        ranked = rank(one.found, weights=weights, recency=0.0, boosts={}, now=one.now, terms=one.terms)
        right = [each.found.memory_id in one.relevant for each in ranked]
        first += any(right[:1])
        three += sum(right[:3]) / min(3, max(len(one.relevant), 1))
        reciprocal += 1 / (right.index(True) + 1) if any(right) else 0.0
        found += sum(right) / max(len(one.relevant), 1)
    return Figures(len(judged), first / count, three / count, reciprocal / count, found / count)


def _mattering(judged: Collection[JudgedQuestion]) -> list[str]:
    """The weights that can change an order: something they weigh is found beside something they do not."""
    voucher_names = {"user_stated", "episode_summary", "assistant_derived", "transcript"}
    vouchers = {one.provenance for each in judged for one in each.found}
    has_noise = any(one.is_noise for each in judged for one in each.found)
    has_doubt = len({one.confidence for each in judged for one in each.found}) > 1
    matters = {name: name in vouchers and len(vouchers) > 1 for name in voucher_names}
    matters |= {"words": True, "noise": has_noise, "unsure": has_doubt}
    return [name for name in TRIED if matters[name]]


def _together(parts: Sequence[Figures]) -> Figures:
    """The figures of all questions of these."""
    count = sum(one.questions for one in parts)
    sums = {name: sum(getattr(one, name) * one.questions for one in parts) / max(count, 1) for name in asdict(Figures(0, 0, 0, 0, 0))}
    return Figures(**{**sums, "questions": count})
