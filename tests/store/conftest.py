"""One database for each file, and what a test looks behind the sessions with.

    database_url   a database for the tests of one file; those that commit keep out of each other's way by their agents
    db             a write session for agents a and b that is rolled back at the end
    owner          a bare asyncpg connection, as the login that owns the tables
    vectors_in     the table of the active embedder's vectors

`run` is raw SQL in a session, with no verb of the store in between.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text

from nous.embedded import Stack
from store import embedders
from store.database import Database, Read, Write
from tests.conftest import a_database


@pytest.fixture(scope="module")
async def database_url(stack: Stack, template: str) -> AsyncIterator[str]:
    async with a_database(stack, template) as url:
        yield url


@pytest.fixture
async def db(database: Database) -> AsyncIterator[Write]:
    class RolledBack(Exception):
        """The test is over."""

    with suppress(RolledBack):
        async with database.write(["a", "b"]) as session:
            yield session
            raise RolledBack


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def vectors_in(database: Database) -> str:
    async with database.overview() as session:
        return (await embedders.active(session)).table


async def as_operator(db: Write) -> Read:
    """The same session with an operator's eyes, so that it sees what is not committed."""
    await run(db, "SELECT set_config('role', 'nous_operator', true)")
    return db


async def run(db: Read, sql: str, **values: Any) -> list[Any]:
    """The rows of a statement, with no verb and no filter of the store in between; the first column alone when there is one."""
    result = await db.execute(text(sql), values)
    if not result.returns_rows:
        return []
    found = [tuple(row) for row in result]
    return [row[0] for row in found] if len(result.keys()) == 1 else found
