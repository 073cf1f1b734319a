"""The data folder that is measured on: named with --data or NOUS_EVAL_DATA, and read by path alone."""

import argparse
import os
from pathlib import Path


def add_to(parser: argparse.ArgumentParser) -> None:
    """Let it be named."""
    parser.add_argument("--data", default=os.environ.get("NOUS_EVAL_DATA"), help="the data folder (default: NOUS_EVAL_DATA)")


def found(data: str | None) -> Path | None:
    """It; None, and why is printed, where there is no such folder."""
    if data and Path(data).is_dir():
        return Path(data)
    why = f"{data} is not a folder" if data else "no data folder is named"
    print(f"nothing measured: {why}; name one with --data or NOUS_EVAL_DATA")
    return None


def say_it_has_nothing(data: Path) -> None:
    """None of the known sets lies there."""
    print(f"nothing measured: no known set below {data}; files are named after their set, such as pararel_dev.jsonl")
