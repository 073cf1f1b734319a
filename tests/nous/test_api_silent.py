"""A Postgres that takes what is sent and says nothing is told of soon, and looked at once however many ask."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from nous import embedded
from nous.api import health
from nous.errors import Outage
from nous.settings import Settings
from store.database import Database
from tests.conftest import until
from tests.nous.api import served
from tests.system.proxy import Cable

SETTINGS = Settings(embedder="zero", mind="offline")
CHECKS = 12
"""More than there are connections to Postgres."""


@pytest.fixture
async def cable(database_url: str) -> AsyncIterator[Cable]:
    one = Cable(database_url)
    await one.mend()
    yield one
    await one.cut()


async def test_a_server_is_not_ready_while_postgres_says_nothing_and_is_again_when_it_speaks(
    cable: Cable, stack: embedded.Stack, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(SETTINGS, cable.url, stack.redis_url) as api:
        assert (await api.nobody.get("/ready")).status_code == 200
        monkeypatch.setattr(health, "PATIENCE_S", 0.2)
        cable.go_silent()
        told = await asyncio.gather(*(api.nobody.get("/ready") for _ in range(CHECKS)))
        assert {(answer.status_code, answer.headers["retry-after"]) for answer in told} == {(503, "5")}
        assert told[0].json()["detail"].startswith("Postgres is not answering: no answer within 0.2 s")
        await cable.cut()
        await cable.mend()

        async def is_ready() -> bool:
            return (await api.nobody.get("/ready")).status_code == 200

        await until(is_ready, what="ready")


async def test_what_serves_gives_a_silent_postgres_up_sooner_than_a_worker_does(cable: Cable) -> None:
    database = Database(cable.url, pool=1, patience_s=0.3)
    async with database.read(()):
        pass
    cable.go_silent()
    with pytest.raises(Outage, match="Postgres is not answering"):
        async with database.read(()):
            pass
    await cable.cut()
    await database.close()
