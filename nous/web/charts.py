"""Where the bars of a chart stand. A chart is drawn here, as SVG, and told in a table beside it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH = 720.0
HEIGHT = 200.0


@dataclass(frozen=True)
class Bar:
    """A part of a column; `kind` says how it is coloured, `says` is told when it is pointed at."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    says: str


@dataclass(frozen=True)
class Chart:
    """Bars from the ground up, the marks of the scale as (y, what it says), and those under the columns as (x, what it says)."""

    bars: Sequence[Bar]
    scale: Sequence[tuple[float, str]]
    under: Sequence[tuple[float, str]]


def stacked(columns: Sequence[tuple[str, Mapping[str, float]]], *, money: bool = False, labels: int = 8) -> Chart:
    """One column for each (label, amounts by kind), beside one another; `labels` of them are written out at most."""
    top = _round_top(max((sum(parts.values()) for _, parts in columns), default=0.0))
    step = WIDTH / max(len(columns), 1)
    every = max(math.ceil(len(columns) / labels), 1)
    bars = [bar for place, (label, parts) in enumerate(columns) for bar in _column(place * step, step, label, parts, top, money=money)]
    under = [((place + 0.5) * step, label) for place, (label, _) in enumerate(columns) if place % every == 0]
    return Chart(bars, [(HEIGHT * (1 - part), _amount(top * part, money=money)) for part in (0.0, 0.5, 1.0)], under)


def _column(x: float, step: float, label: str, parts: Mapping[str, float], top: float, *, money: bool) -> list[Bar]:
    bars, ground = [], HEIGHT
    for kind, amount in parts.items():
        if amount:
            height = HEIGHT * amount / top
            ground -= height
            says = f"{label}: {_amount(amount, money=money)} {kind}".strip()
            bars.append(Bar(round(x + step * 0.1, 2), round(ground, 2), round(step * 0.8, 2), round(height, 2), kind, says))
    return bars


def _round_top(most: float) -> float:
    """The end of the scale: 1, 2 or 5 of some power of ten."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= most)


def _amount(value: float, *, money: bool) -> str:
    if money:
        return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"
    return f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:,.1f}"
