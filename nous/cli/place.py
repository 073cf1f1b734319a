"""Which stack a command talks to: the one the environment names, or else the embedded one that runs in NOUS_HOME."""

import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from nous import embedded, log
from nous.errors import Misconfigured, UserMistake
from nous.settings import Settings

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
        raise Misconfigured(f"{name} is set to {first['input']!r}, which does not do: {first['msg'].lower()}") from None
    log.configure(log_format=read.log_format, level=read.log_level)
    return read


def database_url(settings: Settings) -> str:
    """Postgres, as postgresql://... Raises UserMistake when nothing runs, Misconfigured when the URL is none."""
    from store.database import checked

    return checked(settings.database_url or _stack(settings, missing="NOUS_DATABASE_URL").database_url)


def redis_url(settings: Settings) -> str:
    """Redis or Valkey, as redis://... Raises UserMistake when nothing runs, Misconfigured when the URL is none."""
    from workers.runtime import streams

    url = settings.redis_url or _stack(settings, missing="NOUS_REDIS_URL").redis_url
    try:
        streams.connect(url).connection_pool.make_connection()  # type: ignore[no-untyped-call]  # and opens none
    except Exception as error:  # of many kinds, one for each part of the URL that can be wrong
        raise Misconfigured(f"NOUS_REDIS_URL is not a Redis URL ({error}); write it as redis://host:6379/0") from None
    return url


def redis_in_a_shell(settings: Settings) -> str:
    """The same as a person hands it to another program: by its variable when it has one, for it may hold a password."""
    return '"$NOUS_REDIS_URL"' if settings.redis_url else redis_url(settings)


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator["Database"]:
    """A connection to the store, for the block."""
    from store.database import Database

    opened = Database(database_url(settings), pool=1)
    try:
        yield opened
    finally:
        await opened.close()


@asynccontextmanager
async def redis(settings: Settings) -> AsyncIterator["Redis"]:
    """A client of the broker, for the block."""
    from workers.runtime import streams

    client = streams.connect(redis_url(settings))
    try:
        yield client
    finally:
        await client.aclose()


def is_found(settings: Settings) -> bool:
    """Whether there is a stack to talk to."""
    return bool(settings.database_url or settings.redis_url) or embedded.find(settings.home) is not None


def command() -> str:
    """How this person runs `nous` from here: by name when their shell finds it, else by the path they used."""
    used = Path(sys.argv[0])
    found = shutil.which("nous")
    if used.name != "nous" or (found and Path(found).resolve() == used.resolve()):
        return "nous"
    here = Path.cwd()
    return shlex.quote(str(used.relative_to(here) if used.is_absolute() and used.is_relative_to(here) else used))


def _stack(settings: Settings, *, missing: str) -> embedded.Stack:
    other = {"NOUS_DATABASE_URL": "NOUS_REDIS_URL", "NOUS_REDIS_URL": "NOUS_DATABASE_URL"}[missing]
    if settings.database_url or settings.redis_url:
        raise Misconfigured(f"{other} is set and {missing} is not; set both, or neither to use the stack that runs in NOUS_HOME")
    stack = embedded.find(settings.home)
    if stack is None:
        own = "for a stack of your own set NOUS_DATABASE_URL and NOUS_REDIS_URL"
        raise UserMistake(f"nothing runs in {settings.home}; start it with: {command()} up ({own})")
    return stack
