"""The MCP server under test: `nous mcp` as a real subprocess over stdio, and over HTTP, each asked by the SDK's own client."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from nous.api.service import Service, opened
from nous.mcp import http
from nous.settings import Settings
from workers.runtime.serve import serving

NOUS = str(Path(sys.executable).with_name("nous"))
MODES = ("auto", "legacy")  # of the client: the protocol without a handshake, and the one that most clients speak


@asynccontextmanager
async def over_stdio(env: Mapping[str, str], *, agent: str, mode: str = "auto", stderr: TextIO = sys.__stderr__) -> AsyncIterator[Client]:
    """A client of a `nous mcp` of its own."""
    process = StdioServerParameters(command=NOUS, args=["mcp", "--agent", agent], env=dict(env))
    async with Client(stdio_client(process, errlog=stderr), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(url: str, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    """A client that shows this token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http_client,
        Client(streamable_http_client(f"{url}{http.PATH}", http_client=http_client), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def served(settings: Settings, database_url: str, redis_url: str) -> AsyncIterator[tuple[str, Service]]:
    """The server over HTTP: its URL, and what it works with."""
    async with (
        opened(settings, database_url, redis_url, is_open=False) as service,
        http.application(service) as app,
        serving(app, host="127.0.0.1", port=0) as url,
    ):
        yield url, service


async def said(client: Client, tool: str, **arguments: object) -> str:
    """What a tool answers; it must not be an error."""
    result = await called(client, tool, **arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """What a tool says that is an error."""
    result = await called(client, tool, **arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


async def called(client: Client, tool: str, **arguments: object) -> CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return result


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
