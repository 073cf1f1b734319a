"""Which stack a command talks to: the one the environment names, or else the embedded one that runs in NOUS_HOME."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import ValidationError

from nous import embedded, log
from nous.called import command as command
from nous.errors import Misconfigured, Outage
from nous.settings import Settings

from . import screen
from .endings import Away

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from store.database import Database


def settings() -> Settings:
    """The settings of this command, and its logs as they say. Raises Misconfigured naming the variable that does not read."""
    try:
        read = Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        name = f"NOUS_{str(first['loc'][0]).upper()}"
        raise Misconfigured(f"{name} is set to {first['input']!r}, which does not do: {screen.plainly(first['msg'])}") from None
    log.configure(log_format=read.log_format, level=read.log_level)
    return read


def database_url(settings: Settings) -> str:
    """Postgres, as postgresql://... Raises Away when nothing runs, Misconfigured when the URL is none."""
    from store.database import checked

    return checked(settings.database_url or _stack(settings, missing="NOUS_DATABASE_URL").database_url)


def redis_url(settings: Settings) -> str:
    """Redis or Valkey, as redis://..., or a cluster of them. Raises Away when nothing runs, Misconfigured when the URL is none."""
    from workers.runtime import servers

    url = settings.redis_url or _stack(settings, missing="NOUS_REDIS_URL").redis_url
    try:
        servers.check(url)
    except Exception as error:  # of many kinds, one for each part of the URL that can be wrong
        forms = "redis://host:6379/0, or for a cluster redis+cluster://host:6379,another:6379"
        raise Misconfigured(f"NOUS_REDIS_URL is not a Redis URL ({error}); write it as {forms}") from None
    return url


@asynccontextmanager
async def database(settings: Settings, *, pool: int = 1) -> AsyncIterator["Database"]:
    """A connection to the store, for the block."""
    from store.database import Database

    opened = Database(database_url(settings), pool=pool)
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def redis(settings: Settings) -> AsyncIterator["Redis"]:
    """A client of the broker, for the block."""
    from workers.runtime import streams

    client = streams.connect(redis_url(settings), partitions=settings.stream_partitions)
    try:
        yield client
    finally:
        await client.aclose()


def is_found(settings: Settings) -> bool:
    """Whether there is a stack to talk to."""
    return is_configured(settings) or _found(settings) is not None


def is_configured(settings: Settings) -> bool:
    """Whether the environment names servers of one's own."""
    return bool(settings.database_url or settings.redis_url)


def still_there(settings: Settings) -> None:
    """Raises Away when the embedded stack that this command talked to has been stopped. One that is configured comes back by itself."""
    if not is_found(settings):
        raise Away(
            f"the stack in {settings.home.absolute()} was stopped meanwhile; start it again with: {command()} up"
            " (the data is kept, and what is not settled goes on from there)"
        )


def _stack(settings: Settings, *, missing: str) -> embedded.Stack:
    other = {"NOUS_DATABASE_URL": "NOUS_REDIS_URL", "NOUS_REDIS_URL": "NOUS_DATABASE_URL"}[missing]
    if is_configured(settings):
        raise Misconfigured(f"{other} is set and {missing} is not; set both, or neither to use the stack that runs in NOUS_HOME")
    stack = _found(settings)
    if stack is None:
        home = settings.home.absolute()
        if has_default_home(settings):
            where = f"nothing runs in {home}, where NOUS_HOME is unless you set it"
            elsewhere = f"if it runs from another folder, be in that folder or set NOUS_HOME to its {settings.home}"
        else:
            where, elsewhere = f"nothing runs in {home}, where NOUS_HOME points", "if it runs elsewhere, correct NOUS_HOME"
        own = "for servers of your own set NOUS_DATABASE_URL and NOUS_REDIS_URL"
        raise Away(f"{where}: start it with: {command()} up ({elsewhere}; {own})")
    return stack


def has_default_home(settings: Settings) -> bool:
    """Whether NOUS_HOME is what it is when nobody sets it: a folder of the current one."""
    return bool(settings.home == type(settings).model_fields["home"].default)


def _found(settings: Settings) -> embedded.Stack | None:
    try:
        return embedded.find(settings.home)
    except Outage as error:
        raise Away(f"{error}; stop that process and start it again with: {command()} up (the data is kept)") from None
