"""What a process says of itself over HTTP.

/metrics   what it counted (metrics.py), its pool, and what all processes share (shared.py)
/health    whether it lives: 503 when a loop has long been stuck or failing although nothing outside is away: restart it
/ready     whether it can work now: 503 while Postgres or Redis is away, migrations are missing, or it starts or stops
"""

import asyncio
import os
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nous.errors import NousError
from store import shape
from store.database import Database

from . import metrics, streams
from .shared import Gauges, Shared

if TYPE_CHECKING:
    from .app import Process

CHECK_LIMIT_S = 3.0
OK = "ok"


class Health:
    """What one process says of itself, from before it is there until after it has stopped."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._shared: Shared | None = None

    def watch(self, process: "Process") -> None:
        """The process is made: what it works with was there and fits."""
        self._process = process
        self._shared = Shared(process.kit.settings, process.kit.database, process.redis)

    def routes(self) -> list[BaseRoute]:
        """What is served."""
        return [Route("/metrics", self._metrics), Route("/health", self._health), Route("/ready", self._ready)]

    async def problems(self) -> list[str]:
        """What is wrong with the process itself; nothing while it only waits for what is away."""
        turns = self._process.turns if self._process else []
        found = [problem for turn in turns if (problem := turn.problem())]
        if found and any(said != OK for said in (await self.checks()).values()):
            return []
        return found

    async def checks(self) -> Mapping[str, str]:
        """What the process needs, and "ok" or what is wrong with it."""
        if self._process is None:
            return {"process": "it starts: it waits for the embedder or the database, as its log says"}
        if self._process.must_stop.is_set():
            return {"process": "it stops"}
        postgres, redis = await asyncio.gather(_checked(_fits(self._process.kit.database)), _checked(streams.answers(self._process.redis)))
        return {"process": OK, "embedder": OK, "postgres": postgres, "redis": redis}  # it is not made before its embedder is loaded

    async def _health(self, _: Request) -> Response:
        problems = await self.problems()
        names = self._process.names() if self._process else []
        body = {"healthy": not problems, "problems": problems, "pid": os.getpid(), "workers": names}
        return JSONResponse(body, 503 if problems else 200)

    async def _ready(self, _: Request) -> Response:
        checks = await self.checks()
        is_ready = all(said == OK for said in checks.values())
        return JSONResponse({"ready": is_ready, "checks": checks}, 200 if is_ready else 503)

    async def _metrics(self, _: Request) -> Response:
        gauges: list[Metric] = []
        if self._process and self._shared and not self._process.must_stop.is_set():
            gauges = [*_pool(self._process.kit.database), *await self._shared.gauges()]
        return Response(generate_latest(metrics.REGISTRY) + generate_latest(_Seen(gauges)), media_type=CONTENT_TYPE_LATEST)


class _Seen(Collector):
    """What was seen, as prometheus_client wants to be told."""

    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def collect(self) -> Gauges:
        return self._gauges


async def _checked(step: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(CHECK_LIMIT_S):
            await step
    except TimeoutError:
        return f"no answer within {CHECK_LIMIT_S:.0f} s"
    except NousError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return OK


async def _fits(database: Database) -> None:
    async with database.overview() as db:
        await shape.require(db)


def _pool(database: Database) -> list[Metric]:
    in_use, idle = database.connections()
    gauge = GaugeMetricFamily("nous_pool_connections", "Postgres connections of this process.", labels=("state",))
    gauge.add_metric(("in_use",), in_use)
    gauge.add_metric(("idle",), idle)
    return [gauge]
