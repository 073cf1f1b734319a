"""A decision's story: who recorded it, whether it reads like a status report, which episodes it belongs to, and what came of it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from store import episodes
from store.database import Read
from store.decisions import Decision
from store.episodes import Episode, How

from . import subject
from .moment import Moment, in_order


@dataclass(frozen=True)
class Story:
    """A decision, what happened to it in order, and the episodes it belongs to, each with how that is known."""

    decision: Decision
    moments: Sequence[Moment]
    linked: Sequence[tuple[Episode, How]]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "decision": asdict(self.decision),
            "story": [one.as_data() for one in self.moments],
            "episodes": [{"episode_id": one.episode_id, "title": one.title, "active": one.active, "how": how} for one, how in self.linked],
        }


async def told(db: Read, decision: Decision) -> Story:
    """The story of this decision, reviews that came too early, too late or in vain among it."""
    happened = await subject.happened(db, decision.agent_id, decision.decision_id, "decision_")
    linked = await episodes.of_decision(db, decision.agent_id, decision.decision_id)
    return Story(decision, in_order(happened.moments()), linked)
