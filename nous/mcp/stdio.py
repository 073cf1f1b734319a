"""One client on standard input and output, speaking for one agent. Standard output is the protocol's alone; logs go to standard error.

    standard input ──a thread──▶ lines ─▶ the protocol ─▶ standard output
    Postgres away at the start ─▶ the client is answered all the same; its tools say so until it is there

It ends when standard input does.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from threading import Thread
from typing import Any, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from nous.api.service import Service, opened
from nous.errors import Outage
from nous.settings import Settings

from .server import built

PATIENCE_S = 3.0
"""How long a call waits for the store to be there; a client gives up on a call after about a minute."""
LINES_AHEAD = 64
_STANDARD_INPUT = 0


async def serve(settings: Settings, database_url: str, redis_url: str, *, agent: str) -> None:
    """Serve a client until its end of standard input. Raises Misconfigured when the store is not this one's."""
    async with AsyncExitStack() as ending:
        opening = asyncio.create_task(ending.enter_async_context(opened(settings, database_url, redis_url, is_open=False)))

        async def ready() -> Service:
            try:
                return await asyncio.wait_for(asyncio.shield(opening), PATIENCE_S)
            except TimeoutError:
                raise Outage("the database", f"it has not been there since this server started, {PATIENCE_S:.0f} s or more ago") from None

        speaking = asyncio.create_task(_spoken(built(ready, lambda _: agent)))
        try:
            await _until_either(speaking, opening)
        finally:
            for task in (speaking, opening):
                task.cancel()
            await asyncio.gather(speaking, opening, return_exceptions=True)


async def _until_either(speaking: "asyncio.Task[None]", opening: "asyncio.Task[Service]") -> None:
    """Until the client has gone, or the store turns out not to be usable, which is raised."""
    await asyncio.wait({speaking, opening}, return_when=asyncio.FIRST_COMPLETED)
    if opening.done():
        opening.result()
    await speaking


async def _spoken(server: Server[Any]) -> None:
    lines = cast("anyio.AsyncFile[str]", _lines())  # of a file it is asked nothing but its lines
    try:
        async with stdio_server(stdin=lines) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    except* BrokenPipeError:  # the client has gone without waiting for its last answers
        pass


async def _lines() -> AsyncIterator[str]:
    """Lines of standard input. A thread reads them that no end of this process waits for, as it may be waiting for a line for ever."""
    loop = asyncio.get_running_loop()
    read: asyncio.Queue[bytes] = asyncio.Queue(LINES_AHEAD)

    def hand_over(line: bytes) -> None:
        asyncio.run_coroutine_threadsafe(read.put(line), loop).result()

    def reading() -> None:
        with suppress(RuntimeError, asyncio.CancelledError), os.fdopen(os.dup(_STANDARD_INPUT), "rb") as file:
            for line in file:
                hand_over(line)
            hand_over(b"")

    Thread(target=reading, name="standard input", daemon=True).start()
    while line := await read.get():
        yield line.decode("utf-8", "replace")
