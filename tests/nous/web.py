"""The page for operators, served over real HTTP beside a store of the test's own."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from nous.settings import Settings
from nous.web.site import Site
from store import facts
from store.database import Database
from store.facts import Fact
from workers import table
from workers.runtime import streams
from workers.runtime.life import Life
from workers.runtime.serve import serving
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

PATHS = ("/", "/live", "/parked", "/facts", "/facts?q=port", "/cost", "/thresholds", "/explain/ffffffff", "/event?id=x", "/find?q=port")


@dataclass
class Web:
    """A client of the page, and what it looks at."""

    client: httpx.AsyncClient
    site: Site

    async def html(self, path: str, status: int = 200) -> str:
        """The page there."""
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return answer.text


@asynccontextmanager
async def served(settings: Settings, database_url: str, redis_url: str) -> AsyncIterator[Web]:
    """The page, for the block."""
    database, redis = Database(database_url, pool=2), streams.connect(redis_url)
    site = Site(settings, database, redis)
    async with serving(site.app(), host="127.0.0.1", port=0) as url, httpx.AsyncClient(base_url=url, follow_redirects=True) as client:
        yield Web(client, site)
    await redis.aclose()
    await database.close()


async def store(database: Database, *new: Fact) -> None:
    """Keep facts, those that others are superseded by first."""
    async with database.write({one.agent_id for one in new}) as db:
        await facts.insert(db, sorted(new, key=lambda one: one.superseded_by is not None))


async def park(kit: Kit, site: Site, bodies: Sequence[bytes]) -> None:
    """Have the deduplicator park these."""
    life = Life(table()["deduplicator"], kit, site.redis, "by-hand")
    for number, body in enumerate(bodies):
        await life.work([Entry(f"189345600{number:04}-0", {b"data": body})])
