"""A measure of both prompts on the same conversations: its difference, and between what that lies at 95 %.

    of each conversation: what a has, what b has ─▶ sums, or shares of sums ─▶ b minus a
                                                 ─▶ conversations drawn again and again, both sides together ─▶ the interval
                                                 ─▶ in how many b has more, in how many less ─▶ how likely that is by chance

Conversations are drawn and not facts or probes: what comes of one conversation succeeds or fails together. The draws are seeded, so that
the same readings have the same interval. Chance is the exact sign test: of the conversations that differ, each as likely to go either way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
AT_ONCE = 500
SEED = 20_070
LEVEL = 0.95
LEAST = 6
"""Conversations: of five that all go one way that is so by chance once in sixteen, of six once in 32, which is less than one in twenty."""

Better = Literal["more", "less"]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Unit:
    """What one conversation has of a measure by each prompt; `of_a` and `of_b` of what it is a share, 1 where it is none."""

    a: float
    b: float
    of_a: float = 1
    of_b: float = 1


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of both prompts: sums, and `of` what they are a share where they are one; `difference` is by how much b has more.

    `low` and `high` are where that lies at 95 %; `higher` and `lower` in how many of `units` conversations b has more and less; `chance`
    how likely it would be that uneven if neither had more. `better` says which way is better, if either is.
    """

    name: str
    a: float
    b: float
    of: tuple[float, float] | None
    difference: float
    low: float
    high: float
    higher: int
    lower: int
    chance: float
    units: int
    better: Better | None = None

    @property
    def shares(self) -> tuple[float, float] | None:
        """Of both, where it is a share."""
        return None if self.of is None else (_share(self.a, self.of[0]), _share(self.b, self.of[1]))

    @property
    def gain(self) -> float:
        """The difference, above 0 where b is better."""
        return -self.difference if self.better == "less" else self.difference

    @property
    def is_told_apart(self) -> bool:
        """Whether the difference is more than chance: its interval does not hold 0, and as many conversations differ as that takes."""
        return (self.low > 0 or self.high < 0) and self.higher + self.lower >= LEAST


def count(name: str, units: Sequence[Unit], better: Better | None = None) -> Measure:
    """A measure that is summed up."""
    a, b, *_ = _columns(units)
    return _measure(name, units, None, _drawn(b - a)[:, 0], float(b.sum() - a.sum()), better)


def share(name: str, units: Sequence[Unit], better: Better | None = None) -> Measure:
    """A measure that is a share of something, over all conversations together."""
    a, b, of_a, of_b = _columns(units)
    drawn = _drawn(a, b, of_a, of_b)
    differences = _shares(drawn[:, 1], drawn[:, 3]) - _shares(drawn[:, 0], drawn[:, 2])
    wholes = float(of_a.sum()), float(of_b.sum())
    return _measure(name, units, wholes, differences, _share(float(b.sum()), wholes[1]) - _share(float(a.sum()), wholes[0]), better)


def chance_of(higher: int, lower: int) -> float:
    """The exact sign test, two-sided: how likely so uneven a split is when either way is as likely."""
    both = higher + lower
    tail = sum(math.comb(both, some) for some in range(min(higher, lower) + 1))
    return min(1.0, tail / (1 << (both - 1))) if both else 1.0


def _measure(
    name: str,
    units: Sequence[Unit],
    of: tuple[float, float] | None,
    differences: Numbers,
    difference: float,
    better: Better | None,
) -> Measure:
    rates = [(_share(one.a, one.of_a), _share(one.b, one.of_b)) for one in units]
    higher, lower = sum(b > a for a, b in rates), sum(b < a for a, b in rates)
    low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if units else (0.0, 0.0)
    return Measure(
        name=name,
        a=sum(one.a for one in units),
        b=sum(one.b for one in units),
        of=of,
        difference=difference,
        low=float(low),
        high=float(high),
        higher=higher,
        lower=lower,
        chance=chance_of(higher, lower),
        units=len(units),
        better=better,
    )


def _columns(units: Sequence[Unit]) -> list[Numbers]:
    return [np.array([getattr(one, name) for one in units], np.float64) for name in ("a", "b", "of_a", "of_b")]


def _drawn(*columns: Numbers) -> Numbers:
    """The sums of these columns in each of the draws; a few hundred draws at a time, so that many conversations fit."""
    values = np.stack(columns, axis=1)
    count = len(values)
    if not count:
        return np.zeros((RESAMPLES, len(columns)))
    draws = np.random.default_rng(SEED)
    parts = [draws.multinomial(count, [1 / count] * count, size=AT_ONCE) @ values for _ in range(RESAMPLES // AT_ONCE)]
    return np.concatenate(parts)


def _shares(parts: Numbers, wholes: Numbers) -> Numbers:
    return np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
