"""Fitting one threshold to pairs that are known to be one thing or two.

    scores, labels ──▶ at each threshold: precision and recall, with Wilson's intervals ──▶ the one that its aim asks for
                                             └─ drawn again a few hundred times ──▶ where it would have come out: the interval

An aim is one of three: the lowest threshold that is right often enough, the highest that misses seldom enough, or the best of both.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .shares import Share

GRID = np.round(np.arange(0.30, 1.0, 0.01), 2)
"""The thresholds that are tried."""

LEAST_OF_EACH = 20
"""Pairs that are one, and pairs that are two; of fewer, one more or less moves the threshold by more than the model does."""

LEAST_ABOVE = 10
"""Pairs at a threshold and above, for its precision to say anything."""

DRAWN_AGAIN = 400
AT_ONCE = 8

Flags = NDArray[np.bool_]
Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Aim:
    """What a threshold is for. `precise`: the lowest that reaches it; `complete`: the highest that keeps it; else the best of both.

    `is_above`: only what is above the threshold counts, not what is at it. `why` is told.
    """

    name: str
    kind: str
    rule: Literal["precise", "complete", "balanced"]
    target: float
    why: str
    is_above: bool = False


AIMS: Sequence[Aim] = (
    Aim("confirm_similarity", "fact", "precise", 0.85, "cosine alone, the second look beside the guard, is right six times in seven"),
    Aim("check_similarity", "fact", "complete", 0.90, "nine in ten that are one fact are seen as likely twins"),
    Aim(
        "episode_similarity", "opening", "precise", 0.95, "of twenty that are taken for one conversation one is not, at most", is_above=True
    ),
    Aim("subject_similarity", "subject", "balanced", 0.0, "as many as can be found, and as few others as can be asked about"),
    Aim("repeated_overlap", "repeat", "precise", 0.95, "of twenty memories left out as just said one was not, at most", is_above=True),
)


@dataclass(frozen=True)
class Scored:
    """Pairs: how near each is, whether it is one thing, and whether the guard lets it be one where there is a guard."""

    scores: NDArray[np.float64]
    is_one: Flags
    agrees: Flags

    @property
    def is_enough(self) -> bool:
        """Whether there are enough of both to fit anything."""
        return min(int(self.is_one.sum()), int((~self.is_one).sum())) >= LEAST_OF_EACH


@dataclass(frozen=True)
class Point:
    """A threshold: how many of what is taken for one is one, how many of what is one is taken for it, and the same where a guard agrees."""

    threshold: float
    precision: Share
    recall: Share
    guarded_one: int
    guarded_two: int


@dataclass(frozen=True)
class Fit:
    """What came of an aim: the whole curve, and the threshold with its interval; None when the pairs do not tell."""

    aim: Aim
    pairs: int
    one: int
    curve: Sequence[Point]
    chosen: float | None
    interval: tuple[float, float] | None
    reason: str = ""

    def at(self, threshold: float) -> Point:
        """The point of the curve nearest to a threshold."""
        return min(self.curve, key=lambda point: abs(point.threshold - threshold))


def fitted_threshold(aim: Aim, scored: Scored) -> Fit:
    """Fit one threshold."""
    hits = _hits(aim, scored)
    curve = [_point(scored, hits[:, at], float(threshold)) for at, threshold in enumerate(GRID)]
    counts = len(scored.scores), int(scored.is_one.sum())
    if not scored.is_enough:
        why = f"of these, {counts[1]} say one thing and {counts[0] - counts[1]} two; {LEAST_OF_EACH} of each are the least to fit on"
        return Fit(aim, *counts, curve, None, None, why)
    (chosen,) = _chosen(aim, scored, *(hits[label].sum(axis=0, keepdims=True) for label in (scored.is_one, ~scored.is_one)))
    if np.isnan(chosen):
        return Fit(aim, *counts, curve, None, None, f"no threshold reaches {aim.target:.0%} on these pairs")
    drawn = _chosen(aim, scored, *_drawn_again(scored, hits))
    low, high = np.nanpercentile(drawn, [2.5, 97.5], method="nearest")
    return Fit(aim, *counts, curve, float(chosen), (float(low), float(high)))


def _hits(aim: Aim, scored: Scored) -> Flags:
    """Which pair is taken for one at which threshold: shape (pairs, thresholds)."""
    scores = np.round(scored.scores, 6)[:, None]
    return np.asarray(scores > GRID if aim.is_above else scores >= GRID)


def _point(scored: Scored, hit: Flags, threshold: float) -> Point:
    one, two = int((hit & scored.is_one).sum()), int((hit & ~scored.is_one).sum())
    agreed = hit & scored.agrees
    return Point(
        threshold,
        Share(one, one + two),
        Share(one, int(scored.is_one.sum())),
        int((agreed & scored.is_one).sum()),
        int((agreed & ~scored.is_one).sum()),
    )


def _drawn_again(scored: Scored, hits: Flags) -> Iterator[Counts]:
    """How many are hit at each threshold in each of several hundred draws of as many pairs of each label: shape (draws, thresholds).

    First of those that are one, then of those that are two. A few draws at once: each is as long as there are pairs.
    """
    chance = np.random.default_rng(7)
    for label in (scored.is_one, ~scored.is_one):
        hit, count = hits[label].astype(np.float64), int(label.sum())
        draws = (chance.multinomial(count, np.full(count, 1 / count), size=AT_ONCE) for _ in range(DRAWN_AGAIN // AT_ONCE))
        yield np.concatenate([times.astype(np.float64) @ hit for times in draws])


def _chosen(aim: Aim, scored: Scored, one: Counts, two: Counts) -> Counts:
    """The threshold of each row of counts of what is hit, of those that are one and of those that are two; NaN where none does."""
    total = scored.is_one.sum()
    precision, recall = one / np.maximum(one + two, 1), one / np.maximum(total, 1)
    if aim.rule == "precise":
        return _first(GRID, (precision >= aim.target) & (one + two >= LEAST_ABOVE))
    if aim.rule == "complete":
        return _first(GRID[::-1], (recall >= aim.target)[:, ::-1])
    score = 2 * one / np.maximum(total + one + two, 1)
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return np.array([float(GRID[np.flatnonzero(row)[(row.sum() - 1) // 2]]) for row in best])  # the middle of what is equally good


def _first(grid: Counts, does: Flags) -> Counts:
    return np.where(does.any(axis=1), grid[does.argmax(axis=1)], np.nan)
