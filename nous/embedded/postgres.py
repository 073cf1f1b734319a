"""The embedded Postgres: made once, furnished at every start, served on the loopback address.

    initdb ──▶ home/postgres.new ──rename──▶ home/postgres ──▶ serve ──▶ furnish: pgvector, the role `nous`, its database

Text is UTF-8, compared by code point and folded by Postgres's own tables, so no locale of the machine is needed; where the machine
has one for UTF-8, full-text search asks it what is a letter. The application's role is no superuser and cannot bypass row-level
security, but may create roles and databases; each database it makes has pgvector in it.
"""

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import asyncpg

from nous.errors import Misconfigured

from . import kept
from . import server as servers
from .programs import POSTGRES_MAJOR
from .server import ADDRESS, Household, Process, Server

NOUS = "nous"
SUPERUSER = "postgres"
INITDB_SECONDS = 120.0
LC_CTYPES = ("C.UTF-8", "en_US.UTF-8", "C")

SETTINGS = {
    "listen_addresses": ADDRESS,
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}


@contextmanager
def serving(household: Household) -> Iterator[str]:
    """Run Postgres for the block; gives the URL of the application's database."""
    server = _described(household)
    servers.evict(server)
    passwords = _passwords(server)
    if not _is_made(server):
        _make(server, passwords[SUPERUSER])
    with servers.serving(server, lambda port: _arguments(server, port), lambda process, _: _is_ready(server, process)) as port:
        household.keeper.submit(asyncio.run, _furnish(server, port, passwords)).result()
        yield f"postgresql://{NOUS}:{passwords[NOUS]}@{ADDRESS}:{port}/{NOUS}"


def _described(household: Household) -> Server:
    return Server(
        name="Postgres",
        program=household.programs.postgres,
        folder=household.home / "postgres",
        pid_file="postmaster.pid",
        goodbyes=(signal.SIGINT, signal.SIGQUIT, signal.SIGKILL),
        household=household,
    )


def _passwords(server: Server) -> dict[str, str]:
    """The passwords by role, made once; data whose passwords are lost is left alone."""
    path = server.household.home / "secrets.json"
    if not path.exists() and server.folder.exists():
        raise Misconfigured(
            f"{path} is gone, and with it the passwords of {server.folder}: restore it, or move that folder away to start empty"
        )
    if not path.exists():
        kept.write(path, {SUPERUSER: secrets.token_urlsafe(24), NOUS: secrets.token_urlsafe(24)})
    return kept.read(path)


def _is_made(server: Server) -> bool:
    """Whether there is data; raises Misconfigured when our Postgres cannot read it."""
    if not server.folder.exists():
        return False
    servers.give(server.folder, server.household.servant)
    mark = server.folder / "PG_VERSION"
    version = mark.read_text().strip() if mark.exists() else "nobody knows what"
    if version != POSTGRES_MAJOR:
        raise Misconfigured(
            f"{server.folder} was made by Postgres {version}, and this is Postgres {POSTGRES_MAJOR}, which cannot read it: dump it with "
            "the Postgres that made it (pg_dump) and restore it here, or move the folder away to start empty"
        )
    return True


def _make(server: Server, password: str) -> None:
    """Make the data in a folder beside, then rename that, so that data is whole or absent."""
    fresh = server.folder.with_name("postgres.new")
    initdb = replace(server, program=server.household.programs.initdb, folder=fresh)
    for lc_ctype in LC_CTYPES:
        servers.until(partial(_is_cleared, fresh), servers.STOP_SECONDS)
        servers.give(fresh, server.household.servant)
        if _initdb(initdb, lc_ctype, password):
            fresh.rename(server.folder)
            return
        if "invalid locale name" not in servers.last_lines(initdb.log):
            break
    raise servers.failed(initdb, "could not make its data")


def _is_cleared(folder: Path) -> bool:
    """Remove the folder; whether it is gone. An initdb whose parent was killed may still be leaving it."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _initdb(initdb: Server, lc_ctype: str, password: str) -> bool:
    """Run initdb; whether it made the data."""
    arguments = [
        f"--pgdata={servers.here(initdb.folder)}",
        f"--username={SUPERUSER}",
        "--pwfile=/dev/stdin",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        f"--lc-ctype={lc_ctype}",
        "--text-search-config=english",
        "--no-instructions",
    ]
    if not initdb.household.is_durable:
        arguments.append("--no-sync")
    with _pipe_with(password, initdb.household.servant.uid) as stdin:
        process = servers.launch(initdb, arguments, stdin)
    try:
        return servers.until(lambda: process.poll() is not None, INITDB_SECONDS) and process.returncode == 0
    finally:
        servers.stop(initdb, process)


@contextmanager
def _pipe_with(text: str, uid: int) -> Iterator[int]:
    """A pipe to read `text` from, which the user `uid` may open by name."""
    reading, writing = os.pipe()
    try:
        if os.geteuid() == 0:
            os.fchown(reading, uid, -1)
        os.write(writing, text.encode())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


def _arguments(server: Server, port: int) -> list[str]:
    durable = DURABLE if server.household.is_durable else dict.fromkeys(DURABLE, "off")
    settings = SETTINGS | durable | {"port": str(port), "cluster_name": servers.mark_of(server.household.home)}
    return ["-D", servers.here(server.folder), *(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))]


def _is_ready(server: Server, process: Process) -> bool:
    """Whether this very process says in its pid file that it takes connections."""
    try:
        lines = (server.folder / server.pid_file).read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready"


async def _furnish(server: Server, port: int, passwords: dict[str, str]) -> None:
    """Make what is missing of the role, its database, and pgvector in the version that we bring."""
    template = await _connected(server, port, passwords[SUPERUSER], "template1")
    try:
        await _bring_pgvector(template)
        if not await template.fetchval("SELECT count(*) FROM pg_roles WHERE rolname = $1", NOUS):
            quoted = await template.fetchval("SELECT quote_literal($1::text)", passwords[NOUS])
            await template.execute(f"CREATE ROLE {NOUS} LOGIN NOSUPERUSER CREATEROLE CREATEDB PASSWORD {quoted}")
        if not await template.fetchval("SELECT count(*) FROM pg_database WHERE datname = $1", NOUS):
            await template.execute(f"CREATE DATABASE {NOUS} OWNER {NOUS}")
    finally:
        await template.close()
    database = await _connected(server, port, passwords[SUPERUSER], NOUS)
    try:
        await _bring_pgvector(database)
    finally:
        await database.close()


async def _connected(server: Server, port: int, password: str, database: str) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(host=ADDRESS, port=port, user=SUPERUSER, password=password, database=database, ssl=False)
    except asyncpg.InvalidPasswordError as error:
        secret = server.household.home / "secrets.json"
        raise Misconfigured(f"{secret} is not the one {server.folder} was made with ({error}): restore the right one") from error


async def _bring_pgvector(database: asyncpg.Connection) -> None:
    await database.execute("CREATE EXTENSION IF NOT EXISTS vector")
    await database.execute("ALTER EXTENSION vector UPDATE")
