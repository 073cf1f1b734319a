"""One look tells every worker of a process whether something of it is due."""

import time
from datetime import timedelta
from typing import Any

import pytest

from nous import clock
from store import retries
from store.database import Database
from tests.factories import a_retry
from workers.runtime import due
from workers.runtime.due import Due

LONG_AGO = float("-inf")


@pytest.fixture(autouse=True)
def _no_look_grows_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "LOOKED_AT_EVERY_S", 3600.0)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each look at the store."""
    made: list[None] = []
    look = retries.due

    async def counted(*what: Any, **when: Any) -> set[tuple[str, bool]]:
        made.append(None)
        return await look(*what, **when)

    monkeypatch.setattr(due.retries, "due", counted)
    return made


async def set_aside(database: Database, **over: Any) -> None:
    async with database.queue() as db:
        await retries.set_aside(db, [a_retry(**over)])


async def test_each_worker_learns_what_is_due_of_it_and_how_from_one_look(database: Database, looks: list[None]) -> None:
    now = clock.now()
    await set_aside(database, worker="fails", due_at=now - timedelta(seconds=1))
    await set_aside(database, worker="waits", due_at=now - timedelta(seconds=1), together=True)
    await set_aside(database, worker="later", due_at=now + timedelta(hours=1))
    seen = Due(database, ["fails", "waits", "later", "idle"])
    found = {
        (worker, together)
        for worker in ("fails", "waits", "later", "idle")
        for together in (False, True)
        if await seen.has(worker, together=together, since=LONG_AGO)
    }
    assert found == {("fails", False), ("waits", True)}
    assert len(looks) == 1


async def test_what_was_set_aside_since_the_last_look_is_looked_for_at_once(database: Database, looks: list[None]) -> None:
    seen = Due(database, ["fails"])
    assert not await seen.has("fails", together=False, since=LONG_AGO)
    await set_aside(database, worker="fails", due_at=clock.now() - timedelta(seconds=1))
    assert not await seen.has("fails", together=False, since=LONG_AGO), "a moment ago there was nothing"
    assert await seen.has("fails", together=False, since=time.monotonic())
    assert len(looks) == 2


async def test_a_look_that_has_grown_old_is_made_again(database: Database, looks: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Due(database, ["fails"])
    await seen.has("fails", together=False, since=LONG_AGO)
    await seen.has("fails", together=False, since=LONG_AGO)
    assert len(looks) == 1
    monkeypatch.setattr(due, "LOOKED_AT_EVERY_S", 0.0)
    await seen.has("fails", together=False, since=LONG_AGO)
    assert len(looks) == 2
