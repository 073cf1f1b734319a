"""Ids in a path, whatever characters they have: percent-encoded, so that one with a slash stays one part of the path.

    /v1/sessions/a%2Fturns%2Fb/end ─▶ Parted: undone but for the slash ─▶ the route .../{session_id}/end ─▶ whole: "a/turns/b"

A server hands on a path with every escape undone, where `a/turns/b` could be two ids as well as one; what it was sent is beside it. What is
no UTF-8 is refused: mended, `%ff` and `%fe` were one id.
"""

from typing import Annotated
from urllib.parse import unquote

from fastapi import Path
from pydantic import BeforeValidator
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import problem

NO_UTF8 = "the path is not percent-encoded UTF-8, so it names nothing; write each id as UTF-8 (Python: quote(id, safe=''))"


class Parted:
    """An application whose routes see a path in the parts it was sent in: within one of them `/` is `%2F`, and `%` is `%25`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if sent := scope.get("raw_path"):
            try:
                scope = {**scope, "path": _in_parts(sent)}
            except UnicodeDecodeError:
                await problem(400, NO_UTF8)(scope, receive, send)
                return
        await self._app(scope, receive, send)


WHOLE = BeforeValidator(unquote)
"""Of an id taken out of such a path: the id as it is."""

MemoryId = Annotated[
    str,
    WHOLE,
    Path(max_length=100, description="Its id, or as recall tells it (f-5b0f0d3e), or the beginning of it that no other memory has."),
]


def _in_parts(sent: bytes) -> str:
    parts = (unquote(part, errors="strict") for part in sent.decode("ascii").split("/"))
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
