"""Shares of what was counted, with Wilson's interval: where the share of everything lies, as far as so many can tell."""

import math
from dataclasses import dataclass

Z = 1.96  # 95 percent


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at 95 percent; all of 0 to 1 when nothing was counted."""
        if not self.of:
            return 0.0, 1.0
        share = self.count / self.of
        middle = (share + Z * Z / (2 * self.of)) / (1 + Z * Z / self.of)
        half = Z / (1 + Z * Z / self.of) * math.sqrt(share * (1 - share) / self.of + Z * Z / (4 * self.of * self.of))
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        low, high = self.interval
        return f"{self.value:.1%} ({low:.1%} to {high:.1%})"
