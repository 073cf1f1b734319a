"""What minds cost: by day, and by worker, model and agent."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from nous import clock
from store import spending
from store.spending import Bill

from . import charts
from .answers import Answer, Asked

if TYPE_CHECKING:
    from .site import Site

DAYS = 30
MOST_DAYS = 366
ROWS = 200
SHARES = 10


@dataclass(frozen=True)
class Share:
    """What is due to one worker, model or agent, and how much that is of all, 0 to 1."""

    name: str
    questions: int
    tokens: int
    cost: Decimal
    part: float


async def page(site: "Site", asked: Asked) -> Answer:
    """The page."""
    days, agent = asked.number("days", DAYS, most=MOST_DAYS), asked.words("agent")
    today = clock.now().date()
    since = today - timedelta(days=days - 1)
    async with site.database.overview() as db:
        bills = await spending.bills(db, agent=agent, since=datetime.combine(since, time(), UTC))
    is_free = not any(one.cost for one in bills)
    columns = [(f"{day:%m-%d}", parts) for day, parts in _by_day(bills, since, today, tokens=is_free).items()]
    shown = {
        "days": days,
        "agent": agent or "",
        "since": since,
        "bills": bills[:ROWS],
        "is_cut": len(bills) > ROWS,
        "is_free": is_free,
        "total": _share("all", bills, bills),
        "chart": charts.stacked(columns, money=not is_free),
        "shares": {
            "worker": _shares(bills, lambda one: one.worker),
            "model": _shares(bills, lambda one: one.model),
            "agent": _shares(bills, lambda one: one.agent_id),
        },
    }
    return Answer(
        "cost.html", shown, {"since": since, "bills": [asdict(one) for one in bills], "total": asdict(_share("all", bills, bills))}
    )


def _by_day(bills: Sequence[Bill], first: date, last: date, *, tokens: bool) -> Mapping[date, Mapping[str, float]]:
    """What each day cost in dollars; in thousands of tokens where nothing did."""
    days: dict[date, dict[str, float]] = {first + timedelta(days=day): {} for day in range((last - first).days + 1)}
    for one in bills:
        if (day := days.get(one.day)) is not None:
            what, amount = ("tokens", one.tokens_in + one.tokens_out) if tokens else ("", float(one.cost))
            day[what] = day.get(what, 0.0) + amount
    return days


def _shares(bills: Sequence[Bill], of: Callable[[Bill], str]) -> list[Share]:
    """Who caused most of it."""
    groups: dict[str, list[Bill]] = defaultdict(list)
    for one in bills:
        groups[of(one)].append(one)
    return sorted((_share(name, some, bills) for name, some in groups.items()), key=lambda one: (-one.cost, -one.tokens, one.name))[:SHARES]


def _share(name: str, some: Sequence[Bill], of: Sequence[Bill]) -> Share:
    cost, tokens = sum((one.cost for one in some), Decimal()), sum(one.tokens_in + one.tokens_out for one in some)
    whole, all_tokens = sum((one.cost for one in of), Decimal()), sum(one.tokens_in + one.tokens_out for one in of)
    part = float(cost / whole) if whole else tokens / all_tokens if all_tokens else 0.0
    return Share(name, sum(one.questions for one in some), tokens, cost, part)
