"""What a process that serves the API says of itself.

/metrics   what it counted
/health    whether it answers
/ready     whether it can work now: 503 while it starts, or Postgres is away
"""

import asyncio

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nous.errors import Contended, Misconfigured, Outage
from workers.runtime import metrics

from . import problems
from .service import Service

PATIENCE_S = 2.5  # for Postgres, shorter than whoever probes has
STARTS = "it starts: it waits for the database, as its log says"


class Health:
    """What one process says of itself, from before it has anything to work with."""

    def __init__(self, service: Service | None = None) -> None:
        self._service = service
        self._look: asyncio.Task[None] | None = None

    def watch(self, service: Service) -> None:
        """It can work from now on."""
        self._service = service

    def routes(self) -> list[BaseRoute]:
        """What is served to those who run it, at a port of its own."""
        return [Route("/metrics", self._metrics), *self.probes()]

    def probes(self) -> list[BaseRoute]:
        """What is served beside the API too."""
        return [Route("/health", self._health), Route("/ready", self._ready)]

    async def _metrics(self, _: Request) -> Response:
        return Response(generate_latest(metrics.REGISTRY), media_type=CONTENT_TYPE_LATEST)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        try:
            if self._service is None:
                return _not_ready(STARTS)
            await self._looked_at(self._service)
            return JSONResponse({"status": "ready"})
        except (Outage, Contended, Misconfigured) as error:
            return _not_ready(str(error))

    async def _looked_at(self, service: Service) -> None:
        """See whether Postgres answers; whoever asks while somebody looks is told the same. Raises Outage, Contended and Misconfigured."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(_look(service))
        done, _ = await asyncio.wait({self._look}, timeout=PATIENCE_S)
        if not done:
            raise Outage("Postgres", f"no answer within {PATIENCE_S:g} s")
        await self._look


async def _look(service: Service) -> None:
    async with service.database.read(()):
        pass


def _not_ready(why: str) -> Response:
    return problems.problem(503, why, headers={"Retry-After": str(problems.OUTAGE_RETRY_S)})
