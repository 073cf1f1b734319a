"""`nous dead show`: one parked delivery whole, with its body as it came, every time it was parked, and what can be done now."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

import workers
from nous.settings import Settings
from store import receipts, retries
from store.parked import Parked, Wanted
from store.receipts import Receipt
from store.retries import Retry
from workers.runtime.parked import Body, Entries

from . import dead, place, screen
from .dead_listing import agent, as_data, state

LINES_SHOWN = 40  # of a body, on a terminal
LINE_SHOWN = 1_000  # characters


async def show(settings: Settings, written: str, wanted: Wanted, *, is_json: bool) -> None:
    """Print one delivery. Raises UserMistake."""
    async with place.database(settings) as database, place.redis(settings) as redis:
        async with database.overview() as db:
            one = await dead.the_one(db, written, wanted)
            others = [told for told in await receipts.of_events(db, [one.agent_id], [one.event_id]) if told.worker != one.worker]
            waiting = [row for row in await retries.of_events(db, one.agent_id, [one.event_id]) if row.worker == one.worker]
        body = await Entries(redis).body(one, database)
    if is_json:
        content = None if body is None else body.content.decode(errors="backslashreplace")
        elsewhere = [{"worker": told.worker, "outcome": told.outcome, "reason": told.reason} for told in others]
        screen.emit({**as_data(one), "body": content, "body_found_in": body and body.found_in, "other_workers": elsewhere})
        return
    console = screen.out()
    _print_delivery(console, one, others)
    _print_history(console, one, waiting)
    _print_body(console, one, body)
    console.print()
    for line in _next(one, body):
        console.print(line, style="yellow")


def _print_delivery(console: Console, one: Parked, others: Sequence[Receipt]) -> None:
    console.print(Text.assemble((one.handle, "bold"), f"  {state(one)}", (f"  {one.worker} on {one.stream}", "dim")))
    table = screen.rows(2)
    table.add_row("agent", Text(agent(one)))
    table.add_row("event", screen.said(one.event_id))
    table.add_row("entry", one.entry_id)
    for told in others:
        table.add_row(told.worker, screen.said(told.outcome if told.reason is None else f"{told.outcome}: {told.reason}", "dim"))
    console.print(table)


def _print_history(console: Console, one: Parked, waiting: Sequence[Retry]) -> None:
    console.print("\nWhat happened", style="bold")
    table = screen.rows(2)
    for at, what in _happened(one, waiting):
        table.add_row(Text(screen.moment(at), "dim"), screen.said(what))
    console.print(table)


def _happened(one: Parked, waiting: Sequence[Retry]) -> Iterator[tuple[datetime, str]]:
    """Every time it was parked, dropped, retried, and how it stands, in order."""
    for past in one.history:
        yield datetime.fromisoformat(past["at"]), _told(past["what"], past.get("attempts"), past.get("reason"))
        if past.get("retried_at"):
            yield datetime.fromisoformat(past["retried_at"]), "worked again, as a person wished"
    yield one.recorded_at, _told(one.outcome, one.attempts, one.reason)
    if one.evidence.get("retried_at"):
        yield datetime.fromisoformat(one.evidence["retried_at"]), "worked again, as a person wished"
    for row in waiting:
        yield row.due_at, f"due for attempt {row.attempts + 1}: {row.reason}" if row.attempts else "due for its first attempt"


def _told(what: str, attempts: Any, reason: str | None) -> str:
    after = f" after {screen.plural(attempts, 'attempt')}" if isinstance(attempts, int) else ""
    return f"{what}{after}{f': {reason}' if reason else ''}"


def _print_body(console: Console, one: Parked, body: Body | None) -> None:
    if body is None:
        return
    console.print(f"\nIts body, {len(body.content):,} bytes, from {body.found_in}", style="bold")
    lines = _readable(body.content)
    most = LINES_SHOWN if console.is_terminal else len(lines)
    for line in lines[:most]:
        indent = len(line) - len(line.lstrip(" "))
        cut = line if len(line) <= LINE_SHOWN or not console.is_terminal else f"{line[:LINE_SHOWN]}…"
        console.print(Text(" " * indent + screen.shown(cut)) if line.strip() else Text())
    if len(lines) > most:
        console.print(
            f"… {len(lines) - most:,} more lines; --json has it whole: {place.command()} dead show {one.handle} --json", style="dim"
        )


def _readable(content: bytes) -> list[str]:
    """A JSON body with a line for each field; any other as it is."""
    text = content.decode(errors="backslashreplace")
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2).splitlines() if text.strip() else ["(empty)"]
    except (ValueError, RecursionError):
        return text.splitlines() or ["(empty)"]


def _next(one: Parked, body: Body | None) -> Iterator[str]:
    """What a person can do now."""
    call = place.command()
    if one.waits:
        yield f"It waits for its next attempt. {call} status shows whether {one.worker} runs."
    elif one.is_dropped:
        yield f"It was dropped. To have it worked after all: {call} dead retry {one.handle}"
    elif not one.is_parked:
        yield "It is settled, and there is nothing left to do."
    else:
        if one.worker not in workers.table():
            yield f"No worker is called {one.worker} in this version; retried, it waits until the version runs that has it."
        elif body is None:
            yield "Its body is neither in Redis nor in the archive, so it cannot be worked again: publish it under the same event_id."
        else:
            yield f"Once the cause is mended: {call} dead retry {one.handle} ({one.worker} alone works it again, under the same event id)"
        yield f"If nobody wants it: {call} dead drop {one.handle} --because '…'"
