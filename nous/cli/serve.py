"""`nous serve`: memory over HTTP, until Ctrl-C or SIGTERM, against a stack that runs elsewhere.

settings ─▶ whom it answers, said at once ─▶ Postgres there, its embedder the right one ─▶ served ─▶ what is being answered is finished
"""

import uvloop

from nous.api import who
from nous.api.application import application
from nous.api.health import Health
from nous.api.service import opened
from nous.settings import Settings
from store import tokens
from store.database import Database
from workers.runtime.serve import Limits, serving

from . import page, place
from .running import watched
from .stopping import Stop, interrupt_with, set_by, stoppable


def serve(settings: Settings) -> None:
    """Serve the API."""
    database_url, redis_url = place.database_url(settings), place.redis_url(settings)
    with stoppable() as stop:
        uvloop.run(_serve(settings, database_url, redis_url, stop))


async def _serve(settings: Settings, database_url: str, redis_url: str, stop: Stop) -> None:
    interrupt_with(stop)
    is_open = is_loopback(settings.api_host) and not settings.api_token_required
    health = Health()
    async with (
        watched(settings, health.routes()),
        page.shown(settings, database_url, redis_url, port=settings.web_port or 0) as site,
        opened(settings, database_url, redis_url, is_open=is_open) as service,
        serving(
            application(service),
            host=settings.api_host,
            port=settings.api_port,
            named="api",
            last_answers_s=settings.graceful_s,
            limits=Limits(settings.api_request_s, settings.api_connections, settings.api_trusted_proxies),
        ) as url,
    ):
        health.watch(service)
        if site:
            site.search_by(service.recall.embedder)
        print(f"API       {url}/v1  (described at {url}/openapi.json)", flush=True)
        print(await _whom(service.database, is_open=is_open), flush=True)
        await set_by(stop).wait()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it there."""
    return host == "localhost" or who.is_loopback(host)


async def _whom(database: Database, *, is_open: bool) -> str:
    """Who may ask, in a sentence."""
    new = f"{place.command()} token new --agent NAME"
    if is_open:
        return (
            "tokens    not needed on this machine: whoever can reach it here speaks for any agent it names (Nous-Agent: NAME);"
            f" NOUS_API_TOKEN_REQUIRED=true asks for one, made by: {new}"
        )
    async with database.overview() as db:
        there = bool(await tokens.listed(db, agent=None))
    return f"tokens    needed for every request{'' if there else f', and there is none yet: {new}'}"
