"""What the routes work with: the store, the broker, and what recall needs; opened for as long as the API is served.

opened(settings, urls) ─▶ Service ─▶ the routes
                └─ the embedder is loaded beside it: until it is there, recall goes by words alone and says so
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import structlog

import providers
from nous.errors import Outage
from nous.forgetting.stores import Stores
from nous.settings import Settings
from recall import remembering
from store import embedders
from store.database import Database
from workers.runtime import streams
from workers.runtime.calibrated import calibrated

from .broker import Broker
from .known import Known
from .limits import Rates, Waiting

LOOK_AGAIN_S = 1.0  # after Postgres was away
PATIENCE_S = 10.0  # for a Postgres that has fallen silent; a worker has more of it

log = structlog.get_logger()


@dataclass(frozen=True)
class Service:
    """What the routes work with. `is_open`: on this machine no token is asked for."""

    settings: Settings
    database: Database
    broker: Broker
    recall: remembering.Tools
    stores: Stores
    is_open: bool = False
    rates: Rates = field(default_factory=lambda: Rates(600))
    known: Known = field(default_factory=Known)
    waiting: Waiting = field(default_factory=Waiting)


@asynccontextmanager
async def opened(settings: Settings, database_url: str, redis_url: str, *, is_open: bool) -> AsyncIterator[Service]:
    """A service for the block. Raises Misconfigured when the store is another embedder's, or not of this version.

    Whatever ends it, and be it while Postgres is waited for, nothing of it stays open.
    """
    async with AsyncExitStack() as held:
        database = Database(database_url, pool=settings.api_database_pool, patience_s=PATIENCE_S)
        held.push_async_callback(database.close)
        unhurried = Database(database_url, pool=1)  # what is erased takes the time it takes
        held.push_async_callback(unhurried.close)
        redis = streams.connect(redis_url, partitions=settings.stream_partitions)
        held.push_async_callback(redis.aclose)
        named = providers.unfitted(settings)
        held.push_async_callback(named.close)
        mind = providers.mind(settings)
        held.push_async_callback(mind.close)
        settings = await _calibrated(database, settings, named)
        embedder = providers.embedder(settings)
        held.push_async_callback(embedder.close)
        await held.enter_async_context(_loading(embedder))
        broker = Broker(redis)
        yield Service(
            settings=settings,
            database=database,
            broker=broker,
            recall=remembering.Tools(database, embedder, settings, mind),
            stores=Stores(unhurried, database_url, broker.reached),
            is_open=is_open,
            rates=Rates(settings.api_requests_per_minute),
        )


async def _calibrated(database: Database, settings: Settings, embedder: providers.Embedder) -> Settings:
    """Wait for Postgres; the settings with the thresholds it keeps, once it is seen that its vectors are their embedder's.

    Raises Misconfigured.
    """
    is_away = False
    while True:
        try:
            async with database.read(()) as db:
                embedders.require(await embedders.active(db), name=embedder.name, dimension=embedder.dimension)
            return await calibrated(database, settings)
        except Outage as error:
            if not is_away:
                log.warning("start.delayed", waiting_for="the database", reason=str(error), next="tried again by itself")
            is_away = True
            await asyncio.sleep(LOOK_AGAIN_S)


@asynccontextmanager
async def _loading(embedder: providers.Embedder) -> AsyncIterator[None]:
    """Load it before somebody asks, beside the block."""
    loading = asyncio.create_task(_load(embedder))
    try:
        yield
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)


async def _load(embedder: providers.Embedder) -> None:
    """Load it; while it cannot be had, whoever runs this finds it in the log, and who asks is told."""
    try:
        await embedder.open()
    except Exception as error:  # whatever keeps it away, recall goes on without it
        log.warning(
            "embedder.unavailable",
            embedder=embedder.name,
            reason=str(error) or type(error).__name__,
            next="questions are answered by words alone; each tries it again, so mend what the reason says, and where that is a setting,"
            " start this again",
        )
