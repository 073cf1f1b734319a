"""A procedure's story: when it was learned, what was learned of it since, and how each use of it went."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from store import old_notes
from store.database import Read
from store.old_notes import OldNotes
from store.procedures import Procedure

from . import subject
from .moment import Moment, in_order


@dataclass(frozen=True)
class Story:
    """A procedure and what happened to it, in order; `old_notes` are its notes as they were each time they were put together."""

    procedure: Procedure
    moments: Sequence[Moment]
    old_notes: Sequence[OldNotes] = ()

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "procedure": asdict(self.procedure),
            "old_notes": [asdict(one) for one in self.old_notes],
            "story": [one.as_data() for one in self.moments],
        }


async def told(db: Read, procedure: Procedure) -> Story:
    """The story of this procedure, uses of it that wait or were parked among it."""
    key = (procedure.agent_id, procedure.procedure_id)
    happened = await subject.happened(db, *key, "procedure_", "notes_")
    return Story(procedure, in_order(happened.moments()), (await old_notes.of(db, [key])).get(key, []))
