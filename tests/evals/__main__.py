"""`python -m tests.evals --data FOLDER [--json] [--curves]`: the measured figures of docs/quality.md.

A section is a module with `measure(data)`, which gives None where the folder has nothing for it, `report` and `as_json`.
"""

import argparse
import json
import sys
from typing import Any

from rich.console import Console

from . import (
    contexts,
    conversations,
    decision_noise,
    episodes,
    folder,
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
    "contexts": contexts,
    "conversations": conversations,
}


def main(arguments: list[str]) -> int:
    """Measure and print; 0 when measured, or when there is nothing to measure on."""
    options = _options(arguments)
    data = folder.found(options.data)
    if data is None:
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    answers = {}
    for name, section in SECTIONS.items():
        measured = section.measure(data)
        if measured is not None and options.json:
            answers[name] = section.as_json(measured)
        elif measured is not None:
            answers[name] = section.report(measured, console, curves=options.curves)
    if options.json:
        print(json.dumps(answers, ensure_ascii=False, indent=1))
    elif not answers:
        folder.say_it_has_nothing(data)
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals", description="Measured quality on public data.")
    folder.add_to(parser)
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    parser.add_argument("--curves", action="store_true", help="also print shares by threshold")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
