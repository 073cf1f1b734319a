"""A censor's story: who added it, every time it fired, what hardened it and who relaxed it, told from receipts."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from store import receipts
from store.censors import Censor
from store.database import Read

from .step import Step


@dataclass(frozen=True)
class Story:
    """A censor and what happened to it, in order."""

    censor: Censor
    steps: Sequence[Step]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"censor": asdict(self.censor), "story": [one.as_data() for one in self.steps]}


async def told(db: Read, censor: Censor) -> Story:
    """The story of this censor."""
    found = await receipts.about(db, censor.agent_id, censor.censor_id)
    mine = [receipt for receipt in found if receipt.stream.startswith("censor_")]  # a fact may have the same id
    return Story(censor, [Step(receipt, None, {}) for receipt in mine])
