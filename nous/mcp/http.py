"""Streamable HTTP, on loopback alone: every request shows a token, and speaks for that token's agent, as everywhere in nous.api.

    POST /mcp ─▶ who (nous.api) ─▶ the agent beside the request ─▶ not too large, nor too slow ─▶ the protocol ─▶ JSON
                  └─ no token, a bad one, too often ─▶ application/problem+json

Nothing is kept between two requests, so there is no session that somebody else's token could join.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from nous.api import problems
from nous.api.limits import Bounded
from nous.api.service import Service
from nous.api.who import Spoken

from .server import Context, built

PATH = "/mcp"
_LOOPBACK = TransportSecuritySettings(
    allowed_hosts=["127.0.0.1:*", "localhost:*", "[::1]:*"],
    allowed_origins=["http://127.0.0.1:*", "http://localhost:*", "http://[::1]:*"],
)
"""Names under which it is asked, so that no page of a browser reaches it under another."""


@asynccontextmanager
async def application(service: Service) -> AsyncIterator[ASGIApp]:
    """The protocol over HTTP, ready to be served for the block."""

    async def ready() -> Service:
        return service

    most = service.settings.api_body_bytes
    manager = StreamableHTTPSessionManager(
        built(ready, _agent), json_response=True, stateless=True, security_settings=_LOOPBACK, max_request_body_size=most
    )
    app = FastAPI(openapi_url=None)
    problems.added_to(app)
    app.router.routes.append(Route(PATH, endpoint=_Protocol(manager), methods=["POST"]))
    failed: Exception | None = None
    async with manager.run():  # its group of tasks would wrap what is raised in the block
        try:
            yield Spoken(Bounded(app, most_bytes=most, within_s=service.settings.api_request_s), service, below=PATH)
        except Exception as error:
            failed = error
    if failed is not None:
        raise failed


class _Protocol:
    """The protocol as a route of an application."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._manager.handle_request(scope, receive, send)


def _agent(context: Context) -> str:
    """The agent of the request that a call came with."""
    agent: str = cast("Request", context.request).state.agent
    return agent
