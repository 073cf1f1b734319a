"""`nous reembed --check`: what another embedder would take, and which pairs of facts it would judge otherwise.

    a sample of facts, a few agents' whole ─▶ both vectors of each ─▶ every pair of one agent ─▶ its band by each embedder's thresholds

A band is what the deduplicator goes by: from CONFIRM_SIMILARITY up the two may be one fact, from CHECK_SIMILARITY up they are likely twins.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from providers import Embedder
from providers.embedder import Vectors
from store import embedders, reembedding
from store.database import Database
from store.embedders import Registered
from store.reembedding import Sampled

from . import screen

SAMPLE = 1_000
EXAMPLES = 5
BANDS = ("confirm", "check", "apart")


@dataclass(frozen=True)
class Pair:
    """Two facts of one agent, and what each embedder makes of them."""

    one: Sampled
    other: Sampled
    before: float
    after: float
    bands: tuple[str, str]


@dataclass(frozen=True)
class Looked:
    """What was found: texts to embed, the sample's size and speed, and pairs by (band now, band then) with the telling ones."""

    before: Embedder
    after: Embedder
    texts: int
    sampled: int
    per_second: float | None
    pairs: Counter[tuple[str, str]]
    changed: Sequence[Pair]

    @property
    def seconds(self) -> float | None:
        """About how long embedding all of it takes; None when there was nothing to measure by."""
        return self.texts / self.per_second if self.per_second else None


async def look(database: Database, before: Embedder, used: Registered, after: Embedder) -> Looked:
    """Embed a sample with the embedder that may come, and compare."""
    async with database.overview() as db:
        target = next((one for one in await embedders.known(db) if one.name == after.name), None)
        texts = await reembedding.count(db, target) if target else await reembedding.count_all(db)
        sampled = await reembedding.sample(db, used, limit=SAMPLE)
    began = time.monotonic()
    made = await after.embed([one.content for one in sampled]) if sampled else np.empty((0, after.dimension), np.float32)
    taken = time.monotonic() - began
    pairs: Counter[tuple[str, str]] = Counter()
    changed: list[Pair] = []
    for pair in _near(sampled, made, before, after):
        pairs[pair.bands] += 1
        if pair.bands[0] != pair.bands[1]:
            changed.append(pair)
    changed.sort(key=lambda pair: (min(map(BANDS.index, pair.bands)), -max(pair.before, pair.after)))
    return Looked(before, after, texts, len(sampled), len(sampled) / taken if sampled else None, pairs, changed)


def _near(sampled: Sequence[Sampled], made: Vectors, before: Embedder, after: Embedder) -> Iterator[Pair]:
    """Every pair of one agent that is more than apart by either embedder."""
    start = 0
    for _, ones in groupby(sampled, lambda one: one.agent_id):
        mine = list(ones)
        old, new = _unit(np.stack([one.vector for one in mine])), _unit(made[start : start + len(mine)])
        start += len(mine)
        was, will = old @ old.T, new @ new.T
        telling = np.triu((was >= before.check_similarity) | (will >= after.check_similarity), k=1)
        for row, column in np.argwhere(telling):
            cosines = float(was[row, column]), float(will[row, column])
            bands = band(cosines[0], before), band(cosines[1], after)
            yield Pair(mine[row], mine[column], *cosines, bands)


def band(similarity: float, of: Embedder) -> str:
    """What this embedder's thresholds make of a cosine."""
    if similarity >= of.confirm_similarity:
        return "confirm"
    return "check" if similarity >= of.check_similarity else "apart"


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_json(found: Looked) -> dict[str, object]:
    """For a machine."""
    return {
        "from": _profile(found.before),
        "to": _profile(found.after),
        "texts": found.texts,
        "seconds": None if found.seconds is None else screen.rounded(found.seconds),
        "sampled": found.sampled,
        "pairs": [{"now": now, "then": then, "pairs": count} for (now, then), count in sorted(found.pairs.items())],
        "changed": [
            {
                "agent_id": pair.one.agent_id,
                "facts": [{"fact_id": one.fact_id, "content": one.content} for one in (pair.one, pair.other)],
                "now": {"band": pair.bands[0], "similarity": screen.rounded(pair.before)},
                "then": {"band": pair.bands[1], "similarity": screen.rounded(pair.after)},
            }
            for pair in found.changed
        ],
    }


def _profile(embedder: Embedder) -> dict[str, object]:
    return {
        "embedder": embedder.name,
        "dimension": embedder.dimension,
        "confirm_similarity": embedder.confirm_similarity,
        "check_similarity": embedder.check_similarity,
    }


def tell(found: Looked, command: str) -> None:
    """For a person."""
    duration = "" if found.seconds is None else f", about {_duration(found.seconds)} at {found.per_second:,.0f} a second"
    print(f"{screen.plural(found.texts, 'text')} to embed with {found.after.name}{duration}")
    near = sum(found.pairs.values())
    among = f"{screen.plural(found.sampled, 'sampled fact')} of the same agent"
    print(f"{screen.plural(near, 'pair')} alike by either of the two, among {among}; {len(found.changed):,} of them judged otherwise")
    if near:
        table = screen.table("", *(f"then {name}" for name in BANDS), right=[f"then {name}" for name in BANDS])
        for now in BANDS:
            table.add_row(f"now {now}", *(_cell(found.pairs, now, then) for then in BANDS))
        screen.out().print(table)
    for pair in found.changed[:EXAMPLES]:
        words = " / ".join(f"“{screen.shown(one.content)}”" for one in (pair.one, pair.other))
        print(f"  {pair.bands[0]} {pair.before:.3f} ▶ {pair.bands[1]} {pair.after:.3f}  {words}")
    if len(found.changed) > EXAMPLES:
        print(f"  and {len(found.changed) - EXAMPLES:,} more; --json lists them")
    print(f"nothing was written; to do it: {command}")


def _cell(pairs: Counter[tuple[str, str]], now: str, then: str) -> str:
    return "" if now == then == "apart" else f"{pairs[now, then]:,}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
