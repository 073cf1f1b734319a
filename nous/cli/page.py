"""The page for operators beside running workers: on this machine alone, at its port or, when that is taken, at a free one."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from nous.errors import Misconfigured
from nous.settings import Settings
from nous.web.site import Site
from store.database import Database
from workers.runtime import streams
from workers.runtime.serve import serving

LOOPBACK = "127.0.0.1"
PORT = 8377
"""Of `nous up`, unless NOUS_WEB_PORT says another."""
POOL = 2  # connections of its own: a page never keeps a worker waiting


@asynccontextmanager
async def shown(settings: Settings, database_url: str, redis_url: str, *, port: int) -> AsyncIterator[Site | None]:
    """Serve the page for the block, and print where; 0 serves none. Raises Misconfigured when no port is to be had."""
    if not port:
        yield None
        return
    database, redis = Database(database_url, pool=POOL), streams.connect(redis_url)
    site = Site(settings, database, redis)
    try:
        async with AsyncExitStack() as block:
            try:
                print(f"page      {await block.enter_async_context(serving(site.app(), host=LOOPBACK, port=port))}", flush=True)
            except Misconfigured:
                url = await block.enter_async_context(serving(site.app(), host=LOOPBACK, port=0))
                print(f"page      {url}  (port {port} is not free; NOUS_WEB_PORT chooses another)", flush=True)
            yield site
    finally:
        await redis.aclose()
        await database.close()
