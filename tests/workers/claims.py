"""What tests of a person's decisions share: where Maria lives, claimed at hours of one day, and a person who knows the rows."""

from datetime import datetime, timedelta
from typing import Any

from events import FactLearned
from store.facts import Fact
from tests.factories import a_fact_learned
from tests.workers.conftest import Memory
from workers.runtime.worker import Kit

DAY = datetime.fromisoformat("2026-03-01T00:00:00+00:00")
OSLO, BERGEN, ROME = "Maria lives in Oslo.", "Maria lives in Bergen.", "Maria lives in Rome."
TWIN, THIRD = "Oslo is where Maria lives.", "Maria's home is in Oslo."


def learned(content: str, hour: float, **over: Any) -> FactLearned:
    fields: dict[str, Any] = {"agent_id": "agent-1", "subject": "Maria", "provenance": "user_stated"}
    return a_fact_learned(content=content, occurred_at=DAY + timedelta(hours=hour), **fields | over)


class Deciding:
    """A person at a memory."""

    def __init__(self, memory: Memory, kit: Kit) -> None:
        self.memory = memory
        self.kit = kit

    async def row(self, content: str, *, at: float | None = None) -> Fact:
        """The row told in these words; of several the one that was claimed first at this hour."""
        rows = [fact for fact in await self.memory.facts() if fact.wording == content]
        if at is not None:
            rows = [fact for fact in rows if fact.valid_from == DAY + timedelta(hours=at)]
        [found] = rows
        return found
