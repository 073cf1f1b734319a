"""Procedures with more notes than are read: they are put together, by a mind.

more than 10 notes (NOUS_PROCEDURE_NOTES), those not counted that a person put back ─▶ notes_piled_up
no mind that writes is set here ───────────────────────────────────────────────────▶ looked at only; next week again
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import providers
from events import MaintenanceDue, NotesPiledUp
from nous.settings import Settings
from store import procedures
from store.database import Read

from . import Due, Task

MOST_PUT_TOGETHER = 5


async def agents(db: Read, now: datetime, settings: Settings) -> list[str]:
    """Every agent with something due; how many notes there are does not depend on the time."""
    return await procedures.piling(db, most=settings.procedure_notes)


async def due(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> Sequence[Due]:
    """A page of the agent's procedures that are due."""
    most = settings.procedure_notes
    found = await procedures.piled_up(db, cause.agent_id, most=most, after=cause.after, limit=limit)
    return [
        Due(
            one.procedure_id,
            f"its {len(one.implementation_notes)} notes put together in at most {MOST_PUT_TOGETHER}; the old ones are kept",
            f"more than {most} notes are not read",
            NotesPiledUp.following(cause, of=str(one.procedure_id), procedure_id=one.procedure_id),
        )
        for one in found
    ]


task = Task(
    name="procedures",
    does="puts the notes of procedures together where they pile up",
    every=timedelta(weeks=1),
    agents=agents,
    due=due,
    decided_by=("procedure_notes", "mind"),
    is_dry=lambda settings: not providers.writes(settings),
)
