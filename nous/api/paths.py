"""Ids in a path, whatever characters they have: percent-encoded, so that one with a slash stays one part of the path.

    /v1/sessions/a%2Fturns%2Fb/end ─▶ Parted: undone but for the slash ─▶ the route .../{session_id}/end ─▶ whole: "a/turns/b"

A server hands on a path with every escape undone, where `a/turns/b` could be two ids as well as one; what it was sent is beside it.
"""

from typing import Annotated
from urllib.parse import unquote

from fastapi import Path
from pydantic import BeforeValidator
from starlette.types import ASGIApp, Receive, Scope, Send


class Parted:
    """An application whose routes see a path in the parts it was sent in: within one of them `/` is `%2F`, and `%` is `%25`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        sent = scope.get("raw_path")
        await self._app({**scope, "path": _in_parts(sent)} if sent else scope, receive, send)


WHOLE = BeforeValidator(unquote)
"""Of an id taken out of such a path: the id as it is."""

MemoryId = Annotated[
    str,
    WHOLE,
    Path(max_length=100, description="Its id, or as recall tells it (f-5b0f0d3e), or the beginning of it that no other memory has."),
]


def _in_parts(sent: bytes) -> str:
    parts = (unquote(part) for part in sent.decode("ascii", "replace").split("/"))
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
