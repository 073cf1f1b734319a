"""Supersession on pairs with labels: is the earlier fact retired where it should be, and nothing else, in whatever order the two come?

Three minds decide: one that answers from the labels, so that what falls short is the workers'; the one that goes by rules; and a small
local model as recorded. And, before any mind is asked: is the old fact among the candidates of the new one, in a store full of others?
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from events import FactLearned
from nous.errors import Misconfigured
from providers import Embedder
from providers.offline import OfflineMind
from store import facts, receipts
from workers.standing import question

from . import outcomes, worked
from .cases import AT_MOST, READERS, Case, seeded
from .minds import CompatibleMind, Counted, OracleMind, RecordedMind, recorded
from .outcomes import ORDERS, Became, Order, Run
from .vectors import BUNDLED, bundled
from .worked import Work

GROUPS: dict[str, tuple[str, ...]] = {
    "BEAM": ("beam_updates", "beam_compatible"),
    "ParaRel": ("pararel",),
    "SituatedQA": ("situatedqa_updates",),
}
ALL_ORDERS = ("SituatedQA",)
ONE_AGENT = "one agent"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One group with one mind in one order. Counts of pairs; `retired_wrongly` and `merged_wrongly` are among those that should not be."""

    group: str
    mind: str
    order: Order
    to_retire: int
    retired: int
    wrong_way: int
    to_keep: int
    retired_wrongly: int
    merged_wrongly: int
    not_asked: int

    @property
    def precision(self) -> float | None:
        """Of the facts retired, how many should be."""
        return _share(self.retired, self.retired + self.retired_wrongly + self.wrong_way)

    @property
    def recall(self) -> float | None:
        """Of the facts to retire, how many are."""
        return _share(self.retired, self.to_retire)


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """One embedder: whether the old fact of an update is among the candidates of the new one, all facts being one agent's."""

    embedder: str
    facts: int
    updates: int
    found: int
    missed: list[str]
    pairs_per_fact: float
    questions: int


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Both tables, and the pairs that the oracle did not bring to what their label says."""

    figures: list[Figures]
    candidates: list[Candidates]
    unmet: list[str]


def measure(data: Path) -> Measured | None:
    """Every group found below `data`; None if there is none."""
    groups = {group: [case for name in names for case in seeded(READERS[name](data), AT_MOST)] for group, names in GROUPS.items()}
    groups = {group: cases for group, cases in groups.items() if cases}
    if not groups:
        return None
    figures, unmet = asyncio.run(_figures(bundled(BUNDLED[0]), groups))
    return Measured(figures=figures, candidates=list(_candidates(data)), unmet=unmet)


# ── what became of the pairs ──────────────────────────────────────────────────────────────────────────────────────────────


async def _figures(chosen: Embedder, groups: dict[str, list[Case]]) -> tuple[list[Figures], list[str]]:
    figures: list[Figures] = []
    unmet: list[str] = []
    everything = [case for cases in groups.values() for case in cases]
    async with worked.store(chosen, (text for case in everything for text in (case.older, case.newer))) as store:
        for mind in (OracleMind(everything), OfflineMind(), RecordedMind(recorded())):
            runs = list(_runs(groups, mind))
            for run, became in zip(runs, await outcomes.of(store, runs, mind), strict=True):
                group = run.name.partition(" ")[2]
                figures.append(_figure(group, mind.model("relation"), run, became, not_asked=len(groups[group]) - len(run.cases)))
                unmet += _unmet(run, became) if isinstance(mind, OracleMind) else []
    return figures, unmet


def _runs(groups: dict[str, list[Case]], mind: OracleMind | OfflineMind | RecordedMind) -> Iterator[Run]:
    for group, cases in groups.items():
        for order in ORDERS if group in ALL_ORDERS else ORDERS[:1]:
            yield Run(f"{mind.model('relation')} {group}", _asked(cases, mind), order)


def _asked(cases: Sequence[Case], mind: OracleMind | OfflineMind | RecordedMind) -> list[Case]:
    """Those that the mind can be asked about."""
    return [case for case in cases if not isinstance(mind, RecordedMind) or mind.was_asked(case, question.VERSION)]


def _figure(group: str, mind: str, run: Run, became: Sequence[Became], *, not_asked: int) -> Figures:
    counts = Counter((case.effect, what) for case, what in zip(run.cases, became, strict=True))
    effects = Counter(case.effect for case in run.cases)
    return Figures(
        group=group,
        mind=mind,
        order=run.order,
        to_retire=effects["retired"],
        retired=counts["retired", "retired"],
        wrong_way=counts["retired", "wrong way"] + counts["both", "wrong way"],
        to_keep=effects["both"],
        retired_wrongly=counts["both", "retired"],
        merged_wrongly=counts["both", "one"] + counts["retired", "one"],
        not_asked=not_asked,
    )


def _unmet(run: Run, became: Sequence[Became]) -> Iterator[str]:
    for case, what in zip(run.cases, became, strict=True):
        if what != case.effect:
            yield f"{case.set} {case.key}, {run.order}: {what}, labelled {case.label}"


# ── candidates, before any question ───────────────────────────────────────────────────────────────────────────────────────


def _candidates(data: Path) -> Iterator[Candidates]:
    cases = [case for name in GROUPS["BEAM"] for case in READERS[name](data)]
    for name in BUNDLED if cases else ():
        with suppress(Misconfigured):  # its extra is not installed
            yield asyncio.run(_candidates_with(bundled(name), cases))


async def _candidates_with(chosen: Embedder, cases: Sequence[Case]) -> Candidates:
    """All facts are stored first, so that each is then compared with everything else there is."""
    mind = Counted(CompatibleMind())
    async with worked.store(chosen, (text for case in cases for text in (case.older, case.newer))) as store:
        async with store.working(mind, chain=["deduplicator"]) as work:
            await work.through([event for case in cases for event in _of_one_agent(case)])
        async with store.working(mind, chain=["supersession_checker"]) as work:
            await work.through([])
            found = await _found(work)
    updates = [case for case in cases if case.effect == "retired"]
    missed = [case.key for case in updates if case.older not in found[case.newer]]
    return Candidates(
        embedder=chosen.name,
        facts=len(found),
        updates=len(updates),
        found=len(updates) - len(missed),
        missed=missed,
        pairs_per_fact=mind.pairs / len(found),
        questions=mind.questions,
    )


def _of_one_agent(case: Case) -> list[FactLearned]:
    return [event.model_copy(update={"agent_id": ONE_AGENT}) for event in case.events(f"{case.set} {case.key}")]


async def _found(work: Work) -> dict[str, list[str]]:
    """What each fact was compared with, by their words."""
    async with work.kit.database.read([ONE_AGENT]) as db:
        words = {str(fact.fact_id): fact.content for fact in await facts.listed(db, agent=ONE_AGENT, inactive=True, limit=None)}
        written = await receipts.of_agent(db, ONE_AGENT, "supersession_checker")
    return {words[str(one.about)]: [words[other["fact_id"]] for other in one.evidence["candidates"]] for one in written}


# ── the tables ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(measured: Measured, console: Console, *, curves: bool) -> None:
    """The figures as tables for a person."""
    table = Table(title="supersession", title_justify="left")
    for heading in ("pairs", "mind", "order"):
        table.add_column(heading)
    for heading in ("to retire", "retired", "recall", "wrong way", "to keep", "lost", "merged", "precision", "not asked"):
        table.add_column(heading, justify="right")
    for row in measured.figures:
        counts = (row.wrong_way, row.to_keep, row.retired_wrongly, row.merged_wrongly)
        shares = (str(row.to_retire), str(row.retired), _percent(row.recall), *map(str, counts), _percent(row.precision))
        table.add_row(row.group, row.mind, row.order, *shares, str(row.not_asked or ""))
    console.print(table)
    for one in measured.candidates:
        share, missed = _percent(_share(one.found, one.updates)), ", ".join(one.missed) or "none"
        console.print(
            f"candidates, {one.embedder}: {one.found} of {one.updates} old facts found ({share}) among {one.facts} facts of one agent,"
            f" {one.pairs_per_fact:.1f} pairs a fact in {one.questions} questions; missed: {missed}",
            markup=False,
        )
    for line in measured.unmet:
        console.print(f"not as labelled with the labels for answers: {line}", markup=False)


def as_json(measured: Measured) -> dict[str, Any]:
    """The same for a machine."""
    figures = [{**asdict(row), "precision": row.precision, "recall": row.recall} for row in measured.figures]
    return {**asdict(measured), "figures": figures}


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
