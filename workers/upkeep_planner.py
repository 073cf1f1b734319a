"""Upkeep planner: what of an agent's memory is due, a page at a time, each memory by an event of its own.

maintenance_due ─┬─ something is due ──▶ an event for each, and maintenance_due for the page behind it if this one is full
                 ├─ a dry run ─────────▶ the receipt says what would be done and why; nothing is published
                 └─ nothing is due ────▶ nothing
"""

from collections.abc import Sequence
from typing import Any

from events import EpisodeAged, FactUnused, MaintenanceDue, NotesPiledUp, TranscriptExpired
from store.database import Write
from workers.runtime.worker import Done, Ending, Kit, Worker, each
from workers.upkeep import Due, tasks

OUTCOMES = ("planned", "looked", "nothing_due")

PAGE = 200
"""Memories of one page: each is an event, and all of them are committed together."""


async def plan(db: Write, event: MaintenanceDue, kit: Kit) -> Ending:
    """Publish what of an agent's memory is due to be looked after."""
    task = tasks()[event.task]
    page = await task.page(db, event, kit.settings, limit=PAGE)
    if not page.due:
        return Done("nothing_due")
    further = () if page.further is None else (page.further,)
    if task.is_dry(kit.settings):
        return Done("looked", reason="a dry run: nothing is changed", evidence=_evidence(page.due), publishes=further)
    return Done("planned", evidence=_evidence(page.due), publishes=(*(one.event for one in page.due), *further))


def _evidence(due: Sequence[Due]) -> dict[str, Any]:
    return {"due": {str(one.memory_id): f"{one.would}: {one.why}" for one in due}}


worker = Worker(
    on=MaintenanceDue,
    write=each(plan),
    outcomes=OUTCOMES,
    publishes=(MaintenanceDue, EpisodeAged, FactUnused, NotesPiledUp, TranscriptExpired),
)
