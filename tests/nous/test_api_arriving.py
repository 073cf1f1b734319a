"""Requests that come slowly, in great numbers, or from somebody who may not ask: they cost next to nothing, and others are answered."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from redis.asyncio import Redis

from nous import embedded
from nous.api.application import application
from nous.api.service import opened
from nous.mcp import http as mcp
from nous.settings import Settings
from tests.conftest import until
from tests.nous.api import MINE, Api, served, token
from tests.nous.mcp import served as mcp_served
from workers.runtime.serve import Limits, serving

SETTINGS = Settings(embedder="zero", mind="offline", api_request_s=0.3)
LARGE = 8_000_000


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(SETTINGS, database_url, stack.redis_url) as one:
        yield one


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection of one's own, to say on it what no client would."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        yield reader, writer
    finally:
        writer.close()


def head(path: str, held: str, *, length: int, method: str = "POST") -> bytes:
    """The beginning of a request, before its body."""
    lines = (f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {held}", "Content-Type: application/json")
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


async def answered(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    """The status of an answer, and what it says."""
    status = int((await reader.readline()).split()[1])
    length = 0
    while (line := (await reader.readline()).strip().lower()) != b"":
        length = int(line.removeprefix(b"content-length:")) if line.startswith(b"content-length:") else length
    said = await reader.readexactly(length)
    return status, json.loads(said) if said.startswith(b"{") else {"detail": said.decode()}


PATHS = ["/v1/recall", "/v1/events", "/v1/sessions/a/turns", "/v1/facts/f-5b0f0d3e/forget", "/v1/nothing"]


@pytest.mark.parametrize("path", PATHS)
async def test_who_may_not_ask_is_told_so_before_a_byte_of_his_body_is_read(api: Api, path: str) -> None:
    async with connected(api.url) as (reader, writer):
        writer.write(head(path, "nous_wrong", length=LARGE))
        assert (await answered(reader))[0] == 401


async def test_nor_does_the_server_of_tools_read_it(database_url: str, stack: embedded.Stack, redis: Redis) -> None:
    async with mcp_served(SETTINGS, database_url, stack.redis_url) as (url, service):
        async with connected(url) as (reader, writer):
            writer.write(head(mcp.PATH, "nous_wrong", length=LARGE))
            assert (await answered(reader))[0] == 401
        async with connected(url) as (reader, writer):
            writer.write(head(mcp.PATH, await token(service.database, MINE), length=LARGE))
            status, _ = await answered(reader)
            assert status == 408


async def test_a_body_that_does_not_arrive_ends_with_408_and_another_is_answered(api: Api) -> None:
    held = await token(api.service.database, MINE)
    async with connected(api.url) as (reader, writer):
        writer.write(head("/v1/recall", held, length=LARGE) + b'{"question": "')
        status, told = await answered(reader)
        assert (status, told["title"]) == (408, "Too slow")
        assert "NOUS_API_REQUEST_S" in str(told["detail"])
        assert await reader.read() == b"", "and the connection is closed"
    await api.post("/v1/recall", {"question": "tea?"})


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "], ids=["nothing", "half a request"])
async def test_headers_that_do_not_arrive_end_the_connection(database_url: str, stack: embedded.Stack, redis: Redis, sent: bytes) -> None:
    whole = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    async with (
        opened(SETTINGS, database_url, stack.redis_url, is_open=True) as service,
        serving(application(service), host="127.0.0.1", port=0, limits=Limits(arriving_s=0.3)) as url,
    ):
        for before in ([], [whole]):  # of a connection's first request, and of a later one
            async with connected(url) as (reader, writer):
                for one in before:
                    writer.write(one)
                    assert await answered(reader) == (200, {"status": "ok"})
                writer.write(sent)
                if sent:
                    assert (await answered(reader))[0] == 408
                assert await reader.read() == b""


async def test_more_connections_than_there_may_be_are_told_so_and_the_others_are_answered(
    database_url: str, stack: embedded.Stack, redis: Redis
) -> None:
    async with (
        opened(SETTINGS, database_url, stack.redis_url, is_open=True) as service,
        serving(application(service), host="127.0.0.1", port=0, limits=Limits(connections=3)) as url,
        httpx.AsyncClient(base_url=url) as client,
    ):
        assert (await client.get("/health")).status_code == 200
        async with connected(url), connected(url):

            async def is_full() -> bool:
                return (await client.get("/health")).status_code == 503

            await until(is_full, what="503")

        async def is_answered() -> bool:
            return (await client.get("/health")).status_code == 200

        await until(is_answered, what="an answer")


@pytest.mark.parametrize(("trusted", "statuses"), [("127.0.0.1", [429, 200]), ("10.0.0.0/8", [429, 429])])
async def test_bad_tokens_of_one_address_behind_a_trusted_proxy_keep_nobody_else_behind_it(
    database_url: str, stack: embedded.Stack, redis: Redis, trusted: str, statuses: list[int]
) -> None:
    few = SETTINGS.model_copy(update={"api_requests_per_minute": 1})
    async with (
        opened(few, database_url, stack.redis_url, is_open=False) as service,
        serving(application(service), host="127.0.0.1", port=0, limits=Limits(trusted_proxies=trusted)) as url,
        httpx.AsyncClient(base_url=url) as client,
    ):
        good = await token(service.database, MINE)

        async def asked(held: str, address: str) -> int:
            headers = {"Authorization": f"Bearer {held}", "X-Forwarded-For": address}
            return (await client.post("/v1/recall", json={"question": "tea?"}, headers=headers)).status_code

        assert await asked("nous_wrong", "203.0.113.7") == 401
        assert [await asked("nous_wrong", "203.0.113.7"), await asked(good, "203.0.113.8")] == statuses
