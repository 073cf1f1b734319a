"""The archive: which events a person means by an id."""

from dataclasses import replace

import pytest

from store import archive
from store.archive import Archived
from store.database import Database
from tests.factories import NOON

EVENT = Archived("a", "Event-1", "fact_learned", b"1", b"{}", "1-0", NOON, NOON)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Event-1", {"Event-1"}),
        ("Event-", {"Event-1", "Event-10", "Event-1\u00e9", "Event-2"}),
        ("event", {"event-1", "event 1", "event1"}),
        ("\u00e9e", {"\u00e9event-1"}),
        ("EVENT", set()),
        ("%", set()),
    ],
)
async def test_an_event_is_meant_by_its_id_or_else_by_the_beginning_of_it_as_it_is_spelt(
    database: Database, written: str, meant: set[str]
) -> None:
    others = ("event-1", "event 1", "event1", "\u00e9event-1", "Event-10", "Event-1\u00e9", "Event-2")
    async with database.write(["a"]) as db:
        await archive.insert(db, [EVENT, *(replace(EVENT, event_id=one) for one in others)])
    async with database.overview() as db:
        assert {one.event_id for one in await archive.named(db, written, agent=None, limit=9)} == meant
        assert await archive.named(db, written, agent="b", limit=9) == []
