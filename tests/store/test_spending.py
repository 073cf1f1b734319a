"""Spending: what was asked is added up by agent, hour, worker and model, whether it was answered or not."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from store import spending
from store.database import Database, Write
from store.spending import Bill, Spent
from tests.factories import NOON
from tests.store.conftest import as_operator

HOUR = timedelta(hours=1)


def spent(tokens_in: int = 100, tokens_out: int = 10, **over: Any) -> Spent:
    fields: dict[str, Any] = {
        "agent_id": "a",
        "hour": NOON,
        "worker": "supersession_checker",
        "model": "a-model",
        "questions": 1,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost": Decimal("0.000450"),
    }
    return Spent(**fields | over)


async def test_an_hour_that_nothing_was_spent_in_is_empty(db: Write) -> None:
    assert await spending.tokens(db, hour=NOON, agent="a") == (0, 0)


async def test_tokens_are_counted_for_the_agent_and_for_all_within_the_hour(db: Write) -> None:
    for one in (
        spent(),
        spent(5, 5),
        spent(worker="supersession_rechecker"),
        spent(model="another"),
        spent(agent_id="b"),
        spent(hour=NOON - HOUR),
    ):
        await spending.add(db, one)
    assert await spending.tokens(db, hour=NOON, agent="a") == (340, 450)
    assert await spending.tokens(db, hour=NOON, agent="b") == (110, 450)
    assert await spending.tokens(db, hour=NOON, agent="c") == (0, 450)
    assert await spending.tokens(db, hour=NOON + HOUR, agent="a") == (0, 0)


async def test_more_tokens_than_an_integer_holds_are_counted(db: Write) -> None:
    for _ in range(3):
        await spending.add(db, spent(2_000_000_000, 2_000_000_000))
    assert await spending.tokens(db, hour=NOON, agent="a") == (12_000_000_000, 12_000_000_000)


async def test_what_several_spend_at_once_is_all_counted(database_url: str) -> None:
    database = Database(database_url, pool=6)

    async def add() -> None:
        for _ in range(10):
            async with database.queue() as db:
                await spending.add(db, spent(1, 0, agent_id="together"))

    await asyncio.gather(*(add() for _ in range(6)))
    async with database.queue() as db:
        assert (await spending.tokens(db, hour=NOON, agent="together"))[0] == 60
    await database.close()


@pytest.mark.parametrize("agent", [None, "a"])
async def test_a_bill_is_a_day_s_by_worker_agent_and_model_newest_first(db: Write, agent: str | None) -> None:
    day = timedelta(days=1)
    for one in (spent(), spent(hour=NOON + HOUR), spent(hour=NOON - day), spent(hour=NOON - 9 * day), spent(agent_id="b")):
        await spending.add(db, one)
    bills = await spending.bills(await as_operator(db), agent=agent, since=NOON - 2 * day)
    of_a = [
        Bill(NOON.date(), "supersession_checker", "a", "a-model", 2, 200, 20, Decimal("0.000900")),
        Bill((NOON - day).date(), "supersession_checker", "a", "a-model", 1, 100, 10, Decimal("0.000450")),
    ]
    of_b = Bill(NOON.date(), "supersession_checker", "b", "a-model", 1, 100, 10, Decimal("0.000450"))
    mine = [bill for bill in bills if bill.agent_id in ("a", "b")]
    assert mine == (of_a if agent else [of_a[0], of_b, of_a[1]])
