"""The demo's report, as a person reads it: what came in, what became of it, and where to look next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from nous.demo import Arrivals, Pair, Report
from nous.guard import DECISIVE, Finding

from . import place, screen

CONFIRMED_SHOWN = 5
ALMOST_SHOWN = 8
TWINS_SHOWN = 5
WIDEST = 110
FINDING_WIDTH = 26
COLOURS = {"stored": "cyan", "confirmed": "green", "mentioned": "green", "skipped": "yellow", "repeated": "bright_black", "parked": "red"}
MEANS = {
    "stored": "new, and recallable at once",
    "confirmed": "known already: counted, every wording kept",
    "mentioned": "about something that is no longer true: kept, nothing else changed",
    "skipped": "nothing to remember",
    "parked": "waits for a person",
}


def print_report(report: Report, *, json: bool) -> None:
    """Print it."""
    if json:
        screen.emit(as_data(report))
        return
    console = screen.out(piped_width=screen.PROSE_WIDTH)
    console.width = min(console.width, WIDEST)
    _print_came_in(console, report)
    _print_outcomes(console, report)
    _print_confirmed(console, report.confirmed)
    _print_almost(console, report.almost_merged)
    _print_twins(console, report.likely_twins)
    _print_next(console, report)


def as_data(report: Report) -> dict[str, object]:
    """For JSON."""
    return asdict(report)
