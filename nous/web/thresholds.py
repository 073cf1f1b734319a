"""How near the nearest fact was to each new claim, by what became of it: whether the two thresholds stand where they should."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from store import similarities
from store.similarities import Step

from . import charts
from .answers import Answer, Asked

if TYPE_CHECKING:
    from .site import Site

LATEST = 20_000
MOST = 100_000
STEP = 0.02
FROM = 0.3
"""Everything farther than this stands in the first column."""

KEPT_APART = "kept apart by the guard"


async def page(site: "Site", asked: Asked) -> Answer:
    """The histogram."""
    latest, agent = asked.number("latest", LATEST, most=MOST), asked.words("agent")
    async with site.database.overview() as db:
        steps = await similarities.latest(db, agent=agent, width=STEP, limit=latest)
    newest = max(steps, key=lambda one: one.claims, default=None)
    columns = _columns(steps)
    shown = {
        "agent": agent or "",
        "latest": latest,
        "claims": sum(one.claims for one in steps),
        "counts": {kind: int(sum(parts.get(kind, 0) for _, parts in columns)) for kind in ("confirmed", KEPT_APART, "stored")},
        "thresholds": sorted({(one.embedder, one.check_similarity, one.confirm_similarity) for one in steps}),
        "newest": newest,
        "marks": _marks(newest),
        "chart": charts.stacked(columns, labels=7),
        "columns": columns,
        "between": sum(
            one.claims - one.apart for one in steps if one.check_similarity <= one.similarity < one.confirm_similarity - STEP / 2
        ),
    }
    return Answer("thresholds.html", shown, {"latest": latest, "step": STEP, "claims": [asdict(one) for one in steps]})


def _columns(steps: Sequence[Step]) -> list[tuple[str, Mapping[str, float]]]:
    """Each column with its label, and how many claims it has of each kind."""
    count = round((1 - FROM) / STEP)
    columns: list[dict[str, float]] = [{} for _ in range(count)]
    for one in steps:
        parts = columns[max(min(int((one.similarity - FROM) / STEP + 1e-6), count - 1), 0)]
        kind = one.outcome if one.outcome == "confirmed" else "stored"
        parts[KEPT_APART] = parts.get(KEPT_APART, 0) + one.apart
        parts[kind] = parts.get(kind, 0) + one.claims - one.apart
    ordered = [{kind: parts[kind] for kind in ("confirmed", KEPT_APART, "stored") if parts.get(kind)} for parts in columns]
    labels = [f"{FROM + place * STEP:.2f}" for place in range(count)]
    return list(zip(labels, ordered, strict=True))


def _marks(step: Step | None) -> list[tuple[float, str, str]]:
    """Where the thresholds stand: x, what they are called, their value."""
    if step is None:
        return []
    across = charts.WIDTH / (1 - FROM)
    return [
        ((value - FROM) * across, name, f"{value:.3f}")
        for name, value in (("check", step.check_similarity), ("confirm", step.confirm_similarity))
        if value >= FROM
    ]
