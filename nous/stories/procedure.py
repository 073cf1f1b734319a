"""A procedure's story: when it was learned, what was learned of it since, and how each use of it went."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from store.database import Read
from store.procedures import Procedure

from . import subject
from .moment import Moment, in_order


@dataclass(frozen=True)
class Story:
    """A procedure and what happened to it, in order."""

    procedure: Procedure
    moments: Sequence[Moment]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"procedure": asdict(self.procedure), "story": [one.as_data() for one in self.moments]}


async def told(db: Read, procedure: Procedure) -> Story:
    """The story of this procedure, uses of it that wait or were parked among it."""
    happened = await subject.happened(db, procedure.agent_id, procedure.procedure_id, "procedure_")
    return Story(procedure, in_order(happened.moments()))
