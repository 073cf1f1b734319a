"""What every request and every answer is held to.

The page has no login: it listens on this machine alone, reads and never writes. A page of another site that a browser here shows can still
send requests to it, so it answers only to names of this machine (a foreign name that resolves to it is refused), to no method that changes
anything, and never inside a frame; what it serves runs no script and loads nothing but its own.
"""

from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "HEAD")
NAMES = ("127.0.0.1", "localhost", "[::1]")
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guarded:
    """An application behind the guard."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await (_refusal(scope) or self._app)(scope, receive, answer)


def _refusal(scope: Scope) -> ASGIApp | None:
    if scope["type"] != "http":
        return PlainTextResponse("this page speaks HTTP alone\n", 400)
    if scope["method"] not in METHODS:
        return PlainTextResponse("this page only looks: GET and HEAD\n", 405, {"Allow": ", ".join(METHODS)})
    host = Headers(scope=scope).get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name.lower() not in NAMES:
        return PlainTextResponse(f"this page is reached as http://127.0.0.1 or http://localhost with its port, not as {host!r}\n", 421)
    return None
