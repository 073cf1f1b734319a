"""Bringing a database to the shape this version needs: the migrations, then the table of the embedder in use.

Run by the role that owns the tables (`nous migrate`, `nous up`); two at once wait for each other.
"""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from nous.errors import Misconfigured

from . import embedders
from .database import engine, raise_named

_FOLDER = Path(__file__).parent / "migrations"
_LOCK_KEY = 0x6E6F7573  # "nous"
_one_at_a_time = asyncio.Lock()  # Alembic's `op` is one for the process: two at once would write into each other's database


async def migrate(url: str, *, embedder: str, dimension: int) -> list[str]:
    """Apply what is missing and make `embedder` (vectors of `dimension` numbers) the active one, unless another one is.

    Returns the revisions applied, oldest first. Raises Misconfigured when the database cannot be used, with what to do.
    """
    owner = engine(url, pool=1)
    try:
        async with _one_at_a_time, owner.begin() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
            await _prepare(connection)
            applied = await connection.run_sync(_upgrade)
            await embedders.register(connection, embedder, dimension)
        return applied
    except Exception as error:
        raise_named(error)
    finally:
        await owner.dispose()


def _upgrade(connection: Connection) -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    before = _current(connection)
    if before != ScriptDirectory.from_config(config).get_current_head() and connection.scalar(
        text("SELECT to_regclass('heart_twin.plan')")
    ):
        raise Misconfigured(
            "the tables of facts are being brought into other parts (nous partition), and a migration would change them in the middle of"
            " it; let that end first, or undo it: nous partition --abandon"
        )
    command.upgrade(config, "head")
    steps = ScriptDirectory.from_config(config).iterate_revisions("head", before or "base")
    return [step.revision for step in steps if step.revision != before][::-1]


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection, opts={"version_table_schema": "bus"}).get_current_revision()


async def _prepare(connection: AsyncConnection) -> None:
    """What must be there before the first migration: the extension, and a schema for Alembic's own table."""
    there = await connection.scalar(text("SELECT count(*) FROM pg_extension WHERE extname = 'vector'"))
    if not there:
        try:
            async with connection.begin_nested():
                await connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        except DBAPIError as error:
            raise Misconfigured(
                f"the database has no pgvector and this login may not add it ({str(error.orig).splitlines()[0]});"
                " as a superuser of that database run: CREATE EXTENSION vector;"
            ) from error
    await connection.execute(text("CREATE SCHEMA IF NOT EXISTS bus"))
