"""What a page answers, as HTML or as JSON, and what went wrong as a page in plain words.

Asked ──▶ a page's function ─┬─ Answer ────────────────────────────────────▶ 200
                             ├─ UserMistake: nothing meant, or not clear ──▶ 404, 400
                             ├─ Outage, Contended, too slow ───────────────▶ 503
                             └─ anything else ─────────────────────────────▶ 500, and the log has it
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from events.wire import mended
from nous.errors import Contended, Misconfigured, Outage, UserMistake
from nous.stories.ids_meant import NotAnId, NothingMeant

from . import rendering

PAGE_LIMIT_S = 10.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Answer:
    """A page: its template with what that shows, and the same as data for machines."""

    template: str
    shown: Mapping[str, object]
    data: object


@dataclass(frozen=True)
class Elsewhere:
    """What was asked for is at another address."""

    address: str


class Asked:
    """What somebody asked for."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def __getitem__(self, name: str) -> str:
        """A part of the path."""
        return mended(str(self._request.path_params[name]))

    def words(self, name: str) -> str | None:
        """What the query says in this field, if it says anything."""
        return mended(self._request.query_params.get(name, "")).strip() or None

    def number(self, name: str, default: int, *, most: int) -> int:
        """A whole number from 1 to `most`. Raises UserMistake."""
        written = self.words(name)
        if written is None:
            return default
        if not (written.isascii() and written.isdigit() and 1 <= int(written[:9]) <= most):
            raise UserMistake(f"{name}={written!r} is no number from 1 to {most:,}")
        return int(written)

    def moment(self, name: str) -> datetime | None:
        """A time with its zone, or a date alone, which is its midnight in UTC. Raises UserMistake."""
        written = self.words(name)
        if written is None:
            return None
        try:
            if len(written) == len("2026-03-01"):
                return datetime.combine(date.fromisoformat(written), time(), UTC)
            at = datetime.fromisoformat(written.replace(" ", "T").upper())
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            raise UserMistake(f"{name}={written!r} is no time; write it as 2026-03-01, or 2026-03-01T09:30Z") from None

    @property
    def wants_json(self) -> bool:
        """Whether a machine asks."""
        accepted = self._request.headers.get("accept", "")
        return self.words("format") == "json" or ("application/json" in accepted and "text/html" not in accepted)

    @property
    def is_a_part(self) -> bool:
        """Whether it is for a page that is open already."""
        return self._request.headers.get("nous-part") == "true"


Page = Callable[[Asked], Awaitable[Answer | Elsewhere]]


def answering(page: Page) -> Callable[[Request], Awaitable[Response]]:
    """The page as an endpoint."""

    async def endpoint(request: Request) -> Response:
        asked = Asked(request)
        try:
            async with asyncio.timeout(PAGE_LIMIT_S):
                answer = await page(asked)
        except Exception as error:
            return _went_wrong(asked, error)
        if isinstance(answer, Elsewhere):
            return RedirectResponse(answer.address, 303)
        return _response(asked, answer, 200)

    return endpoint


async def missing(_: Asked) -> Answer:
    """There is no such page."""
    raise NothingMeant("there is no such page here; the links above lead to all there are")


def _response(asked: Asked, answer: Answer, status: int) -> Response:
    vary = {"Vary": "Accept, Nous-Part"}
    if asked.wants_json:
        return Response(rendering.as_json(answer.data), status, vary, "application/json")
    return Response(rendering.html(answer.template, answer.shown), status, vary, "text/html; charset=utf-8")


def _went_wrong(asked: Asked, error: Exception) -> Response:
    status, title, why, then = _told(error)
    template = "wrong_part.html" if asked.is_a_part else "wrong.html"
    return _response(asked, Answer(template, {"title": title, "why": why, "then": then}, {"error": title, "why": why}), status)


def _told(error: Exception) -> tuple[int, str, str, str]:
    """Status, what it is, why, and what to do."""
    match error:
        case NothingMeant() | NotAnId():
            return 404, "Nothing is there", str(error), "Look for it by its words or by its id in the field above."
        case UserMistake():
            return 400, "That cannot be answered as asked", str(error), "Change the address or the fields, and ask again."
        case Outage():
            then = "Nothing is lost: what was published waits, and workers go on by themselves once it answers. Ask again in a moment."
            return 503, f"{error.what} is away", str(error), then
        case Misconfigured():
            return 503, "This cannot work as it is set", str(error), "Correct it, and ask again."
        case Contended() | TimeoutError():
            why = str(error) or f"there was no answer within {PAGE_LIMIT_S:.0f} seconds"
            return 503, "Redis or Postgres is too slow", why, "Ask again in a moment, or for less: of one agent, or with more words."
    log.error("page.failed", exc_info=error, next="please report it")
    return 500, "This page failed", f"{type(error).__name__}; its log says more", "Nothing was changed. The other pages may well work."
