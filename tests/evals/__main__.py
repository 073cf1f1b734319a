"""`python -m tests.evals --data FOLDER [--json] [--curves]`: the measured figures of docs/quality.md.

A section is a module with `measure(data)`, which gives None where the folder has nothing for it, `report` and `as_json`.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from . import (
    decision_noise,
    episodes,
    locomo_mind,
    locomo_stream,
    merging,
    one_question,
    recalling,
    replaying,
    rewording,
    same_fact,
    significance,
    superseding,
)

SECTIONS: dict[str, Any] = {
    "merging": merging,
    "rewording": rewording,
    "locomo stream": locomo_stream,
    "supersession": superseding,
    "same fact": same_fact,
    "one question": one_question,
    "locomo mind": locomo_mind,
    "replay": replaying,
    "significance": significance,
    "decision filter": decision_noise,
    "episodes": episodes,
    "recall": recalling,
}


def main(arguments: list[str]) -> int:
    """Measure and print; 0 when measured, or when there is nothing to measure on."""
    options = _options(arguments)
    if not options.data or not Path(options.data).is_dir():
        why = f"{options.data} is not a folder" if options.data else "no data folder is named"
        print(f"nothing measured: {why}; name one with --data or NOUS_EVAL_DATA")
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    answers = {}
    for name, section in SECTIONS.items():
        measured = section.measure(Path(options.data))
        if measured is not None and options.json:
            answers[name] = section.as_json(measured)
        elif measured is not None:
            answers[name] = section.report(measured, console, curves=options.curves)
    if options.json:
        print(json.dumps(answers, ensure_ascii=False, indent=1))
    elif not answers:
        print(f"nothing measured: no known set below {options.data}; files are named after their set, such as pararel_dev.jsonl")
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals", description="Measured quality on public data.")
    parser.add_argument("--data", default=os.environ.get("NOUS_EVAL_DATA"), help="the data folder (default: NOUS_EVAL_DATA)")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--curves", action="store_true", help="also print shares by threshold")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
