"""`nous explain censor`: who added it, every time it fired, what hardened it and who relaxed it, told from receipts."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from nous.settings import Settings
from store import receipts
from store.censors import Censor
from store.database import Database
from store.receipts import Receipt

from . import censor, place, screen
from .step import Step

ALIKE_IN_A_ROW = 3  # of more triggers in a row that only counted, the first and the last are shown


async def explain_censor(settings: Settings, written: str, *, agent: str | None, is_json: bool) -> None:
    """Tell a censor's story: who added it, every time it fired, what hardened it and who relaxed it."""
    async with place.database(settings) as database:
        known = await censor.the_one(database, written, agent)
        told = await _told_of(database, known)
    steps = [Step(receipt, None, {}) for receipt in told]
    if is_json:
        screen.emit({"censor": censor.as_data(known), "story": [one.as_data() for one in steps]})
        return
    _print_censor(screen.out(), known, steps)


async def _told_of(database: Database, known: Censor) -> list[Receipt]:
    async with database.overview() as db:
        told = await receipts.about(db, known.agent_id, known.censor_id)
    return [receipt for receipt in told if receipt.stream.startswith("censor_")]  # a fact may have the same id


def _print_censor(console: Console, known: Censor, steps: Sequence[Step]) -> None:
    console.print(screen.said(known.trigger_pattern, "bold"))
    hardens = " until it blocks" if known.severity == "warn" else ""
    counts = f"fired {censor.fired(known)}{hardens}, false positives {known.false_positive_count}"
    console.print(screen.said(f"{known.agent_id} · {known.severity} · {counts} · because: {known.reason}", "dim"))
    console.print(Text(str(known.censor_id), style="dim"))
    console.print()
    for run in _runs(steps):
        if len(run) > ALIKE_IN_A_ROW:
            _print_firing(console, run[0])
            console.print(f"    … {len(run) - 2:,} more times", style="dim")
            _print_firing(console, run[-1])
        else:
            for step in run:
                _print_firing(console, step)


def _runs(steps: Iterable[Step]) -> list[list[Step]]:
    """Steps in a row that only counted stand together; any other stands alone."""
    runs: list[list[Step]] = []
    for step in steps:
        if runs and step.receipt.outcome == runs[-1][0].receipt.outcome == "counted":
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs


def _print_firing(console: Console, step: Step) -> None:
    receipt, evidence = step.receipt, step.receipt.evidence
    facets = []
    if "activation_count" in evidence:
        facets.append(f"fired {evidence['activation_count']}")
    if evidence.get("matched_text"):
        facets.append(f"on “{screen.shown(evidence['matched_text'])}”")
    if receipt.reason:
        facets.append(f"because: {receipt.reason}")
    outcome = (f"{receipt.outcome.replace('_', ' '):15}", step.style)
    console.print(
        Text.assemble(
            f"{screen.moment(step.at)}  ", outcome, screen.shown("; ".join(facets)) if facets else "", (f"  {receipt.event_id}", "dim")
        )
    )
