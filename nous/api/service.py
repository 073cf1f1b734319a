"""What the routes work with: the store, the broker, and what recall needs; opened for as long as the API is served.

opened(settings, urls) ─▶ Service ─▶ the routes
                └─ the embedder is loaded beside it: until it is there, recall goes by words alone and says so
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import structlog
from redis.asyncio import Redis

import providers
from nous.errors import NousError, Outage
from nous.forgetting.stores import Stores
from nous.settings import Settings
from recall import opening, remembering
from store import embedders
from store.database import Database
from workers.runtime import streams

from .limits import Rates

LOOK_AGAIN_S = 1.0  # after Postgres was away

log = structlog.get_logger()


@dataclass(frozen=True)
class Service:
    """What the routes work with. `is_open`: on this machine no token is asked for."""

    settings: Settings
    database: Database
    redis: Redis
    recall: remembering.Tools
    sessions: opening.Tools
    stores: Stores
    is_open: bool = False
    rates: Rates = field(default_factory=lambda: Rates(600))


@asynccontextmanager
async def opened(settings: Settings, database_url: str, redis_url: str, *, is_open: bool) -> AsyncIterator[Service]:
    """A service for the block. Raises Misconfigured when the store is another embedder's, or not of this version."""
    database = Database(database_url, pool=settings.api_database_pool)
    redis = streams.connect(redis_url, partitions=settings.stream_partitions)
    embedder, mind = providers.embedder(settings), providers.mind(settings)
    await _held_to_its_embedder(database, embedder)
    loading = asyncio.create_task(_load(embedder))

    @asynccontextmanager
    async def same_redis() -> AsyncIterator[Redis]:
        yield redis

    try:
        yield Service(
            settings=settings,
            database=database,
            redis=redis,
            recall=remembering.Tools(database, embedder, settings, mind),
            sessions=opening.Tools(database, embedder, settings),
            stores=Stores(database, database_url, same_redis),
            is_open=is_open,
            rates=Rates(settings.api_requests_per_minute),
        )
    finally:
        loading.cancel()
        await asyncio.gather(loading, return_exceptions=True)
        await mind.close()
        await embedder.close()
        await redis.aclose()
        await database.close()


async def _held_to_its_embedder(database: Database, embedder: providers.Embedder) -> None:
    """Wait for Postgres, and see that its vectors are this embedder's. Raises Misconfigured."""
    is_away = False
    while True:
        try:
            async with database.read(()) as db:
                embedders.require(await embedders.active(db), name=embedder.name, dimension=embedder.dimension)
        except Outage as error:
            if not is_away:
                log.warning("start.delayed", waiting_for="the database", reason=str(error), next="tried again by itself")
            is_away = True
            await asyncio.sleep(LOOK_AGAIN_S)
        else:
            return


async def _load(embedder: providers.Embedder) -> None:
    """Load it before somebody asks; who asks while it cannot be had is told."""
    with suppress(NousError):
        await embedder.open()
