"""A moment as somebody writes it: with its time zone, or a date alone, which is its midnight in UTC. The same wherever one is taken.

2026-03-01T09:30Z, 2026-03-01T10:30+01:00 ─▶ 09:30 in UTC
2026-03-01                                ─▶ 00:00 in UTC
2026-03-01T09:30                          ─▶ no one moment: refused
"""

from contextlib import suppress
from datetime import UTC, date, datetime, time


def midnight(written: str) -> datetime | None:
    """The moment that a date alone stands for; None for anything else."""
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(written.strip()), time(), UTC)
    return None


def read(written: str) -> datetime:
    """The moment, in UTC. Raises ValueError for what is none, saying what is wrong with it and how it is written."""
    if (begun := midnight(written)) is not None:
        return begun
    try:
        moment = datetime.fromisoformat(written.strip().upper())
    except ValueError:
        raise ValueError(f"{written[:80]!r} is no time; write it as 2026-03-01T09:30Z, or a date alone") from None
    if moment.tzinfo is None:
        raise ValueError(f"{written!r} has no time zone, so it is no one moment; write {written}Z for UTC, or {written}+02:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{written!r} is outside the years 1 to 9999 once its offset is applied") from None
