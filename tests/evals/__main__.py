"""`python -m tests.evals --data FOLDER [--json] [--curves]`: the measured figures of docs/quality.md.

Each section is a module with `measure(data)`, which returns None where the folder has nothing for it, `report` and `as_json`.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console

from . import merging


def main(arguments: list[str]) -> int:
    """Measure and print; 0 when measured, or when there is nothing to measure on."""
    options = _options(arguments)
    if not options.data or not Path(options.data).is_dir():
        print(f"nothing measured: {options.data or 'no data folder'} is not a folder; name one with --data or NOUS_EVAL_DATA")
        return 0
    measured = merging.measure(Path(options.data))
    if measured is None:
        print(f"nothing measured: no known set below {options.data}; files are named after their set, such as pararel_dev.jsonl")
        return 0
    if options.json:
        print(json.dumps({"merging": merging.as_json(measured)}, ensure_ascii=False, indent=1))
    else:
        console = Console()
        merging.report(measured, console if console.is_terminal else Console(width=140), curves=options.curves)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals", description="Measured quality on public data.")
    parser.add_argument("--data", default=os.environ.get("NOUS_EVAL_DATA"), help="the data folder (default: NOUS_EVAL_DATA)")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--curves", action="store_true", help="also print shares by threshold")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
