"""`python -m tests.bench [--json]`: the figures of docs/performance.md, from one run."""

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from nous import log
from nous.settings import Settings

from .figures import Figure, figures
from .stand import standing


def main(arguments: list[str]) -> int:
    """Measure and print; 0 whatever the figures are."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Speed, measured beside its limits.")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="warning")
    measured = asyncio.run(_measure())
    if options.json:
        print(json.dumps([asdict(figure) for figure in measured], indent=1))
    else:
        Console(width=None if sys.stdout.isatty() else 110).print(_table(measured))
    return 0


async def _measure() -> list[Figure]:
    screen = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="nous-bench-") as folder:
        async with standing(Path(folder) / "home") as stand:
            with screen.status("measuring") as status:
                return [figure async for figure in figures(stand, Settings(), lambda what: status.update(f"measuring {what}"))]


def _table(measured: list[Figure]) -> Table:
    table = Table("figure", "measured", "", "asked", "", box=None, header_style="bold")
    table.columns[1].justify = "right"
    for figure in measured:
        verdict = "" if figure.is_met is None else "[green]met[/]" if figure.is_met else "[red]not met[/]"
        table.add_row(
            figure.what, f"{figure.value:,.2f}" if figure.value < 10 else f"{figure.value:,.0f}", figure.unit, figure.target, verdict
        )
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
