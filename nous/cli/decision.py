"""What a person decides is an event like any other: its effect, its receipt and its letters are committed together.

    event ─▶ decide, in one transaction: the effect, the receipt and the letters ─▶ send

The letters are sent at once, or by a running worker if Redis is away.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from pydantic import ValidationError

from events import Event
from nous import clock, ids
from nous.errors import Contended, Misconfigured, Outage, UserMistake
from nous.people import record
from nous.settings import Settings
from store import outbox
from store.database import Database
from store.outbox import Letter
from workers.runtime.sweep import announce

from . import place, screen

__all__ = ["commit", "event", "record", "send"]

E = TypeVar("E", bound=Event)


def event(kind: type[E], agent: str, options: Mapping[str, str], **fields: object) -> E:
    """What was decided, as an event of its own. Raises UserMistake naming the option that does not do; `options` has those of fields."""
    try:
        return kind.model_validate({"event_id": str(ids.new()), "agent_id": agent, "occurred_at": clock.now(), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        option = options.get(str(first["loc"][0]), f"--{first['loc'][0]}")
        raise UserMistake(f"{option} does not do: {screen.plainly(first['msg'])}, got {screen.shown(str(first['input']))[:80]!r}") from None


async def commit(database: Database, events: Sequence[Event]) -> list[Letter]:
    """A letter for each of these events, committed to the outbox."""
    letters = [outbox.letter(one) for one in events]
    async with database.queue() as db:
        await outbox.insert(db, letters, now=clock.now())
    return letters


async def send(settings: Settings, database: Database, letters: Sequence[Letter]) -> None:
    """Publish the letters now; when Redis is away, or is not known here, a running worker does it within seconds of its return."""
    with suppress(Outage, Contended, Misconfigured):
        async with place.redis(settings) as redis:
            await announce(database, redis, letters)
