"""`nous fact pin | unpin`, and `nous fact restore` of what upkeep did: what a person decides of a fact that nobody asked for.

    pin      upkeep lets it be, however old it is
    unpin    it need not any more
    restore  what upkeep demoted counts in full, what it archived is active again; its age counts anew

Each is an event with its receipt, committed with its effect, and each is undone by another of them.
"""

from collections.abc import Sequence

from events import Event, FactPinned, FactReinstated, FactUnpinned
from nous import people
from nous.settings import Settings
from nous.stories.heard import as_data, mentions_of
from nous.stories.ids_meant import fact_meant
from store import embedders, facts
from store.database import Database
from store.facts import Fact

from . import decision, place, screen

OPTIONS = {"reason": "--because"}


async def pin(settings: Settings, written: str, *, is_pinned: bool, reason: str, agent: str | None, is_json: bool) -> None:
    """Let upkeep leave a fact alone, or no longer. Raises UserMistake."""
    async with place.database(settings) as database:
        async with database.overview() as db:
            fact = (await fact_meant(db, written, agent=agent)).fact
        told = decision.event(FactPinned if is_pinned else FactUnpinned, fact.agent_id, OPTIONS, fact_id=fact.fact_id, reason=reason)
        after = await _decided(settings, database, told, fact)
        said = f"“{screen.shown(after.content)}”"
        undo = f"{place.command()} fact {'unpin' if is_pinned else 'pin'} {after.fact_id}"
        kept = "upkeep lets it be, however old it is" if is_pinned else "upkeep may demote it once it is old and was never found"
        await _tell(database, told, after, [f"{'pinned' if is_pinned else 'unpinned'} {said}: {kept}", f"  undone by: {undo}"], is_json)


async def reinstate(settings: Settings, database: Database, fact: Fact, *, reason: str, is_json: bool) -> None:
    """Undo what upkeep did to a fact. Raises UserMistake."""
    told = decision.event(FactReinstated, fact.agent_id, OPTIONS, fact_id=fact.fact_id, reason=reason)
    after = await _decided(settings, database, told, fact)
    was = "archived" if fact.archived_at else "demoted"
    lines = [
        f"reinstated “{screen.shown(after.content)}”: it was {was}, is active and counts in full, and its age counts from now",
        f"  to keep it however old it gets: {place.command()} fact pin {after.fact_id}",
    ]
    await _tell(database, told, after, lines, is_json)


async def _decided(settings: Settings, database: Database, told: Event, fact: Fact) -> Fact:
    async with database.write({fact.agent_id}) as db:
        done = await people.decide(db, told, table=(await embedders.active(db)).table)
        after = (await facts.by_key(db, [fact.key]))[fact.key]
    await decision.send(settings, database, done.letters)
    return after


async def _tell(database: Database, told: Event, after: Fact, lines: Sequence[str], is_json: bool) -> None:
    if not is_json:
        for line in lines:
            print(line)
        return
    async with database.overview() as db:
        heard = await mentions_of(db, [after.key])
    screen.emit({"outcome": told.stream.removeprefix("fact_"), "event_id": told.event_id, "fact": as_data(after, heard[after.key])})
