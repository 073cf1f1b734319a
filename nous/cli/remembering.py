"""What a command keeps sessions and asks memory with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import providers
from nous.settings import Settings
from providers.mind import Mind
from recall.tools import Tools
from store import embedders
from workers.runtime.calibrated import calibrated

from . import place


@asynccontextmanager
async def tools(settings: Settings, mind: Mind | None = None) -> AsyncIterator[Tools]:
    """Them, for the block; the embedder is opened when it is needed, the mind is the caller's. Raises Misconfigured for another store's."""
    async with place.database(settings) as database:
        settings = await calibrated(database, settings)
        embedder = providers.embedder(settings)
        async with database.read(()) as db:
            embedders.require(await embedders.active(db), name=embedder.name, dimension=embedder.dimension)
        try:
            yield Tools(database, embedder, settings, mind)
        finally:
            await embedder.close()
