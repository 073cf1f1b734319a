"""A moment that a person types (nous/moments.py), and the time between two of them."""

import sys
from datetime import datetime

from nous import moments
from nous.errors import UserMistake


def between(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """The moments of --from and --to. Raises UserMistake for what is no moment, and when nothing can lie between the two."""
    first, end = typed("--from", since), typed("--to", until)
    if first is not None and end is not None and first >= end:
        raise UserMistake(f"nothing arrived from {since} on and before {until}: --from is the earlier of the two")
    return first, end


def typed(option: str, written: str | None) -> datetime | None:
    """The moment; None when nothing was typed. Says how a date alone is taken. Raises UserMistake for what is no one moment."""
    if written is None:
        return None
    if (midnight := moments.midnight(written)) is not None:
        print(f"note: {option} {written} is taken as {midnight:%Y-%m-%dT%H:%MZ}, its midnight in UTC", file=sys.stderr)
    try:
        return moments.read(written)
    except ValueError as wrong:
        raise UserMistake(f"{option} {wrong}") from None
