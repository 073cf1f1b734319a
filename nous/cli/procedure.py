"""`nous procedure restore`: the notes of a procedure are as they were before they were put together last.

What was put together, and when, is in the procedure's story: nous explain procedure ID.
"""

from events import ProcedureRestored
from nous import people
from nous.settings import Settings
from nous.stories.ids_meant import procedure_meant
from store import embedders
from store.procedures import Procedure

from . import decision, place, procedures, screen

OPTIONS = {"reason": "--because"}


async def restore(settings: Settings, written: str, *, reason: str, agent: str | None, is_json: bool) -> None:
    """Put the notes back. Raises UserMistake."""
    async with place.database(settings) as database:
        async with database.overview() as db:
            meant = await procedure_meant(db, written, agent=agent)
        told = decision.event(ProcedureRestored, meant.agent_id, OPTIONS, procedure_id=meant.procedure_id, reason=reason)
        async with database.write({meant.agent_id}) as db:
            done = await people.decide(db, told, table=(await embedders.active(db)).table)
        await decision.send(settings, database, done.letters)
    after: Procedure = done.after
    if is_json:
        screen.emit({"outcome": done.outcome, "event_id": told.event_id, "procedure": procedures.as_data(after)})
        return
    notes = screen.plural(len(after.implementation_notes), "note")
    print(
        f"restored the notes of “{screen.shown(after.name)}”: it has {notes} now, and they are not put together before many more are heard"
    )
