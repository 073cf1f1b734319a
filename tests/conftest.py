"""What tests stand on: one real Postgres and one real Valkey for the run, a migrated template cloned for each test that writes.

stack          the embedded stack of this run; NOUS_TEST_REDIS_SERVER=/usr/bin/redis-server runs it on another server than Valkey
database_url   a database of the test's own, cloned from the migrated template (vectors of the zero-cost embedder)
database       a pool on it
redis          a client on an empty Valkey
settings       short times, so that what takes half a minute in production takes a moment here
kit            what workers work with, on the zero-cost embedder
"""

import asyncio
import gc
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import uvloop
from redis.asyncio import Redis

from nous import embedded
from nous.embedded import programs
from nous.settings import Settings
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store import embedders
from store.database import Database
from store.migrate import migrate
from workers.runtime.worker import Kit

pytest_plugins = ["tests.overtime"]

TEMPLATE = "nous_template"
MEMORY = Path("/dev/shm")
MEMORY_NEEDED = 4 << 30
LOOK_EVERY_S = 0.02
_numbers = count(1)

# As `nous up` and `nous work` do.
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
gc.set_threshold(20_000, *gc.get_threshold()[1:])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no process works one when the others are done."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/system/"))


@pytest.fixture(scope="session")
def stack() -> Iterator[embedded.Stack]:
    """In memory where there is some to spare: a database for each test is made in 0.03 s there, in up to 0.5 s on a disk (measured)."""
    has_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_NEEDED
    folder = tempfile.TemporaryDirectory(prefix="nous-tests-", dir=MEMORY if has_memory else None)
    with folder as home, ExitStack() as ending:
        with _chosen_redis_server():
            running = ending.enter_context(embedded.running(Path(home), durable=False))
        yield running


@contextmanager
def _chosen_redis_server() -> Iterator[None]:
    chosen, usable_by = os.environ.get("NOUS_TEST_REDIS_SERVER"), programs.usable_by
    with pytest.MonkeyPatch.context() as patch:
        if chosen:
            patch.setattr(programs, "usable_by", lambda servant: replace(usable_by(servant), valkey=Path(chosen)))
        yield


@pytest.fixture(scope="session")
async def template(stack: embedded.Stack) -> str:
    await _sql(stack.database_url, f"CREATE DATABASE {TEMPLATE}")
    embedder = ZeroEmbedder()
    await migrate(_with_name(stack.database_url, TEMPLATE), embedder=embedder.name, dimension=embedder.dimension)
    return TEMPLATE


@asynccontextmanager
async def a_database(stack: embedded.Stack, template: str) -> AsyncIterator[str]:
    """The URL of a database like `template`, dropped afterwards."""
    name = f"test_{next(_numbers)}"
    await _sql(stack.database_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield _with_name(stack.database_url, name)

    async def is_dropped() -> bool:
        try:
            await _sql(stack.database_url, f"DROP DATABASE {name} WITH (FORCE)")
        except asyncpg.InsufficientPrivilegeError:  # autovacuum, which only the server's superuser may end, is in it
            return False
        return True

    await until(is_dropped, what=f"{name} dropped")


@pytest.fixture
async def database_url(stack: embedded.Stack, template: str) -> AsyncIterator[str]:
    async with a_database(stack, template) as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    made = Database(database_url, pool=3)
    yield made
    await made.close()


@pytest.fixture
async def redis(stack: embedded.Stack) -> AsyncIterator["Redis"]:
    client = Redis.from_url(stack.redis_url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def settings() -> Settings:
    return Settings(claim_after_s=1.0, retry_base_s=0.05, retry_cap_s=0.2, max_attempts=3, time_limit_s=10.0, graceful_s=5.0)


@pytest.fixture
async def kit(database: Database, settings: Settings) -> Kit:
    embedder = ZeroEmbedder()
    async with database.read(()) as db:
        registered = await embedders.active(db)
    return Kit(database=database, embedder=embedder, registered=registered, settings=settings, mind=OfflineMind())


async def until(condition: Callable[[], Awaitable[Any]], *, within_s: float = 20.0, what: str = "the condition") -> Any:
    """Wait until `condition` gives something true, and return it; fails with its last answer when the time is over.

    It looks for a quarter of the time at most: what is waited for needs the processor more.
    """
    answer: Any = None
    try:
        async with asyncio.timeout(within_s):
            looked = time.monotonic()
            while not (answer := await condition()):
                await asyncio.sleep(max(LOOK_EVERY_S, 3 * (time.monotonic() - looked)))
                looked = time.monotonic()
    except TimeoutError:
        pytest.fail(f"{what} did not come true within {within_s} s; the last answer was {answer!r}")
    return answer


async def until_set(event: asyncio.Event, *doing: asyncio.Task[Any], within_s: float = 20.0) -> None:
    """Wait until what these tasks do sets `event`; when one ends before, raise what it ended with, or fail with what it returned."""
    waiting = asyncio.ensure_future(event.wait())
    done, _ = await asyncio.wait({waiting, *doing}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
    if waiting not in done:
        waiting.cancel()
        pytest.fail(f"it did not come to it within {within_s} s; what ended before gave {[task.result() for task in done]}")


async def _sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def _with_name(url: str, name: str) -> str:
    return f"{url.rpartition('/')[0]}/{name}"


def repository() -> Path:
    """The root of the checkout."""
    return Path(__file__).parent.parent
