"""What became of pairs of facts: each pair the memory of an agent of its own, brought in some order to the workers as they run.

in date order  every older fact, and when all is settled every newer one
reversed       every newer fact first
shuffled       all at once, in an order of chance (the same one every time)
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, get_args
from uuid import UUID

from events import FactLearned
from providers.mind import Mind
from store import facts
from store.facts import Fact

from .cases import SEED, Case
from .worked import Store, Work

Order = Literal["in date order", "reversed", "shuffled"]
ORDERS: tuple[Order, ...] = get_args(Order)

Became = Literal["retired", "wrong way", "one", "disputed", "both"]
"""The older was retired by the newer, the newer by the older; the two are one fact; both stand, one disputed; both stand."""


@dataclass(frozen=True, slots=True)
class Run:
    """Pairs to bring, and in which order. `name` sets its agents apart from those of other runs in the same store."""

    name: str
    cases: Sequence[Case]
    order: Order = "in date order"

    def events(self) -> list[tuple[FactLearned, FactLearned]]:
        """The older and the newer fact of each pair."""
        return [case.events(f"{self.name} {self.order} {number}") for number, case in enumerate(self.cases)]


async def of(store: Store, runs: Sequence[Run], mind: Mind) -> list[list[Became]]:
    """What became of each case of each run; the runs are brought side by side."""
    brought = [run.events() for run in runs]
    waves = [_waves(pairs, run.order) for run, pairs in zip(runs, brought, strict=True)]
    async with store.working(mind) as work:
        for wave in zip_longest(*waves, fillvalue=[]):
            await work.through([event for some in wave for event in some])
        rows = await _rows(work)
    return [[_became(older, newer, rows) for older, newer in pairs] for pairs in brought]


def _waves(brought: Sequence[tuple[FactLearned, FactLearned]], order: Order) -> list[list[FactLearned]]:
    older, newer = [one for one, _ in brought], [other for _, other in brought]
    if order == "shuffled":
        return [random.Random(SEED).sample([*older, *newer], 2 * len(brought))]
    return [older, newer] if order == "in date order" else [newer, older]


async def _rows(work: Work) -> dict[UUID, Fact]:
    async with work.kit.database.overview() as db:
        return {fact.fact_id: fact for fact in await facts.listed(db, agent=None, inactive=True, limit=None)}


def _became(older: FactLearned, newer: FactLearned, rows: dict[UUID, Fact]) -> Became:
    one, other = rows.get(older.fact_id), rows.get(newer.fact_id)
    if one is None or other is None or one.merged_into or other.merged_into:
        return "one"
    if one.superseded_by:
        return "retired"
    if other.superseded_by:
        return "wrong way"
    return "disputed" if one.disputes or other.disputes else "both"
