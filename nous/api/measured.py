"""How long requests take and how they end, for Prometheus: by route, not by path, so that no id becomes a label."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workers.runtime import metrics

UNROUTED = "none"
"""The route of a request that no route answers: a wrong path, nobody who speaks, a body that is too large."""


class Measured:
    """An application whose requests are timed from their first byte to the end of the answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; one that ends without an answer, since its client left, is not counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def seen(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        await self._app(scope, receive, seen)
        if status:
            route = getattr(scope.get("route"), "path_format", UNROUTED)
            metrics.answered(route, scope["method"], status, time.perf_counter() - began)
