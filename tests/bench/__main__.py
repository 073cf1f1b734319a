"""`python -m tests.bench [--json]`: the figures of docs/performance.md, from one run of about four minutes."""

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import psutil
import uvloop
from rich.console import Console
from rich.table import Table

from nous import log
from nous.settings import Settings

from .figures import Figure, Run
from .stand import standing


def main(arguments: list[str]) -> int:
    """Measure and print; 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Speed, measured beside its limits.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    run = uvloop.run(_run())
    if options.json:
        print(json.dumps({"cores": psutil.cpu_count(), "others": run.others, "figures": [asdict(one) for one in run.figures]}, indent=1))
    else:
        console = Console(width=None if sys.stdout.isatty() else 150)
        console.print(_table(run.figures))
        console.print(_beside(run.others), style="dim")
    return 0


async def _run() -> Run:
    screen = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="nous-bench-") as folder:
        async with standing(Path(folder) / "home") as stand:
            with screen.status("measuring", refresh_per_second=2) as status:
                run = Run(stand, Settings(), lambda what: status.update(f"measuring {what}"))
                await run.all()
                return run


def _table(figures: list[Figure]) -> Table:
    table = Table("figure", "measured", "", "turns", "asked", "", box=None, header_style="bold")
    table.columns[1].justify = "right"
    for figure in figures:
        verdict = "" if figure.is_met is None else "[green]met[/]" if figure.is_met else "[red]not met[/]"
        turns = " ".join(_number(turn) for turn in figure.turns)
        table.add_row(figure.what, _number(figure.value), figure.unit, turns, figure.target, verdict)
    return table


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def _beside(others: list[float]) -> str:
    cores = psutil.cpu_count()
    return f"\nBeside each measurement others used {statistics.median(others):.1f} of {cores} cores (median), at most {max(others):.1f}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
