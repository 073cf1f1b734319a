"""`nous mcp`: memory over the Model Context Protocol, to one client over stdio, or to any number over HTTP on this machine.

--agent NAME ─▶ stdio: standard output is the protocol's, everything else goes to standard error
--http       ─▶ http://127.0.0.1:PORT/mcp, the agent by the token of each request
"""

from collections.abc import Coroutine
from typing import Any

import structlog
import uvloop

from nous.api.service import opened
from nous.errors import Misconfigured, UserMistake
from nous.mcp import http, stdio
from nous.settings import Settings
from workers.runtime.serve import Limits, serving

from . import named, place
from .stopping import Stop, interrupt_with, set_by, stoppable

LOOPBACK = "127.0.0.1"

log = structlog.get_logger()


def serve(settings: Settings, *, agent: str | None, is_http: bool) -> None:
    """Serve over stdio for `agent`, or over HTTP. Raises UserMistake when it is both or neither."""
    database_url, redis_url = place.database_url(settings), place.redis_url(settings)
    with stoppable() as stop:
        if is_http:
            if agent is not None:
                raise UserMistake(f"with --http each request shows the token of its agent; leave out --agent, and: {_new_token(agent)}")
            uvloop.run(_over_http(settings, database_url, redis_url, stop))
        else:
            uvloop.run(_ended_by(stop, stdio.serve(settings, database_url, redis_url, agent=_valid(agent))))


async def _ended_by(stop: Stop, serving: Coroutine[Any, Any, None]) -> None:
    interrupt_with(stop)
    await serving


async def _over_http(settings: Settings, database_url: str, redis_url: str, stop: Stop) -> None:
    interrupt_with(stop)
    limits = Limits(settings.api_request_s, settings.api_connections, settings.api_trusted_proxies)
    async with opened(settings, database_url, redis_url, is_open=False) as service, http.application(service) as app:
        try:
            async with serving(app, host=LOOPBACK, port=settings.mcp_port, last_answers_s=settings.graceful_s, limits=limits) as url:
                print(f"MCP       {url}{http.PATH}  (every request needs a token: {_new_token('NAME')})", flush=True)
                await set_by(stop).wait()
        except Misconfigured:
            raise Misconfigured(
                f"{LOOPBACK} port {settings.mcp_port} is not free; set NOUS_MCP_PORT to another one, or to 0 for any that is"
            ) from None


def _valid(agent: str | None) -> str:
    """The agent that is spoken for. Raises UserMistake."""
    if agent is None:
        raise UserMistake("say for which agent: nous mcp --agent NAME; or --http, where the token of each request says it")
    return named.valid(agent)


def _new_token(agent: str) -> str:
    return f"{place.command()} token new --agent {agent}"
