"""`nous up` and `nous work`: workers in this process, until Ctrl-C or SIGTERM.

up      the embedded stack ─▶ migrated ─▶ told where it runs ─▶ the page ─▶ every worker ─▶ all of it stopped, the workers first
work    the workers alone, against a stack that runs elsewhere

Both also end sessions of which nothing was heard for a while.
"""

import asyncio
import gc
import shlex
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import uvloop
from starlette.routing import BaseRoute

import providers
import workers
from nous import embedded
from nous.errors import UserMistake
from nous.settings import Settings
from providers.mind import Mind
from providers.offline import OfflineMind
from recall import sessions
from recall.tools import Tools
from workers.runtime import streams, traces
from workers.runtime.app import Chore, Process, calibrated_patiently, kit
from workers.runtime.health import Health
from workers.runtime.serve import application, serving
from workers.runtime.worker import Kit, Worker
from workers.upkeep import clock as upkeep_clock

from . import page, place, screen
from .endings import Away
from .migrate import apply
from .stopping import Stop, interrupt_with, set_by, stoppable

COLLECTED_AFTER = (20_000, 20, 20)
"""How many new objects before the garbage collector looks at them, and so on. A page makes thousands that all die with it: looking as
often as Python does by itself took a sixth of the processor (measured, docs/performance.md)."""

UPKEEP_LOOKED_AT_S = 60.0
SILENCE_LOOKED_FOR_S = 30.0  # at least so often, and four times in the silence that ends a session


def up(settings: Settings) -> None:
    """Run everything in one terminal."""
    starting = screen.err().status(f"starting Postgres and Valkey in {settings.home}…")
    with stoppable() as stop, starting, owned(settings) as stack:
        starting.stop()
        uvloop.run(_up(settings, stack, stop))
    print(f"stopped; the data stays in {settings.home}", flush=True)


def work(settings: Settings, names: Sequence[str]) -> None:
    """Run workers against a stack that runs elsewhere."""
    archives = not names or streams.ARCHIVIST in names
    chosen = [_worker(name) for name in dict.fromkeys(names) if name != streams.ARCHIVIST] if names else list(workers.table().values())
    database_url, redis_url = place.database_url(settings), place.redis_url(settings)
    with stoppable() as stop:
        uvloop.run(_serve(settings, database_url, redis_url, chosen, stop, _tell_mind, archives=archives, web_port=settings.web_port or 0))


@contextmanager
def owned(settings: Settings) -> Iterator[embedded.Stack]:
    """The embedded stack, for the block. When one of its servers dies, the block is interrupted as by Ctrl-C, and Away says which."""
    deaths: list[str] = []
    this_thread = threading.get_ident()

    def hear(death: str) -> None:
        deaths.append(death)
        signal.pthread_kill(this_thread, signal.SIGINT)

    try:
        with embedded.running(settings.home, on_death=hear) as stack:
            yield stack
    finally:
        if deaths:
            raise Away(f"{deaths[0]}; all is stopped and the data is kept, start it again with: {place.command()} up")


@asynccontextmanager
async def alongside(settings: Settings, database_url: str, redis_url: str) -> AsyncIterator[None]:
    """Every worker, running in this process for the block."""
    settings = await calibrated_patiently(settings, database_url)
    async with kit(settings, database_url, providers.embedder(settings), providers.mind(settings)) as tools:
        stop = asyncio.Event()
        running = asyncio.create_task(Process(list(workers.table().values()), tools, redis_url, archives=True).run(stop))
        try:
            yield
        finally:
            stop.set()
            await running


# ── the life of the process ───────────────────────────────────────────────────────────────────────────────────────────────


async def _up(settings: Settings, stack: embedded.Stack, stop: Stop) -> None:
    interrupt_with(stop)
    await apply(settings, stack.database_url)
    _tell_where(stack)
    port = page.PORT if settings.web_port is None else settings.web_port
    announce = partial(_tell_what, settings)
    await _serve(settings, stack.database_url, stack.redis_url, list(workers.table().values()), stop, announce, web_port=port)


async def _serve(
    settings: Settings,
    database_url: str,
    redis_url: str,
    chosen: Sequence[Worker[Any, Any]],
    stop: Stop,
    announce: Callable[[Mind], None],
    *,
    archives: bool = True,
    web_port: int = 0,
) -> None:
    """Work until told to stop, then finish what is in flight."""
    gc.set_threshold(*COLLECTED_AFTER)
    interrupt_with(stop)
    health = Health()
    async with (
        traces.exported(),
        watched(settings, health.routes()),
        page.shown(settings, database_url, redis_url, port=web_port) as site,
    ):
        settings = await calibrated_patiently(settings, database_url)
        async with kit(settings, database_url, providers.embedder(settings), mind := providers.mind(settings)) as tools:
            asked = set_by(stop)
            if site:
                site.search_by(tools.embedder)
            announce(mind)
            health.watch(process := Process(chosen, tools, redis_url, chores=[silence(tools), *upkeep(tools)], archives=archives))
            await process.run(asked)


@asynccontextmanager
async def watched(settings: Settings, routes: Sequence[BaseRoute]) -> AsyncIterator[None]:
    """These routes are served for the block at NOUS_HTTP_PORT, if it is set: a start can be watched before there is anything to serve."""
    if not settings.http_port:
        yield
        return
    async with serving(application(routes), host=settings.http_host, port=settings.http_port):
        yield


def silence(kit: Kit) -> Chore:
    """Ending the sessions that fell silent."""
    tools = Tools(kit.database, kit.embedder, kit.settings)
    return Chore(partial(sessions.close_silent, tools), min(SILENCE_LOOKED_FOR_S, kit.settings.session_silence_s / 4), "silence")


def upkeep(kit: Kit) -> list[Chore]:
    """Beginning upkeep when its time has come, unless something else does."""
    if not kit.settings.upkeep_clock:
        return []
    return [Chore(partial(upkeep_clock.tick, kit.database, kit.settings), UPKEEP_LOOKED_AT_S, "upkeep")]


# ── what a person is told ─────────────────────────────────────────────────────────────────────────────────────────────────


def _tell_where(stack: embedded.Stack) -> None:
    print(f"Redis     {stack.redis_url}")
    print(f"Postgres  {_without_password(stack.database_url)}  (the whole URL, with its password, is in {stack.home / 'stack.json'})")
    print(f"data      {stack.home}", flush=True)


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.username}@{parts.hostname}:{parts.port}").geturl()


def _tell_mind(mind: Mind) -> None:
    model = mind.model("relation")
    print("mind: offline (rules; set ANTHROPIC_API_KEY for Claude)" if OfflineMind.is_named(model) else f"mind: {model}", flush=True)


def _tell_what(settings: Settings, mind: Mind) -> None:
    _tell_mind(mind)
    console = screen.out(piped_width=screen.PROSE_WIDTH)
    table = screen.table("worker", "listens on", "what it does")
    for one in workers.table().values():
        table.add_row(one.name, one.on.stream, one.does)
    console.print()
    console.print(table)
    console.print()
    nous = place.command()
    console.print(f"Try in another terminal{_in_this_home(settings)}:", style="dim")
    tries = screen.rows(2)
    tries.add_row(f"  {nous} demo", "two weeks of one agent's facts, and what became of them")
    tries.add_row(f"  {nous} facts", "what is remembered")
    tries.add_row(f"  {nous} status", "how far every worker is")
    console.print(tries)
    console.print(f"  {nous} publish fact_learned agent_id=me content='My cat is called Mimi.'")
    console.print("\nRunning. Ctrl-C stops all of it.")
    if settings.database_url or settings.redis_url:
        print("note: NOUS_DATABASE_URL or NOUS_REDIS_URL is set, so other commands here use those and not this stack")
    print(end="", flush=True)


def _in_this_home(settings: Settings) -> str:
    return "" if place.has_default_home(settings) else f", with NOUS_HOME={shlex.quote(str(settings.home))}"


def _worker(name: str) -> Worker[Any, Any]:
    known = workers.table()
    found = known.get(name.replace("-", "_"))
    if found is None:
        names = sorted([*known, streams.ARCHIVIST])
        raise UserMistake(f"there is no worker {name!r}{screen.meant(name, names)}; the workers are {screen.listed(names)}")
    return found
