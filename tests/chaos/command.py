"""`python -m tests.chaos [--events N] [--seed N] [--minutes M] [--json] [--write FILE]`: break everything, and see what holds."""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from nous import log

from . import faults, report
from .run import Outcome, Size, run

PUBLISHING_SHARE = 0.5
PATIENT = {
    "claim_after_s": 10,
    "retry_base_s": 0.2,
    "retry_cap_s": 2,
    "max_attempts": 5,
    "time_limit_s": 20,
    "stream_keep_s": 5,
    "page": 128,
    "mind_timeout_s": 3,
    "test_unanswered_s": 10,
    "test_mind_wait_s": 2,
}
EVENTS_FOR_ALL_FAULTS = 20_000


def main(arguments: list[str]) -> int:
    """Run once; 0 if every promise held."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Every promise, under every fault.")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000, help="the same seed gives the same lives and faults")
    parser.add_argument("--minutes", type=float, default=9.2, help="longest it may take from the first event")
    parser.add_argument("--replicas", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print the outcome for a machine")
    parser.add_argument("--write", type=Path, help="put the figures between the markers of this document")
    parser.add_argument("--home", type=Path, help="keep the servers' folders and the logs of the replicas here")
    options = parser.parse_args(arguments)
    if options.home and options.home.exists() and any(options.home.iterdir()):
        parser.error(f"{options.home} holds what another run left, which would count as said here: name an empty folder, or remove it")
    log.configure(log_format="auto", level="warning")
    print(f"seed {options.seed}", file=sys.stderr, flush=True)
    seconds = options.minutes * 60
    size = Size(
        events=options.events,
        replicas=options.replicas,
        publishing_s=seconds * PUBLISHING_SHARE,
        settling_s=seconds * (1 - PUBLISHING_SHARE),
        plan=lambda dice: faults.plan(dice, 1) if options.events >= EVENTS_FOR_ALL_FAULTS else faults.short_plan(dice),
        waits=PATIENT,
    )
    with tempfile.TemporaryDirectory(prefix="nous-chaos-") as folder:
        home = options.home or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        outcome = uvloop.run(_run(home, size, options.seed))
    if options.json:
        print(json.dumps(report.as_data(outcome), indent=1))
    else:
        report.show(outcome)
    if options.write:
        report.write(outcome, options.write)
    return 0 if outcome.is_proven else 1


async def _run(home: Path, size: Size, seed: int) -> Outcome:
    """Whoever ends it wants all that it started ended."""
    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await run(home, size, seed, say=lambda line: print(line, file=sys.stderr, flush=True))
