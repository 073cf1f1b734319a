"""How parked deliveries are listed, and which reasons are counted as one: two that differ only in the values they name."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from nous.settings import Settings
from store import parked
from store.database import Read
from store.parked import Parked, Wanted

from . import place, screen
from .listing import WIDE, Listing, whose

COLUMNS = ("id", "worker", "agent_id", "event_id", "attempts", "parked", "reason")
REASONS_SHOWN = 20
Count = tuple[str, str, int]
"""(worker, reason, how many)."""

_VALUES = re.compile(
    r"'[^']*\.\.\. \([\d,]+ characters\)"  # what is quoted, and cut
    r"|'(?:[^'\\]|\\.)*'(?=\W|$)|\"(?:[^\"\\]|\\.)*\"|“[^”]*”"  # what is quoted whole
    r"|\b[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\b|\d[\d.,:T+Z-]*"  # ids, numbers, times
)


def alike(reason: str) -> str:
    """The reason without the values in it."""
    return _VALUES.sub("…", screen.shown(reason))


def grouped(counts: Iterable[Count]) -> list[Count]:
    """Reasons that differ only in their values as one, most first."""
    sums: Counter[tuple[str, str]] = Counter()
    for worker, reason, count in counts:
        sums[worker, alike(reason)] += count
    return [(worker, reason, count) for (worker, reason), count in sorted(sums.items(), key=lambda one: (-one[1], one[0]))]


async def print_list(settings: Settings, wanted: Wanted, *, dropped: bool, limit: int | None, is_json: bool) -> None:
    """Print what is parked, the latest first, and on a terminal how much of it is parked for what."""

    async def find(db: Read, most: int | None) -> Sequence[Parked]:
        return await parked.listed(db, wanted, dropped=dropped, limit=most)

    await LISTING.print(settings, find, limit=limit, nothing=_nothing(wanted, dropped=dropped), is_json=is_json)
    console = screen.out()
    if console.is_terminal and not is_json and not dropped:
        await print_counts(settings, wanted, is_json=False, only_if_any=True)


async def print_counts(settings: Settings, wanted: Wanted, *, is_json: bool, only_if_any: bool = False) -> None:
    """Print how many are parked, by worker and reason."""
    async with place.database(settings) as database, database.overview() as db:
        found = grouped(await parked.counts(db, wanted))
    console = screen.out()
    total = sum(count for _, _, count in found)
    if is_json:
        screen.emit([{"worker": worker, "reason": reason, "parked": count} for worker, reason, count in found])
    elif not found:
        if not only_if_any:
            console.print(_nothing(wanted, dropped=False))
    elif not console.is_terminal:
        for worker, reason, count in found:
            print(f"{count}\t{worker}\t{reason}")
    else:
        _print_counts(console, found, total)


def as_data(one: Parked) -> dict[str, object]:
    """A parked delivery for JSON, without its body."""
    return {
        "id": one.handle,
        "worker": one.worker,
        "stream": one.stream,
        "agent_id": one.agent_id,
        "event_id": one.event_id,
        "entry_id": one.entry_id,
        "state": state(one),
        "reason": one.reason,
        "attempts": one.attempts,
        "parked_at": one.recorded_at,
        "retried_at": one.evidence.get("retried_at"),
        "history": one.history,
    }


def state(one: Parked) -> str:
    """How it stands: parked, waiting for another attempt, dropped, or how it ended after it was parked."""
    if one.waits:
        return "worked again"
    return "parked" if one.is_parked else "dropped" if one.is_dropped else one.outcome


def agent(one: Parked) -> str:
    """Whose it is; a body that says nothing readable of that is nobody's."""
    return screen.shown(one.agent_id) if one.agent_id else "(unknown)"


def _row(one: Parked) -> tuple[str, ...]:
    """One for a pipe."""
    attempts = "" if one.attempts is None else str(one.attempts)
    name = screen.shown(one.agent_id) if one.agent_id else ""
    return (one.handle, one.worker, name, screen.shown(one.event_id), attempts, screen.moment(one.recorded_at), screen.shown(one.reason))


def _print_table(console: Console, shown: Sequence[Parked]) -> None:
    if console.width < WIDE:
        for one in shown:
            _print_in_lines(console, one)
        return
    table = screen.table("id", "worker", "agent", "tries", "parked (UTC)", "why", right=("tries",))
    for column in table.columns[:2]:
        column.no_wrap = True
    table.columns[4].no_wrap = True
    table.columns[2].max_width = 24
    for one in shown:
        tries = "" if one.attempts is None else str(one.attempts)
        why = Text.assemble(screen.said(one.reason), "\n", screen.said(f"event {one.event_id}{_again(one)}", "dim"))
        table.add_row(Text(one.handle, "bold"), one.worker, Text(agent(one)), tries, screen.moment(one.recorded_at), why)
    console.print(table)


def _print_in_lines(console: Console, one: Parked) -> None:
    tries = f" · {screen.plural(one.attempts, 'attempt')}" if one.attempts is not None else ""
    told = f"  {one.worker} · {agent(one)}{tries} · {screen.moment(one.recorded_at)}{_again(one)}"
    console.print(Text.assemble((one.handle, "bold"), (told, "dim")))
    console.print(screen.said(one.reason))
    console.print(screen.said(f"event {one.event_id}", "dim"), end="\n\n")


def _again(one: Parked) -> str:
    return f" · the {_ordinal(len(one.history) + 1)} time" if one.history else ""


def _ordinal(number: int) -> str:
    tail = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def _print_counts(console: Console, found: Sequence[Count], total: int) -> None:
    console.print(f"{total:,} parked", style="bold yellow")
    table = screen.rows(3)
    table.columns[0].justify = "right"
    table.columns[1].no_wrap = True
    for worker, reason, count in found[:REASONS_SHOWN]:
        table.add_row(f"{count:,}", worker, Text(reason))
    console.print(table)
    if len(found) > REASONS_SHOWN:
        console.print(f"and {len(found) - REASONS_SHOWN:,} more reasons; --counts --json has them all", style="dim")
    console.print(
        f"To see one whole: {place.command()} dead show ID. Once the cause is mended: {place.command()} dead retry --all", style="dim"
    )


def _nothing(wanted: Wanted, *, dropped: bool) -> str:
    what = "Nothing was dropped" if dropped else "Nothing is parked"
    by = f" by {wanted.worker}" if wanted.worker else ""
    on = f" on {wanted.stream}" if wanted.stream else ""
    why = f" because of {screen.shown(wanted.reason)!r}" if wanted.reason else ""
    since = f" since {screen.moment(wanted.since)} UTC" if wanted.since else ""
    return f"{what}{by}{on}{whose(wanted.agent)}{why}{since}."


LISTING = Listing(COLUMNS, _row, _print_table, as_data)
