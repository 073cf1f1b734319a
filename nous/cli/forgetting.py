"""What `nous fact forget` and `nous agent forget` share: asking whoever is at a terminal, and telling what is left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis

from nous.errors import UserMistake
from nous.forgetting.stores import Outcome, Stores
from nous.settings import Settings
from store.database import Database

from . import asked, place, screen


def stores_of(settings: Settings, database: Database) -> Stores:
    """Everywhere words may be, as the settings say; while Redis is worked on, a terminal says so."""

    @asynccontextmanager
    async def redis() -> AsyncIterator[Redis]:
        async with (
            place.redis(settings) as client,
            _told("looking into Redis; what is erased there waits until every worker is through with it…"),
        ):
            yield client

    return Stores(database, place.database_url(settings), redis)


def confirm(question: str, *, is_sure: bool) -> bool:
    """Whether the person is sure. Raises UserMistake where nobody can be asked."""
    if is_sure:
        return True
    if not screen.out().is_terminal:
        raise UserMistake(
            "what is forgotten does not come back, and there is no terminal to ask at: add --yes, or look first with --dry-run"
        )
    return asked.confirm(question, otherwise="add --yes, or look first with --dry-run")


@asynccontextmanager
async def _told(what: str) -> AsyncIterator[None]:
    console = screen.err()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def print_left(outcome: Outcome, again: str) -> None:
    """What is still to be done, each in a line."""
    for one in outcome.left:
        print(f"  still there: {one}")
    if outcome.left:
        print(f"then run it again, which does what is left: {again}")


def listed_counts(counts: dict[str, Any]) -> str:
    """How many rows of which tables."""
    return ", ".join(f"{table} {rows:,}" for table, rows in counts.items()) or "nothing"
