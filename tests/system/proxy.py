"""A cable that can be cut: a TCP relay between a client and a server on loopback."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit


class Cable:
    """Relays to the server of `url`; `cut` drops every connection and refuses new ones, `mend` takes them again on the same port."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        """The server's URL, through the cable."""
        login = f"{self._target.username}:{self._target.password}@" if self._target.username else ""
        return urlunsplit(self._target._replace(netloc=f"{login}127.0.0.1:{self._port}"))

    async def mend(self) -> None:
        """Take connections."""
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Drop every connection, refuse new ones."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    def go_silent(self) -> None:
        """Keep today's connections open and carry nothing over them, as a failover without a reset does; new ones work."""
        for pump in self._pumps:
            pump.cancel()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        except OSError:  # the server is down, and whoever asks for it is told so
            writer.transport.abort()
            return
        self._writers |= {writer, there_writer}
        pumps = {asyncio.create_task(_pump(reader, there_writer)), asyncio.create_task(_pump(there_reader, writer))}
        self._pumps |= pumps
        ended = await asyncio.gather(*pumps, return_exceptions=True)
        self._pumps -= pumps
        if not any(isinstance(one, asyncio.CancelledError) for one in ended):  # one that fell silent stays open
            self._writers -= {writer, there_writer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(Exception):
        writer.close()
