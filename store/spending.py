"""Spending: tokens and cost by agent, hour, worker and model. The budget looks here, and so does whoever asks what memory costs."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from sqlalchemy import text

from .database import Read, Write


@dataclass(frozen=True)
class Spent:
    """What one question cost, whether it was answered or not. `hour` is the hour it was asked in, `cost` in US dollars."""

    agent_id: str
    hour: datetime
    worker: str
    model: str
    questions: int
    tokens_in: int
    tokens_out: int
    cost: Decimal


@dataclass(frozen=True)
class Bill:
    """What a worker asked for an agent in one day (UTC)."""

    day: date
    worker: str
    agent_id: str
    model: str
    questions: int
    tokens_in: int
    tokens_out: int
    cost: Decimal


async def add(db: Write, spent: Spent) -> None:
    """Add it to its hour."""
    names = tuple(Spent.__dataclass_fields__)
    summed = ("questions", "tokens_in", "tokens_out", "cost")
    await db.execute(
        text(
            f"INSERT INTO bus.spending ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
            " ON CONFLICT ON CONSTRAINT pk_spending DO UPDATE SET"
            f" {', '.join(f'{name} = bus.spending.{name} + excluded.{name}' for name in summed)}"
        ),
        vars(spent),
    )


async def tokens(db: Read, *, hour: datetime, agent: str) -> tuple[int, int]:
    """The tokens spent in this hour: by this agent, and by all together."""
    row = (
        await db.execute(
            text(
                "SELECT coalesce(sum(tokens_in + tokens_out) FILTER (WHERE agent_id = :agent), 0) AS agents,"
                " coalesce(sum(tokens_in + tokens_out), 0) AS total FROM bus.spending WHERE hour = :hour"
            ),
            {"agent": agent, "hour": hour},
        )
    ).one()
    return int(row.agents), int(row.total)


async def bills(db: Read, *, agent: str | None, since: datetime) -> list[Bill]:
    """What was spent since, by day, worker, agent and model, newest day first."""
    rows = await db.execute(
        text(
            "SELECT CAST(hour AT TIME ZONE 'UTC' AS date) AS day, worker, agent_id, model, sum(questions) AS questions,"
            " sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out, sum(cost) AS cost FROM bus.spending"
            " WHERE hour >= :since AND (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4"
        ),
        {"since": since, "agent": agent},
    )
    return [
        Bill(
            day=row.day,
            worker=row.worker,
            agent_id=row.agent_id,
            model=row.model,
            questions=int(row.questions),
            tokens_in=int(row.tokens_in),
            tokens_out=int(row.tokens_out),
            cost=row.cost,
        )
        for row in rows
    ]


async def last_models(db: Read) -> dict[str, str]:
    """The model that each worker asked last, by the worker's name; needs an overview."""
    rows = await db.execute(text("SELECT DISTINCT ON (worker) worker, model FROM bus.spending ORDER BY worker, hour DESC, model"))
    return {row.worker: row.model for row in rows}
