"""Everything the pages may look at, and the addresses they have.

Site(settings, database, redis) ──app()──▶ guard ──▶ /  /parked  /facts  /explain/…  /cost  /thresholds
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from redis.asyncio import Redis
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from nous.settings import Settings
from providers.embedder import Embedder
from store.database import Database
from workers.runtime.serve import application

from . import answers, cost, explained, facts, overview, parked, rendering, thresholds
from .answers import Answer, Asked, Elsewhere
from .glance import Glance
from .guard import Guarded

PAGES: Mapping[str, Callable[["Site", Asked], Awaitable[Answer | Elsewhere]]] = {
    "/": overview.page,
    "/live": overview.live,
    "/find": explained.find,
    "/parked": parked.page,
    "/parked/{handle}": parked.one,
    "/facts": facts.page,
    "/facts/{agent:path}/{written}": facts.one,
    "/explain/{written:path}": explained.page,
    "/event": explained.event,
    "/cost": cost.page,
    "/thresholds": thresholds.page,
}


class Site:
    """What the pages look at. `embedder` is that of this process, once it is loaded."""

    def __init__(self, settings: Settings, database: Database, redis: Redis) -> None:
        """`database` is for pages alone: they never keep a worker from its connection."""
        self.settings = settings
        self.database = database
        self.redis = redis
        self.glance = Glance(settings, database, redis)
        self.embedder: Embedder | None = None

    def search_by(self, embedder: Embedder) -> None:
        """An embedder is there: facts can be searched by meaning."""
        self.embedder = embedder

    def app(self) -> ASGIApp:
        """The application that serves it."""
        pages = [Route(path, answers.answering(partial(page, self))) for path, page in PAGES.items()]
        static = Route("/static/{name}", _static)
        return Guarded(application([*pages, static, Route("/{rest:path}", answers.answering(answers.missing))]))


async def _static(request: Request) -> Response:
    try:
        content, kind = rendering.static(request.path_params["name"])
    except KeyError:
        return Response("there is no such file here\n", 404, media_type="text/plain")
    return Response(content, 200, {"Cache-Control": "public, max-age=31536000, immutable"}, kind)
