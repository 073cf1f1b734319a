"""Workers that run while facts are brought into parts go on as if nothing had happened."""

import pytest
from redis.asyncio import Redis

from nous.cli import partition
from nous.settings import Settings
from store import facts
from store.database import Database
from tests.system.conftest import Replicas, publish
from tests.system.standing import WORKERS, all_settled
from tests.system.test_standing import MIND, learned, server, told  # noqa: F401 - server is a fixture


@pytest.mark.usefixtures("server")
async def test_what_was_learned_before_the_swap_is_confirmed_and_retired_after_it(
    replica: Replicas, redis: Redis, database: Database, database_url: str
) -> None:
    replica(*WORKERS.values(), **MIND)
    await publish(redis, [learned("Maria lives in Oslo.", 1)])
    await all_settled(redis, database)
    here = Settings(database_url=database_url, redis_url="redis://127.0.0.1:1")
    await partition.to(here, 4, batch=10, is_json=True)
    await publish(redis, [learned("Maria lives in Oslo.", 2), learned("Maria lives in Rome.", 3)])
    await all_settled(redis, database)
    await partition.to(here, 1, batch=10, is_json=True)
    await publish(redis, [learned("Maria lives in Rome.", 4)])
    await all_settled(redis, database)
    async with database.overview() as db:
        found = await facts.listed(db, agent="agent-1", inactive=True, limit=None)
    assert told(found) == ["Maria lives in Oslo. 01-03 by Maria lives in Rome.", "Maria lives in Rome. 03-now"]
    assert [fact.confirmation_count for fact in found] == [1, 1]
