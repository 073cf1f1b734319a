"""`python -m tests.evals.record --url http://127.0.0.1:18080 --data FOLDER`: ask a small local model, once, and keep what it says.

The server speaks OpenAI's chat completions with log probabilities (llama.cpp does). What was asked before is not asked again, so that it
can be stopped and started; the sets take turns, so that a record that was stopped early holds some of each. Kept are a digest of each
question, the word answered and the share of each word: no text of the data.

`python -m tests.evals.record --episodes --url http://127.0.0.1:18080 --model NAME --data FOLDER` asks it to read the three conversations
of episodes.py by both criteria, six questions and a second try for each, minutes on two cores. The server must speak the Messages API too
(llama.cpp does, at /v1/messages), with a context of 8,192 tokens. It is asked through the product's own client, for JSON in text; an answer
that is none, twice, is recorded as none. Kept are a digest and the answer sealed with its question's words (writing.py), so that it can be
read only with the data at hand. Another model's name goes into the name of the file in writing.py.
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

from nous.settings import Settings
from providers.claude import ClaudeMind

from . import asking, episodes, folder, writing
from .asking import Asking
from .cases import READERS, Case, seeded
from .minds import RECORDED, Said, digest, recorded
from .writing import Recorder

WANTED = {"beam_updates": 50, "beam_compatible": 60, "pararel": 40, "situatedqa_updates": 60, "locomo_near": 50}
"""How many of each set and effect."""
BOTH_WAYS = {"beam_updates": 15, "beam_compatible": 15, "locomo_near": 10}
"""How many of them are also asked the spec's two questions."""
ANSWER_S = 300.0
READING_S = 3_600.0
NO_KEY = "none"  # a local model wants none, and a real one is not shown to it


def main(arguments: list[str]) -> int:
    """Ask what is missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.evals.record", description="Record a local model's answers.")
    parser.add_argument("--url", default="http://127.0.0.1:18080", help="the model's server")
    folder.add_to(parser)
    parser.add_argument("--episodes", action="store_true", help="let it read three conversations, by both criteria")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b", help="with --episodes: what the server calls its model")
    options = parser.parse_args(arguments)
    if not options.data or not Path(options.data).is_dir():
        print("nothing recorded: name the data folder with --data or NOUS_EVAL_DATA")
        return 0
    if options.episodes:
        return asyncio.run(_record_episodes(options.url, options.model, Path(options.data), writing.RECORDED))
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


async def _record_episodes(url: str, model: str, data: Path, path: Path) -> int:
    """Let the model read what is not recorded; 0 when all of it is."""
    os.environ |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": NO_KEY}
    settings = Settings(mind="claude", mind_model=model, mind_tools=False, mind_timeout_s=READING_S, mind_concurrency=1)
    recorder = Recorder(ClaudeMind.configured(settings), path)
    try:
        read = await episodes.readings(episodes.three(data), recorder)
    finally:
        await recorder.mind.close()
    away = [one for _, one in read if one.is_away]
    print(f"{recorder.asked} questions asked, {sum(one.told is not None for _, one in read)} of {len(read)} readings answered")
    for _, one in read:
        if one.why:
            print(f"no answer: {one.conversation.name}, {one.style}: {one.why}")
    return 1 if away else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
