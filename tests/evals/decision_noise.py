"""The decision filter: false alarms on real decisions first, then what share of status lines it catches.

decision_noise.jsonl   60 decisions with a reason each and 60 status lines, in ten languages, written for this
git log                the subjects of this repository's commits, as further status lines; none where there is no history

Beside the rule as it is built stands the spec's to the letter: twenty characters of any script, words as `\\w+`, its ten English words.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nous.noise import why_noise
from tests.conftest import repository

LINES = Path(__file__).with_suffix(".jsonl")
SPECS_WORDS = frozenset("completed done finished success started status progress update checked confirmed".split())  # noqa: SIM905

IsNoise = Callable[[str, Sequence[str]], bool]


@dataclass(frozen=True)
class Line:
    """One line of the set: a decision, or a status line, which has no reason."""

    language: str
    kind: str
    said: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One rule on one set of lines: how many there are, and how many it takes for noise."""

    rule: str
    lines: str
    count: int
    noise: int

    @property
    def share(self) -> float:
        """Of the lines, how many are taken for noise."""
        return self.noise / self.count


def to_the_letter(description: str, reasons: Sequence[str]) -> bool:
    """The spec's own function."""
    said = description.lower().strip()
    words = set(re.findall(r"\w+", said))
    if len(said) < 20 and not reasons:
        return True
    return not words or (len(words & SPECS_WORDS) / len(words) > 0.5 and not reasons)


def as_built(description: str, reasons: Sequence[str]) -> bool:
    """What the recorder asks."""
    return why_noise(description, reasons) is not None


RULES: dict[str, IsNoise] = {"as built": as_built, "the spec's, to the letter": to_the_letter}


def measure(data: Path) -> list[Figures] | None:
    """Both rules on every set of lines; None where the folder is empty, so that without data nothing is measured."""
    if not any(data.iterdir()):
        return None
    return [figure for name, rule in RULES.items() for figure in _measured(name, rule)]


def lines() -> list[Line]:
    """The set."""
    return [Line(**json.loads(line)) for line in LINES.read_text("utf-8").splitlines()]


def commit_subjects() -> list[str]:
    """The subjects of this repository's commits; none outside a checkout."""
    command = ["git", "-C", str(repository()), "log", "--format=%s"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def _measured(name: str, is_noise: IsNoise) -> Iterator[Figures]:
    known = lines()
    decisions = [one for one in known if one.kind == "decision"]
    status = [one.said for one in known if one.kind == "status"]
    sets = {
        "decisions with their reason": [is_noise(one.said, [one.reason]) for one in decisions],
        "the same without": [is_noise(one.said, []) for one in decisions],
        "status lines": [is_noise(said, []) for said in status],
        "commit subjects": [is_noise(said, []) for said in commit_subjects()],
    }
    for what, verdicts in sets.items():
        if verdicts:
            yield Figures(rule=name, lines=what, count=len(verdicts), noise=sum(verdicts))


def report(measured: Sequence[Figures], console: Console, *, curves: bool) -> None:
    """The table, and with `curves` every decision that is doubted and every status line that is not."""
    table = Table(title="decisions: what reads like a status report", title_justify="left")
    for heading in ("rule", "lines"):
        table.add_column(heading)
    for heading in ("of", "doubted", "share"):
        table.add_column(heading, justify="right")
    for row in measured:
        table.add_row(row.rule, row.lines, str(row.count), str(row.noise), f"{100 * row.share:.0f} %")
    console.print(table)
    for one in lines() if curves else ():
        is_decision = one.kind == "decision"
        if as_built(one.said, []) == is_decision:
            console.print(f"{'doubted' if is_decision else 'missed'} ({one.language}): {one.said}", markup=False, highlight=False)


def as_json(measured: Sequence[Figures]) -> list[dict[str, Any]]:
    """The same for a machine."""
    return [{**asdict(row), "share": row.share} for row in measured]
