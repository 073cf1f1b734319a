"""`python -m tests.evals.record --url http://127.0.0.1:18080 --data FOLDER`: ask a small local model, once, and keep what it says.

The server speaks OpenAI's chat completions with log probabilities (llama.cpp does). What was asked before is not asked again, so that it
can be stopped and started; the sets take turns, so that a record that was stopped early holds some of each. Kept are a digest of each
question, the word answered and the share of each word: no text of the data.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from . import asking
from .asking import Asking
from .cases import READERS, Case, seeded
from .minds import RECORDED, Said, digest, recorded

WANTED = {"beam_updates": 50, "beam_compatible": 60, "pararel": 40, "situatedqa_updates": 60, "locomo_near": 50}
"""How many of each set and effect."""
BOTH_WAYS = {"beam_updates": 15, "beam_compatible": 15, "locomo_near": 10}
"""How many of them are also asked the spec's two questions."""
ANSWER_S = 300.0


def main(arguments: list[str]) -> int:
    """Ask what is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.record", description="Record a local model's answers.")
    parser.add_argument("--url", default="http://127.0.0.1:18080", help="the model's server")
    parser.add_argument("--data", default=os.environ.get("NOUS_EVAL_DATA"), help="the data folder (default: NOUS_EVAL_DATA)")
    options = parser.parse_args(arguments)
    if not options.data or not Path(options.data).is_dir():
        print("nothing recorded: name the data folder with --data or NOUS_EVAL_DATA")
        return 0
    asyncio.run(_record(options.url, list(_missing(wanted(Path(options.data))))))
    return 0


def wanted(data: Path) -> list[tuple[Case, Asking]]:
    """Every question for the record: first what is asked both ways, prompt by prompt, since a server keeps what begins alike."""
    sets = [seeded(READERS[name](data), count) for name, count in WANTED.items()]
    twice = _in_turn([asked_both_ways(cases) for cases in sets])
    others = [case for case in _in_turn(sets) if case not in twice]
    both = [(case, asking.two_questions(case.pair())) for case in twice]
    return [
        *((case, asking.one_question(case.pair())) for case in twice),
        *((case, same) for case, (same, _) in both),
        *((case, contradict) for case, (_, contradict) in both),
        *((case, asking.one_question(case.pair())) for case in others),
    ]


def _in_turn(sets: Sequence[Sequence[Case]]) -> list[Case]:
    """The sets take turns."""
    return [case for turn in itertools.zip_longest(*sets) for case in turn if case]


def asked_both_ways(cases: Sequence[Case]) -> list[Case]:
    """Those of a set's cases that are also asked the spec's questions."""
    return seeded(cases, BOTH_WAYS.get(cases[0].set, 0)) if cases else []


def _missing(questions: Sequence[tuple[Case, Asking]]) -> Iterator[tuple[str, Asking]]:
    known = recorded()
    for case, one in questions:
        key = digest(one.version, case.older, case.newer)
        if key not in known:
            yield key, one


async def _record(url: str, missing: Sequence[tuple[str, Asking]]) -> None:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    async with httpx.AsyncClient(base_url=url, timeout=ANSWER_S) as client:
        with Progress(*columns, console=Console(stderr=True)) as bar:
            for key, one in bar.track(missing, description="asking"):
                _keep(key, await asking.ask(client, one))


def _keep(key: str, said: Said) -> None:
    with RECORDED.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"question": key, "said": said.word, "shares": said.shares}) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
