"""`nous answers`: what was asked of a mind and what it cost, by day, worker, agent and model."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from rich.console import Console

from nous import clock
from nous.settings import Settings
from providers.offline import OfflineMind
from store import spending
from store.spending import Bill

from . import place, screen, unheard

COLUMNS = ("day", "worker", "agent", "model", "questions", "tokens in", "tokens out", "US dollars")
NUMBERS = COLUMNS[4:]
WIDE = 100  # from here worker, agent and model have columns of their own


async def list_answers(settings: Settings, *, agent: str | None, days: int, is_json: bool) -> None:
    """Print the bills of the last `days` days, today among them, and their total."""
    since = datetime.combine(clock.now().date() - timedelta(days=days - 1), time(), UTC)
    async with place.database(settings) as database, database.overview() as db:
        bills = await spending.bills(db, agent=agent, since=since)
        unknown = None if bills else await unheard.of(db, agent)
    if is_json:
        screen.emit({"since": since, "bills": [_as_data(bill) for bill in bills], "total": _total(bills)})
        return
    console = screen.out()
    if not bills:
        whose = f" for agent {screen.shown(agent)!r}" if agent else ""
        console.print(f"Nothing was asked of a mind{whose} since {since:%Y-%m-%d}, so nothing was paid.{f' {unknown}' if unknown else ''}")
        return
    _print_bills(console, bills)
    if all(OfflineMind.is_named(bill.model) for bill in bills):
        screen.err().print("All of it was judged by rule, by the offline mind, which is free.", style="dim")


def _print_bills(console: Console, bills: Sequence[Bill]) -> None:
    lines = [(str(one.day), one.worker, one.agent_id, one.model, *_numbers(_as_data(one))) for one in bills]
    total = ("total", "", "", "", *_numbers(_total(bills)))
    if not console.is_terminal:
        for line in (COLUMNS, *lines, total):
            print("\t".join(screen.shown(one) if one else "" for one in line))
        return
    is_wide = console.width >= WIDE
    table = screen.table(*(COLUMNS if is_wide else ("day", "asked", *NUMBERS)), right=("day", *NUMBERS))
    for day, worker, whose, model, *numbers in lines:
        who = [worker, whose, model] if is_wide else [f"{worker} for {whose}, {model}"]
        table.add_row(day, *map(screen.said, who), *numbers)
    table.add_row("total", *([""] * (3 if is_wide else 1)), *total[4:], style="bold")
    console.print(table)


def _numbers(of: dict[str, object]) -> tuple[str, ...]:
    return (*(f"{of[name]:,}" for name in ("questions", "tokens_in", "tokens_out")), f"{of['cost']:,.4f}")


def _as_data(bill: Bill) -> dict[str, object]:
    return {**asdict(bill), "cost": float(bill.cost)}


def _total(bills: Sequence[Bill]) -> dict[str, object]:
    counted = {name: sum(getattr(bill, name) for bill in bills) for name in ("questions", "tokens_in", "tokens_out")}
    return {**counted, "cost": float(sum((bill.cost for bill in bills), Decimal()))}
