"""A censor's story as a person reads it: how it stands, and every time it fired; what only counted is shown in short."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from nous.stories.censor import Story
from nous.stories.step import Step

from . import censor, screen, telling

ALIKE_IN_A_ROW = 3  # of more triggers in a row that only counted, the first and the last are shown


def print_story(console: Console, story: Story) -> None:
    """Print it."""
    known = story.censor
    console.print(screen.said(known.trigger_pattern, "bold"))
    hardens = " until it blocks" if known.severity == "warn" else ""
    counts = f"fired {censor.fired(known)}{hardens}, false positives {known.false_positive_count}"
    console.print(screen.said(f"{known.agent_id} · {known.severity} · {counts} · because: {known.reason}", "dim"))
    console.print(Text(str(known.censor_id), style="dim"))
    console.print()
    for run in _runs(story.steps):
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
    if step.occurred:
        facets.append(step.occurred)
    if receipt.reason:
        facets.append(f"because: {receipt.reason}")
    outcome = (f"{receipt.outcome.replace('_', ' '):15}", telling.style(step.happened))
    console.print(
        Text.assemble(
            f"{screen.moment(step.at)}  ", outcome, screen.shown("; ".join(facets)) if facets else "", (f"  {receipt.event_id}", "dim")
        )
    )
