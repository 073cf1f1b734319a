"""Requests that take for ever to arrive are ended: whoever sends a byte now and then holds a connection no longer than anybody else.

    connected, or the first byte of a next request ─▶ within_s ─┬─ its headers are there ─▶ answered as long as that takes
                                                                ├─ some of them are ──────▶ 408, and the connection is closed
                                                                └─ none are ──────────────▶ the connection is closed

What comes after an answer that did not read all of its request is held to the same time. How long a body may take is for whoever reads it.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

WITHIN_S = 30.0
LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
SAID = b"The headers of this request took too long to arrive."


class InTime(H11Protocol):
    """One connection of uvicorn's, whose requests arrive in time or not at all."""

    def __init__(self, *given: Any, within_s: float = WITHIN_S, **named: Any) -> None:
        super().__init__(*given, **named)
        self._within_s = within_s
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Somebody is there."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Something of a request has arrived."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the time run while no request is being answered, from when that began."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.transport.is_closing():
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(self._within_s, self._end)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self) -> None:
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(LATE % (len(SAID), SAID))
        self.transport.close()
