"""What an order of memories is worth to a question: how early, and in how many tokens, it shows what answers it.

order of memories ──▶ evidence among the first k, or within so many tokens ──▶ means over questions, with Wilson's interval
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FIRST = (1, 5, 10, 20)
TOKENS = (250, 500, 1_000, 2_000)
WHOLE = 10
NAMES = (*(f"recall@{k}" for k in FIRST), f"all@{WHOLE}", "MRR", f"nDCG@{WHOLE}", *(f"in {most}" for most in TOKENS))
Z = 1.96  # 95 %


@dataclass(frozen=True)
class Shown:
    """A memory in an order: what it takes in tokens, and the turns it rests on."""

    tokens: int
    turns: frozenset[str]


def worth(order: Sequence[Shown], evidence: frozenset[str], *, able: int) -> dict[str, float]:
    """Each of NAMES for one question; `able` is how many memories there are that show any of the evidence."""
    seen: set[str] = set()
    after: list[float] = []
    reciprocal = gain = 0.0
    for place, one in enumerate(order, 1):
        if hit := one.turns & evidence:
            seen |= hit
            reciprocal = reciprocal or 1 / place
            gain += 1 / math.log2(place + 1) if place <= WHOLE else 0.0
        after.append(len(seen) / len(evidence))
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(WHOLE, able) + 1))
    found = {f"recall@{k}": after[min(k, len(after)) - 1] if after else 0.0 for k in FIRST}
    found[f"all@{WHOLE}"] = float(bool(after) and after[min(WHOLE, len(after)) - 1] == 1.0)
    found |= {"MRR": reciprocal, f"nDCG@{WHOLE}": gain / ideal if ideal else 0.0}
    return found | {f"in {most}": within(order, evidence, most) for most in TOKENS}


def within(order: Iterable[Shown], evidence: frozenset[str], most: int) -> float:
    """The share of the evidence that is shown before the first memory that does not fit into so many tokens."""
    seen: set[str] = set()
    for one in order:
        most -= one.tokens
        if most < 0:
            break
        seen |= one.turns & evidence
    return len(seen) / len(evidence)


def interval(share: float, of: int) -> tuple[float, float]:
    """Wilson's interval of a share of so many. A mean of shares is taken for one, which makes it wider than it is."""
    if not of:
        return 0.0, 1.0
    middle = (share + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z / (1 + Z * Z / of) * math.sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    return max(round(middle - half, 9), 0.0), min(round(middle + half, 9), 1.0)


def area(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of `higher` is above one of `lower`, a tie counting half: the area under the curve."""
    if not higher or not lower:
        return 0.5
    above = sum((one > other) + (one == other) / 2 for one in higher for other in lower)
    return above / (len(higher) * len(lower))
