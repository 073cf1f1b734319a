"""The one clock: aware UTC, and it can be held still.

Nothing else in the house asks the system for the time of day, so a test or a replay that holds this clock holds all of it.
(Durations are measured with `time.monotonic`, which is not a time of day.)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

_held: ContextVar[datetime | None] = ContextVar("nous_clock_held", default=None)


def now() -> datetime:
    """The current time, aware, in UTC."""
    return _held.get() or datetime.now(UTC)  # noqa: TID251 - this is the one clock


def earlier(moment: datetime, by: timedelta) -> datetime:
    """`moment` (aware) minus so much, in UTC, and never before the first moment there is."""
    first = datetime.min.replace(tzinfo=UTC)
    return first + max(moment - first - by, timedelta())


def later(moment: datetime, by: timedelta) -> datetime:
    """`moment` (aware) plus so much, in UTC, and never after the last moment there is."""
    last = datetime.max.replace(tzinfo=UTC)
    return last - max(last - moment - by, timedelta())


@contextmanager
def held(at: datetime) -> Iterator[None]:
    """Hold the clock at `at` (aware) for the block; raises ValueError for a naive time."""
    if at.tzinfo is None:
        raise ValueError(f"the clock holds aware times only, and {at.isoformat()} has no time zone; add tzinfo=UTC")
    token = _held.set(at.astimezone(UTC))
    try:
        yield
    finally:
        _held.reset(token)
