"""Shares of what was counted, with Wilson's interval: where the share of everything lies, as far as so many can tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.96  # 95 percent


@dataclass(frozen=True)
class Share:
    """So many of so many. `bounds`: where the share of everything lies, when not all of these were looked at one by one."""

    count: int
    of: int
    bounds: tuple[float, float] | None = None

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds, or Wilson's interval at 95 percent; all of 0 to 1 when nothing was counted."""
        if not self.of:
            return 0.0, 1.0
        if self.bounds is not None:
            return self.bounds
        share = self.count / self.of
        middle = (share + Z * Z / (2 * self.of)) / (1 + Z * Z / self.of)
        half = Z / (1 + Z * Z / self.of) * math.sqrt(share * (1 - share) / self.of + Z * Z / (4 * self.of * self.of))
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def slack(self) -> tuple[float, float]:
        """How far the interval goes below the share, and above it. Of nothing, the share is taken to be 0."""
        share, (low, high) = self.value or 0.0, self.interval
        return share - low, high - share

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        low, high = self.interval
        return f"{self.value:.1%} ({low:.1%} to {high:.1%})"


def added(parts: Sequence[tuple[int, Share]], *, of: int) -> Share:
    """The share of `of` things that several parts make together, each so many things of which such a share was counted or sampled.

    The parts are independent, so how far the interval goes to each side is the root of the sum of squares of how far those of the parts go
    (G. Y. Zou, A. Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008: MOVER).
    """
    count = min(of, sum(round(many * (share.value or 0.0)) for many, share in parts))
    below, above = (math.hypot(*(many * share.slack[side] for many, share in parts)) for side in (0, 1))
    return Share(count, of, (max(0.0, count - below) / of, min(of, count + above) / of) if of else None)
