"""What the API works with is opened, said to be away, and closed whatever ends it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

import providers
from nous import embedded
from nous.api import service
from nous.errors import Misconfigured, Outage
from nous.settings import Settings
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store.database import Database
from workers.runtime import streams

SETTINGS = Settings(embedder="zero", mind="offline")
NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
WITHIN_S = 20
EVERYTHING = {"database", "redis", "embedder", "mind"}


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What was closed since, of what a service opens."""
    names: set[str] = set()

    def telling(name: str, one: Any, how: str = "close") -> Any:
        close = getattr(one, how)

        async def told() -> None:
            await close()
            names.add(name)

        setattr(one, how, told)
        return one

    connect = streams.connect
    monkeypatch.setattr(service, "Database", lambda *where, **how: telling("database", Database(*where, **how)))
    monkeypatch.setattr(streams, "connect", lambda *where, **how: telling("redis", connect(*where, **how), "aclose"))
    monkeypatch.setattr(providers, "embedder", lambda _: telling("embedder", ZeroEmbedder()))
    monkeypatch.setattr(providers, "mind", lambda _: telling("mind", OfflineMind()))
    return names


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_who_stops_waiting_for_postgres_leaves_nothing_open(closed: set[str], stack: embedded.Stack) -> None:
    async def waiting() -> None:
        async with service.opened(SETTINGS, NOWHERE, stack.redis_url, is_open=True):
            raise AssertionError("there is no Postgres")

    with capture_logs() as logged:
        start = asyncio.create_task(waiting())
        await until(lambda: logged)
        start.cancel()
        await asyncio.gather(start, return_exceptions=True)
    assert [one["event"] for one in logged] == ["start.delayed"]
    assert start.cancelled()
    assert closed == EVERYTHING


async def test_a_store_that_cannot_be_used_leaves_nothing_open(closed: set[str], database_url: str, stack: embedded.Stack) -> None:
    empty = database_url.rpartition("/")[0] + "/postgres"
    with pytest.raises(Misconfigured):
        async with service.opened(SETTINGS, empty, stack.redis_url, is_open=True):
            pass
    assert closed == EVERYTHING


@pytest.mark.parametrize(
    "error", [Outage("the embedder", "connection refused"), Misconfigured("its package is missing"), OSError("no room")]
)
async def test_an_embedder_that_cannot_be_loaded_is_said_once_with_what_to_do(
    error: Exception, closed: set[str], database_url: str, stack: embedded.Stack, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def missing(_: ZeroEmbedder) -> None:
        raise error

    monkeypatch.setattr(ZeroEmbedder, "open", missing)
    with capture_logs() as logged:
        async with service.opened(SETTINGS, database_url, stack.redis_url, is_open=True) as one:
            await until(lambda: logged)
            assert one.recall is not None
    (told,) = logged
    assert (told["event"], told["log_level"], told["reason"]) == ("embedder.unavailable", "warning", str(error))
    assert "start this again" in told["next"]
    assert closed == EVERYTHING
