"""What a similar pair becomes: merged without a question, or left to one; and whether that was right.

false confirm   two facts at or above CONFIRM_SIMILARITY on which the guard agrees: one would be lost
left            one fact said twice, at or above CONFIRM_SIMILARITY, which the guard leaves to the question
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from nous.errors import Misconfigured
from nous.guard import agree
from nous.settings import EmbedderName
from nous.text import content_hash
from providers import Embedder

from .pairs import SETS, Pair
from .vectors import BUNDLED, bundled, look_up

STEPS = tuple(round(0.78 + 0.01 * step, 2) for step in range(21))
HASH_MERGES = "the two sides are one text"


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair, what the guard and the hash say of it, and its similarity."""

    pair: Pair
    agrees: bool
    is_one_text: bool
    similarity: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One set measured with one embedder. Shares are of the pairs named; None where there are none."""

    set: str
    embedder: str
    differ: int
    differ_confirmed_by_cosine: int
    false_confirms: int
    same: int
    same_confirmed_by_cosine: int
    same_merged: int
    left_to_question: float | None
    likely_twins_same: float | None
    likely_twins_differ: float | None
    one_text_though_differing: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All sets with all embedders, and the curves the thresholds were read from."""

    figures: list[Figures]
    curves: dict[str, list[dict[str, float]]]
    false_confirms: list[dict[str, Any]]
    one_text: list[dict[str, str]]
    missing: list[str]


def measure(data: Path) -> Measured | None:
    """Every set below `data` with every bundled embedder; None if there is no set."""
    sets = {pair_set.name: list(pair_set.pairs(data)) for pair_set in SETS}
    sets = {name: pairs for name, pairs in sets.items() if pairs}
    if not sets:
        return None
    apart = {name: [pair for pair in pairs if _is_one_text_though_differing(pair)] for name, pairs in sets.items()}
    measured = Measured(figures=[], curves={}, false_confirms=[], one_text=list(_rows(apart)), missing=[])
    for name in BUNDLED:
        try:
            _measure_with(name, sets, measured)
        except Misconfigured as error:
            measured.missing.append(str(error))
    return measured


def _measure_with(name: EmbedderName, sets: dict[str, list[Pair]], measured: Measured) -> None:
    chosen = bundled(name)
    texts = (text for pairs in sets.values() for pair in pairs for text in (pair.old, pair.new))
    lookup = asyncio.run(look_up(chosen, texts))
    judged = {}
    for set_name, pairs in sets.items():
        cosines = lookup.cosines([(pair.old, pair.new) for pair in pairs])
        judged[set_name] = [_judged(pair, float(cosine)) for pair, cosine in zip(pairs, cosines, strict=True)]
        measured.figures.append(_figures(set_name, chosen, judged[set_name]))
        measured.false_confirms.extend(_false_confirms(set_name, chosen, judged[set_name]))
    measured.curves[chosen.name] = [_at(step, judged) for step in STEPS]


def _judged(pair: Pair, similarity: float) -> Judged:
    return Judged(pair, agree(pair.old, pair.new).agrees, content_hash(pair.old) == content_hash(pair.new), similarity)


def _is_one_text_though_differing(pair: Pair) -> bool:
    return pair.relation == "differ" and content_hash(pair.old) == content_hash(pair.new)


def _rows(apart: dict[str, list[Pair]]) -> Iterator[dict[str, str]]:
    for name, pairs in apart.items():
        yield from ({"set": name, "old": pair.old, "new": pair.new} for pair in pairs)


def _figures(name: str, chosen: Embedder, judged: Sequence[Judged]) -> Figures:
    same = [one for one in judged if one.pair.relation == "same"]
    differ = [one for one in judged if one.pair.relation == "differ" and not one.is_one_text]
    similar = [one for one in same if one.similarity >= chosen.confirm_similarity or one.is_one_text]
    merged = [one for one in similar if one.agrees or one.is_one_text]
    mistaken = [one for one in differ if one.similarity >= chosen.confirm_similarity]
    return Figures(
        set=name,
        embedder=chosen.name,
        differ=len(differ),
        differ_confirmed_by_cosine=len(mistaken),
        false_confirms=sum(one.agrees for one in mistaken),
        same=len(same),
        same_confirmed_by_cosine=len(similar),
        same_merged=len(merged),
        left_to_question=1 - len(merged) / len(similar) if similar else None,
        likely_twins_same=_share(same, chosen.check_similarity),
        likely_twins_differ=_share(differ, chosen.check_similarity),
        one_text_though_differing=len(judged) - len(same) - len(differ),
    )


def _share(judged: Sequence[Judged], at_least: float) -> float | None:
    return float(np.mean([one.similarity >= at_least for one in judged])) if judged else None


def _false_confirms(name: str, chosen: Embedder, judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    for one in judged:
        if one.pair.relation == "differ" and one.agrees and not one.is_one_text and one.similarity >= chosen.confirm_similarity:
            yield {"set": name, "embedder": chosen.name, "old": one.pair.old, "new": one.pair.new, "cosine": round(one.similarity, 3)}


def _at(step: float, judged: dict[str, list[Judged]]) -> dict[str, float]:
    """Macro averages over the sets at one threshold: what is similar enough, and what the guard then merges."""
    above: dict[str, list[float]] = defaultdict(list)
    for rows in judged.values():
        for relation in ("same", "differ"):
            of = [one for one in rows if one.pair.relation == relation and not one.is_one_text]
            if len(of) < 50:
                continue
            above[relation].append(float(np.mean([one.similarity >= step for one in of])))
            above[f"{relation}, guard agrees"].append(float(np.mean([one.similarity >= step and one.agrees for one in of])))
            if relation == "same" and (agreeing := [one for one in of if one.agrees]):
                above["of those the guard agrees on"].append(float(np.mean([one.similarity >= step for one in agreeing])))
    return {"cosine": step} | {name: round(float(np.mean(shares)), 4) for name, shares in above.items()}


def report(measured: Measured, console: Console, *, curves: bool) -> None:
    """The figures as tables for a person."""
    for name in sorted({row.embedder for row in measured.figures}, reverse=True):
        console.print(_table(name, [row for row in measured.figures if row.embedder == name]))
    for row in measured.false_confirms:
        console.print(f"false confirm ({row['set']}, {row['embedder']}, {row['cosine']}): {row['old']!r} / {row['new']!r}", markup=False)
    for text in measured.one_text:
        console.print(f"labelled as two, but one text ({text['set']}): {text['old']!r} / {text['new']!r}", markup=False)
    for why in measured.missing:
        console.print(why, markup=False)
    for name, curve in measured.curves.items() if curves else ():
        console.print(_curve(name, curve))


def _table(name: str, rows: Sequence[Figures]) -> Table:
    table = Table(title=f"pairs, {name}", title_justify="left")
    table.add_column("set")
    headings = ("differ", "cosine alone", "with guard", "same", "cosine alone", "merged", "left", "twins: same", "differ")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row.set,
            str(row.differ),
            _of(row.differ_confirmed_by_cosine, row.differ),
            _of(row.false_confirms, row.differ),
            str(row.same or ""),
            _of(row.same_confirmed_by_cosine, row.same),
            _of(row.same_merged, row.same),
            _percent(row.left_to_question),
            _percent(row.likely_twins_same),
            _percent(row.likely_twins_differ),
        )
    return table


def _curve(name: str, curve: Sequence[dict[str, float]]) -> Table:
    table = Table(title=f"by threshold, {name}, mean of the sets with 50 pairs and more", title_justify="left")
    for heading in curve[0]:
        table.add_column(heading, justify="right")
    for step in curve:
        table.add_row(*(f"{step['cosine']:.2f}" if heading == "cosine" else _percent(share) for heading, share in step.items()))
    return table


def _of(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)" if total else ""


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def as_json(measured: Measured) -> dict[str, Any]:
    """The same for a machine."""
    return asdict(measured)
