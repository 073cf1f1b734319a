"""What went wrong, as application/problem+json (RFC 9457): what happened with the values, why most likely, what to do next.

    400 422   what was sent cannot be meant       401 403   nobody, or somebody else     404   this agent has none of that id, or no route
    409       it is so already                    413 429   too large, too often         415   a body that does not say it is JSON
    408       it did not arrive in time           503       Postgres or Redis is away: Retry-After

The same words for what another agent has and for what nobody has.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from events.wire import mended
from nous.errors import Contended, Misconfigured, Outage, UserMistake
from nous.stories.ids_meant import NothingMeant, SeveralMeant

MEDIA_TYPE = "application/problem+json"
OUTAGE_RETRY_S = 5
CONTENDED_RETRY_S = 1
UNEXPECTED = "nobody expected this"
NO_ROUTE = "No such route"
SHOWN_PATH = 200  # characters of a path that leads nowhere
SHOWN = 3  # of what does not do, in one sentence
TITLES = {
    400: "Not understood",
    401: "Who speaks?",
    403: "Not for this agent",
    404: "Nothing of that id",
    405: "Not that way",
    408: "Too slow",
    409: "Not as things stand",
    413: "Too large",
    415: "Not as JSON",
    421: "Not under that name",
    422: "It does not do",
    429: "Too often",
    500: "A fault of ours",
    503: "Away for now",
}

log = structlog.get_logger()


class Problem(HTTPException):
    """A request that is refused, with what to say about it."""

    def __init__(self, status: int, detail: str, *, headers: dict[str, str] | None = None, more: dict[str, object] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.more = more or {}


def nothing(what: str) -> Problem:
    """There is none of this id: nobody has one, or another agent has."""
    return Problem(404, f"there is no {what} of that id")


@contextmanager
def meaning(what: str) -> Iterator[None]:
    """Find what an id means, in the block: what fits nothing is Problem 404, what fits several 409. Raises NotAnId for what is no id."""
    try:
        yield
    except NothingMeant:
        raise nothing(what) from None
    except SeveralMeant as several:
        raise Problem(409, str(several)) from None


def problem(
    status: int,
    detail: str,
    *,
    title: str | None = None,
    headers: dict[str, str] | None = None,
    more: dict[str, object] | None = None,
) -> Response:
    """The answer that says so, under this title or the status's own."""
    said = {"type": "about:blank", "title": title or TITLES.get(status, "It did not work"), "status": status, "detail": mended(detail)}
    return JSONResponse({**said, **(more or {})}, status, headers, MEDIA_TYPE)


def told(error: Exception) -> str:
    """What went wrong, in one sentence. What to do is said by a mistake itself; of anything else it depends on who hears of it."""
    match error:
        case HTTPException():
            return str(error.detail)
        case ValidationError() | RequestValidationError():
            return _each(error.errors())
        case UserMistake() | Outage() | Contended():
            return str(error)
        case Misconfigured():
            return "this server is not set up to do that"
        case _:
            return UNEXPECTED


def _each(errors: Sequence[Any]) -> str:
    """What does not do of what was sent, field by field, as far as one sentence goes."""
    wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors]
    more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return "; ".join(wrong[:SHOWN]) + more


def added_to(app: FastAPI) -> None:
    """Have the application answer so, whatever goes wrong."""
    for kind, answer in _ANSWERS.items():
        app.add_exception_handler(kind, answer)


async def answer(request: Request, error: Exception) -> Response:
    """What is answered when this went wrong before any application was asked."""
    return await next(one for kind, one in _ANSWERS.items() if isinstance(error, kind))(request, error)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for those
    headers = dict(error.headers) if error.headers else None
    if not isinstance(error, Problem) and error.status_code in (404, 405):  # of the router, before any route was asked
        return problem(error.status_code, _no_route(request, headers or {}), title=NO_ROUTE, headers=headers)
    return problem(error.status_code, told(error), headers=headers, more=getattr(error, "more", None))


def _no_route(request: Request, headers: Mapping[str, str]) -> str:
    """That nothing is served there, and where it is said what is."""
    asked, ways = f"{request.method} {request.url.path[:SHOWN_PATH]}", headers.get("Allow", "")
    described = request.app.openapi_url
    where = f"GET {described} describes all there are, docs/api.md tells of them" if described else "docs/mcp.md tells what is served here"
    return f"there is no {asked}{f', but {ways} there' if ways else ''}; {where}"


async def _mistaken(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError) and _is_body_unread(request, error):
        sent = request.headers.get("content-type") or "no Content-Type"
        return problem(415, f"the body came with {sent}, so it was not read; send it with Content-Type: application/json (curl: --json)")
    return problem(422, told(error))


def _is_body_unread(request: Request, error: RequestValidationError) -> bool:
    """Whether the body as a whole does not do, and it is not said that it is JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
    return not is_json and any(tuple(one["loc"]) == ("body",) and one["type"] != "missing" for one in error.errors())


async def _away(_request: Request, error: Exception) -> Response:
    return problem(503, f"{told(error)}; nothing was lost, try again", headers={"Retry-After": str(OUTAGE_RETRY_S)})


async def _contended(_request: Request, error: Exception) -> Response:
    return problem(503, f"{told(error)}; try again", headers={"Retry-After": str(CONTENDED_RETRY_S)})


async def _misconfigured(_request: Request, error: Exception) -> Response:
    log.error("request.misconfigured", reason=str(error), next="whoever runs this server has to mend it")
    return problem(500, f"{told(error)}; whoever runs it finds the reason in its log")


async def _surprised(request: Request, error: Exception) -> Response:
    log.error("request.failed", method=request.method, path=request.url.path, error=type(error).__name__, next="please report it")
    return problem(500, f"{UNEXPECTED}; whoever runs this server finds it in its log")


_ANSWERS: Mapping[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    HTTPException: _refused,
    RequestValidationError: _mistaken,
    UserMistake: _mistaken,
    Outage: _away,
    Contended: _contended,
    Misconfigured: _misconfigured,
    Exception: _surprised,
}

EXPECTED = tuple(kind for kind in _ANSWERS if kind is not Exception)
