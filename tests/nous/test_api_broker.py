"""Redis that takes a connection and says nothing: whoever is served is answered all the same, and nobody waits for it twice."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from nous import clock, embedded
from nous.api.broker import Broker
from nous.errors import Outage
from nous.forgetting.stores import Stores
from nous.mcp import tools
from nous.settings import Settings
from store import facts, outbox
from store.database import Database
from tests.conftest import until
from tests.factories import a_fact, a_letter
from tests.nous.api import MINE, Api, served
from tests.nous.test_api_bounds import without
from workers.runtime import streams

SETTINGS = Settings(embedder="zero", mind="offline")
BRIEFLY_S = 0.05
LONG_ENOUGH_S = 2.0  # for another to ask meanwhile
FOR_EVER_S = 1_000.0


@dataclass
class Silent:
    """A server that never answers, and how often somebody asked it."""

    url: str = ""
    asked: int = 0

    async def was_asked(self, times: int) -> bool:
        """Whether it was asked so often."""
        return self.asked == times


@pytest.fixture
async def silent() -> AsyncIterator[Silent]:
    told, done = Silent(), asyncio.Event()

    async def say_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told.asked += 1
        await done.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    told.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield told
    done.set()
    server.close()
    await server.wait_closed()


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(SETTINGS, database_url, stack.redis_url) as one:
        yield one


async def test_redis_that_says_nothing_keeps_no_answer_and_is_asked_once(api: Api, database: Database, silent: Silent) -> None:
    fact = a_fact(agent_id=MINE, content="Maria drinks green tea", provenance="user_stated")
    async with database.write([MINE]) as db:
        await facts.insert(db, [fact])
    away = streams.connect(silent.url)
    broker = Broker(away, patience_s=BRIEFLY_S, quiet_s=FOR_EVER_S)
    changed: dict[str, Any] = {"broker": broker, "stores": Stores(database, api.service.stores.database_url, broker.reached)}
    async with without(api.service, **changed) as client:
        for _ in range(2):
            refused = await client.post("/v1/events", json={"events": [{"event": "fact_learned", "data": {"content": "x"}}]})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        for path, body in (
            ("/v1/recall", {"question": "What does Maria drink? Green tea?"}),
            ("/v1/sessions/chat/turns", {"user": "What does Maria drink? Green tea?", "turn": "1"}),
            ("/v1/sessions/chat/turns/1/result", {"assistant": "Maria drinks green tea."}),
            ("/v1/sessions/chat/end", {"reflection": "Ask about tea."}),
        ):
            assert (await client.post(path, json=body)).status_code == 200, path
        assert "green tea" in await tools.recall(replace(api.service, **changed), MINE, tools.Question(question="What does Maria drink?"))
        forgotten = (await client.post(f"/v1/facts/{fact.fact_id}/forget", json={"reason": "asked to"})).json()
        assert any("Redis" in left for left in forgotten["report"]["left"]), "and says what is left to be done there"
    assert silent.asked == 1
    async with database.overview() as db:
        kept = await outbox.unpublished(db, before=clock.now() + timedelta(minutes=1), limit=99)
    assert {letter.stream for letter in kept} >= {"memory_recalled", "fact_forgotten"}
    await away.aclose()


async def test_redis_that_failed_is_asked_again_by_one_and_by_all_once_it_answers(
    silent: Silent, stack: embedded.Stack, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, letters = streams.connect(silent.url), [a_letter()]
    broker = Broker(away, patience_s=BRIEFLY_S, quiet_s=0)
    for asked in (1, 2):  # its quiet is over at once
        with pytest.raises(Outage, match="no answer within"):
            await broker.append(letters)
        assert silent.asked == asked
    monkeypatch.setattr(broker, "_patience_s", LONG_ENOUGH_S)
    probing = asyncio.create_task(broker.append(letters))
    await until(lambda: silent.was_asked(3), what="the third question")
    with pytest.raises(Outage, match="failed a moment ago"):
        await broker.append(letters)
    with pytest.raises(Outage):
        await probing
    monkeypatch.setattr(broker, "_redis", redis)
    for _ in range(2):
        await broker.append(letters)
    assert await redis.xlen("fact_stored") == 2
    await away.aclose()
