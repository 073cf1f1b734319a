"""The routes put together: FastAPI, so that what is taken and given is described at /openapi.json, as it is checked."""

from fastapi import FastAPI
from starlette.types import ASGIApp

import nous

from . import events, facts, memories, problems, recalling, sessions
from .health import Health
from .limits import Bounded
from .measured import Measured
from .paths import Parted
from .service import Service
from .who import Spoken

ROUTERS = (sessions, events, recalling, memories, facts)

DESCRIPTION = """Memory for LLM agents. Every request speaks for one agent, the one of its token (`nous token new`), and sees nothing of any
other. What went wrong is `application/problem+json`; 503 has a `Retry-After`."""


def application(service: Service) -> ASGIApp:
    """The API, ready to be served."""
    app = FastAPI(title="Nous memory", version=nous.__version__, description=DESCRIPTION, docs_url=None, redoc_url=None)
    app.state.service = service
    problems.added_to(app)
    for routes in ROUTERS:
        app.include_router(routes.router, responses=_PROBLEMS)

    app.router.routes.extend(Health(service).probes())
    settings = service.settings
    bounded = Bounded(app, most_bytes=settings.api_body_bytes, within_s=settings.api_request_s)
    return Parted(Measured(Spoken(bounded, service, below="/v1/")))


_PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"description": problems.TITLES[status], "content": {problems.MEDIA_TYPE: {"schema": {"type": "object"}}}}
    for status in (401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 500, 503)
}
