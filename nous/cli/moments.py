"""A moment that a person types: with its time zone, or a date alone, which is its midnight in UTC."""

import sys
from contextlib import suppress
from datetime import UTC, date, datetime, time

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
    with suppress(ValueError):
        midnight = datetime.combine(date.fromisoformat(written.strip()), time(), UTC)
        print(f"note: {option} {written} is taken as {midnight:%Y-%m-%dT%H:%MZ}, its midnight in UTC", file=sys.stderr)
        return midnight
    try:
        moment = datetime.fromisoformat(written.strip().upper())
    except ValueError:
        raise UserMistake(f"{option} {written!r} is no time; write it as 2026-03-01T09:30Z, or a date alone") from None
    if moment.tzinfo is None:
        raise UserMistake(f"{option} {written!r} has no time zone, so it is no one moment; write {written}Z for UTC, or {written}+02:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UserMistake(f"{option} {written!r} is outside the years 1 to 9999 once its offset is applied") from None
