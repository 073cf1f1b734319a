"""Serving HTTP inside a worker process: one server, in its event loop, with whatever routes it is given; it ends with the block.

routes ──▶ application ──▶ serving(host, port) ──▶ http://host:port
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, cast

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from nous.errors import Misconfigured

from .arriving import WITHIN_S, InTime

LAST_ANSWERS_S = 1  # what is being answered when the block ends has so long

log = structlog.get_logger()


def application(routes: Sequence[BaseRoute]) -> Starlette:
    """An application of these routes."""
    return Starlette(routes=list(routes))


@dataclass(frozen=True)
class Limits:
    """What those who ask are held to.

    A request's headers have `arriving_s` to arrive; beyond so many `connections` each is answered 503 (None: as many as come); whose
    word about the address of another is taken, as addresses or networks with commas between them, or * for anybody's.
    """

    arriving_s: float = WITHIN_S
    connections: int | None = None
    trusted_proxies: str = "127.0.0.1"


@asynccontextmanager
async def serving(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    named: str = "http",
    last_answers_s: float = LAST_ANSWERS_S,
    limits: Limits = Limits(),
) -> AsyncIterator[str]:
    """Serve `app` for the block, on a free port when `port` is 0; gives the URL. Raises Misconfigured when it cannot listen there.

    `named` is what the settings of the address are called after (http_port); what is being answered at the end has `last_answers_s`.
    """
    config = uvicorn.Config(
        app,
        http=cast("Any", partial(InTime, within_s=limits.arriving_s)),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=ceil(last_answers_s),
        limit_concurrency=limits.connections,
        forwarded_allow_ips=limits.trusted_proxies,
    )
    server = _Server(config)
    with _listening(host, port, named) as listener:
        url = _url(listener)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        log.info("http.served", url=url)
        try:
            yield url
        finally:
            server.should_exit = True
            await asyncio.wait({running}, timeout=last_answers_s + LAST_ANSWERS_S)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class _Server(uvicorn.Server):
    """Signals are the process's own business."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def _listening(host: str, port: int, named: str) -> Iterator[socket.socket]:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        why = "another process listens there" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        setting = f"NOUS_{named.upper()}"
        raise Misconfigured(
            f"HTTP cannot be served on {host} port {port}: {why}; give each process a port of its own in {setting}_PORT (0 {_zero(named)}),"
            f" and in {setting}_HOST an address of this machine"
        ) from error
    with listener:
        yield listener


def _zero(named: str) -> str:
    return "serves none" if named == "http" else "takes a free one"


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
