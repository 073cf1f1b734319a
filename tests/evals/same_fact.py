"""One fact or two, in the check band: pairs about one speaker that are near each other, decided by a mind and then by the workers.

The pairs were chosen by a cosine of 0.85 and more, where a twin is likely; what the mind calls one fact is still held against the guard.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from providers import Embedder
from providers.mind import Mind
from providers.offline import OfflineMind
from workers.standing import question

from . import outcomes, worked
from .cases import Case, locomo_near
from .minds import OracleMind, RecordedMind, recorded
from .outcomes import Became, Run
from .vectors import BUNDLED, bundled

ONE = ("same", "refines")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One mind. Counts of pairs: `said_*` is what it answered, `merged_*` what became of them."""

    mind: str
    one: int
    said_one: int
    merged: int
    two: int
    said_one_wrongly: int
    merged_wrongly: int
    retired: int
    not_asked: int

    @property
    def precision(self) -> float | None:
        """Of the pairs merged, how many are one fact."""
        return self.merged / (self.merged + self.merged_wrongly) if self.merged + self.merged_wrongly else None

    @property
    def recall(self) -> float | None:
        """Of the pairs that are one fact, how many are merged."""
        return self.merged / self.one if self.one else None


def measure(data: Path) -> list[Figures] | None:
    """Every mind; None where the folder has no such pairs."""
    cases = locomo_near(data)
    return asyncio.run(_measured(bundled(BUNDLED[0]), cases)) if cases else None


async def _measured(chosen: Embedder, cases: Sequence[Case]) -> list[Figures]:
    answers = RecordedMind(recorded())
    minds: dict[Mind, list[Case]] = {
        OracleMind(cases): list(cases),
        OfflineMind(): list(cases),
        answers: [case for case in cases if answers.was_asked(case, question.VERSION)],
    }
    figures = []
    async with worked.store(chosen, (text for case in cases for text in (case.older, case.newer))) as store:
        for mind, asked in minds.items():
            name = mind.model("relation")
            said = [await _said(mind, case) for case in asked]
            [became] = await outcomes.of(store, [Run(name, asked)], mind)
            figures.append(_figure(name, asked, said, became, not_asked=len(cases) - len(asked)))
    return figures


async def _said(mind: Mind, case: Case) -> str:
    reply = await mind.ask(question.about([case.pair()]))
    return reply.answer.judgements[0].relation


def _figure(name: str, cases: Sequence[Case], said: Sequence[str], became: Sequence[Became], *, not_asked: int) -> Figures:
    answered = Counter((case.effect == "one", word in ONE) for case, word in zip(cases, said, strict=True))
    merged = Counter((case.effect == "one", what == "one") for case, what in zip(cases, became, strict=True))
    return Figures(
        mind=name,
        one=sum(case.effect == "one" for case in cases),
        said_one=answered[True, True],
        merged=merged[True, True],
        two=sum(case.effect != "one" for case in cases),
        said_one_wrongly=answered[False, True],
        merged_wrongly=merged[False, True],
        retired=sum(what in {"retired", "wrong way"} and case.effect != "retired" for case, what in zip(cases, became, strict=True)),
        not_asked=not_asked,
    )


def report(measured: Sequence[Figures], console: Console, *, curves: bool) -> None:
    """The table."""
    table = Table(title="one fact or two, near pairs of one speaker", title_justify="left")
    table.add_column("mind")
    for heading in (
        "one fact",
        "said so",
        "merged",
        "recall",
        "two",
        "said one",
        "merged",
        "precision",
        "retired though not updated",
        "not asked",
    ):
        table.add_column(heading, justify="right")
    for row in measured:
        right = (str(row.one), str(row.said_one), str(row.merged), _percent(row.recall))
        wrong = (str(row.two), str(row.said_one_wrongly), str(row.merged_wrongly), _percent(row.precision), str(row.retired))
        table.add_row(row.mind, *right, *wrong, str(row.not_asked or ""))
    console.print(table)


def as_json(measured: Sequence[Figures]) -> list[dict[str, Any]]:
    """The same for a machine."""
    return [{**asdict(row), "precision": row.precision, "recall": row.recall} for row in measured]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
