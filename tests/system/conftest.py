"""Replicas as processes, and what a test asks of the whole."""

import asyncio
import json
import multiprocessing
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

import workers
from events import Event, encode
from nous import embedded
from store.database import Database
from tests.conftest import until
from tests.system.replica import run
from workers.runtime import app, streams
from workers.runtime.worker import Kit

FORKING = multiprocessing.get_context("forkserver")
Replicas = Callable[..., BaseProcess]


@pytest.fixture
async def replica(database_url: str, stack: embedded.Stack, redis: Redis, tmp_path: Path) -> AsyncIterator[Replicas]:
    """Start a replica: `replica("deduplicator", claim_after_s=1)`. What still runs at the end is killed, and the end of their logs is
    printed: pytest shows it beside a test that failed.
    """
    started: list[BaseProcess] = []
    logs = tmp_path / "replicas.log"
    FORKING.set_forkserver_preload(["pytest", "tests.system.loaded"])

    def start(*names: str, **settings: object) -> BaseProcess:
        short = {"claim_after_s": 2, "retry_base_s": 0.05, "retry_cap_s": 0.2, "max_attempts": 3, "time_limit_s": 20} | settings
        environment = os.environ | {f"NOUS_{name.upper()}": str(value) for name, value in short.items()}
        environment |= {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": str(settings.get("redis_url", stack.redis_url))}
        process = FORKING.Process(target=run, args=(names or ("deduplicator",), dict(environment), logs))
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()
        process.close()
    if logs.exists():
        print(*logs.read_text().splitlines()[-40:], sep="\n")


async def publish(redis: Redis, events: Sequence[Event]) -> None:
    """Append events as any client would."""
    pipeline = redis.pipeline(transaction=False)
    for event in events:
        pipeline.xadd(event.stream, {"data": encode(event)})
    await pipeline.execute()


async def settled(redis: Redis, database: Database, *workers: str, stream: str = "fact_learned", within_s: float = 60) -> None:
    """Wait until nothing is unread, pending or waiting for another attempt."""

    async def is_settled() -> bool:
        for worker in workers or ("deduplicator",):
            state = await streams.group_state(redis, stream, worker)
            if state.lag or state.pending:
                return False
        return not await rows(database, "SELECT 1 FROM bus.retries LIMIT 1") and not await rows(
            database, "SELECT 1 FROM bus.outbox WHERE published_at IS NULL LIMIT 1"
        )

    await until(is_settled, within_s=within_s, what="a settled stream")


async def rows(database: Database, query: str, **values: object) -> list[Any]:
    """What an operator's query finds, over all agents."""
    async with database.overview() as db:
        return list(await db.execute(text(query), values))


async def parked(redis: Redis, stream: str = "fact_learned") -> list[dict[str, Any]]:
    """The entries of the parked stream, decoded."""
    entries = await redis.xrange(f"{stream}.parked")
    return [{name.decode(): value.decode(errors="replace") for name, value in fields.items()} for _, fields in entries]


def body(**fields: object) -> bytes:
    """A JSON body as a foreign client would write it."""
    return json.dumps(fields).encode()


def stopped(process: BaseProcess) -> int | None:
    """Ask a process to stop and wait until it has; its exit code."""
    process.terminate()
    process.join(timeout=30)
    return process.exitcode


@pytest.fixture
async def process(kit: Kit, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Callable[..., Awaitable[app.Process]]]:
    """Run workers in this process: `await process("deduplicator")`; stopped at the end. `redis_url` may lead through a cable."""
    stop = asyncio.Event()
    running: list[asyncio.Task[None]] = []

    async def start(*names: str, redis_url: str | None = None, with_kit: Kit | None = None) -> app.Process:
        table = workers.table()
        made = app.Process([table[name] for name in names], with_kit or kit, redis_url or stack.redis_url)
        running.append(asyncio.create_task(made.run(stop)))
        return made

    yield start
    stop.set()
    await asyncio.gather(*running)
