"""How parked deliveries are listed, and which reasons are counted as one: two that differ only in the values they name."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from nous.settings import Settings
from store import parked
from store.database import Read
from store.parked import Parked, Wanted

from . import place, screen, unheard
from .listing import WIDE, Listing, whose

COLUMNS = ("id", "worker", "agent_id", "event_id", "attempts", "parked", "reason")
OF_DROPPED = (*COLUMNS[:-1], "parked_because", "dropped", "dropped_because")
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

    listing = DROPPED if dropped else PARKED
    await listing.print(settings, find, agent=wanted.agent, limit=limit, nothing=_nothing(wanted, dropped=dropped), is_json=is_json)
    console = screen.out()
    if console.is_terminal and not is_json and not dropped:
        await print_counts(settings, wanted, is_json=False, only_if_any=True)


async def print_counts(settings: Settings, wanted: Wanted, *, is_json: bool, only_if_any: bool = False) -> None:
    """Print how many are parked, by worker and reason."""
    async with place.database(settings) as database, database.overview() as db:
        found = grouped(await parked.counts(db, wanted))
        unknown = None if found else await unheard.of(db, wanted.agent)
    console = screen.out()
    total = sum(count for _, _, count in found)
    if is_json:
        screen.emit([{"worker": worker, "reason": reason, "parked": count} for worker, reason, count in found])
    elif not found:
        if not only_if_any:
            console.print(" ".join(filter(None, (_nothing(wanted, dropped=False), unknown))))
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
        "parked_because": _parked_for(one),
        "attempts": one.attempts,
        "parked_at": _parked_at(one),
        "dropped_at": one.recorded_at if one.is_dropped else None,
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
    tries = _tries(one)
    attempts = "" if tries is None else str(tries)
    name = screen.shown(one.agent_id) if one.agent_id else ""
    at = screen.moment(_parked_at(one))
    return (one.handle, one.worker, name, screen.shown(one.event_id), attempts, at, screen.shown(_parked_for(one)))


def _row_dropped(one: Parked) -> tuple[str, ...]:
    """One that was dropped, for a pipe."""
    return (*_row(one), screen.moment(one.recorded_at), screen.shown(one.reason))


def _parking(one: Parked) -> Mapping[str, Any]:
    """How one that has been dropped or settled was parked the last time; nothing of one that is parked, which tells it itself."""
    return next((past for past in reversed(one.history) if past["what"] == "parked"), {}) if one.ending != "parked" else {}


def _parked_at(one: Parked) -> datetime:
    at = _parking(one).get("at")
    return datetime.fromisoformat(at) if at else one.recorded_at


def _parked_for(one: Parked) -> str:
    """Why no worker could work it."""
    return one.reason if one.ending == "parked" else _parking(one).get("reason") or ""


def _tries(one: Parked) -> int | None:
    return one.attempts if one.ending == "parked" else _parking(one).get("attempts")


def _print_table(console: Console, shown: Sequence[Parked]) -> None:
    if console.width < WIDE:
        for one in shown:
            _print_in_lines(console, one)
        return
    are_dropped = shown[0].is_dropped
    columns = ("id", "worker", "agent", "tries", "parked (UTC)", *(["dropped (UTC)"] if are_dropped else []), "why")
    table = screen.table(*columns, right=("tries",))
    for column in (table.columns[0], table.columns[1], *table.columns[4:-1]):
        column.no_wrap = True
    table.columns[2].max_width = 24
    for one in shown:
        tries = "" if _tries(one) is None else str(_tries(one))
        times = [_parked_at(one), *([one.recorded_at] if are_dropped else [])]
        why = Text.assemble(*_why(one), screen.said(f"event {one.event_id}{_again(one)}", "dim"))
        table.add_row(Text(one.handle, "bold"), one.worker, Text(agent(one)), tries, *map(screen.moment, times), why)
    console.print(table)


def _why(one: Parked) -> list[Text]:
    """Why it was parked and, if it was, why it was dropped, each on a line."""
    if not one.is_dropped:
        return [screen.said(one.reason), Text("\n")]
    reason = _parked_for(one)
    parked_for = [screen.said(f"parked: {reason}"), Text("\n")] if reason else []
    return [*parked_for, screen.said(f"dropped: {one.reason}", "yellow"), Text("\n")]


def _print_in_lines(console: Console, one: Parked) -> None:
    tries = f" · {screen.plural(count, 'attempt')}" if (count := _tries(one)) is not None else ""
    dropped = f" · dropped {screen.moment(one.recorded_at)}" if one.is_dropped else ""
    told = f"  {one.worker} · {agent(one)}{tries} · parked {screen.moment(_parked_at(one))}{dropped}{_again(one)}"
    console.print(Text.assemble((one.handle, "bold"), (told, "dim")))
    console.print(Text.assemble(*_why(one)), end="")
    console.print(screen.said(f"event {one.event_id}", "dim"), end="\n\n")


def _again(one: Parked) -> str:
    return f" · the {_ordinal(len(one.history) + 1)} time" if one.history and not one.is_dropped else ""


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


PARKED = Listing(COLUMNS, _row, _print_table, as_data)
DROPPED = Listing(OF_DROPPED, _row_dropped, _print_table, as_data)
