"""Reference counter: how often an answer drew on what had been told, each answer once.

memory_referenced ─┬─ its words, or its id, are in the answer ─▶ one more use, which fades by half in a week
                   ├─ of a fact that is no longer true ────────▶ for the one that is true instead
                   └─ of none that the agent has ──────────────▶ left out, and named in the receipt
"""

from collections.abc import Mapping, Sequence

from events import MemoryReferenced
from store.database import Write
from store.usage import Key, Usage
from workers import counting
from workers.runtime.worker import Ending, Job, Kit, Worker


async def count(db: Write, jobs: Sequence[Job[MemoryReferenced, None]], kit: Kit) -> Sequence[Ending]:
    """Count which of the memories that were told an answer drew on."""
    return await counting.counted(db, jobs, _add)


def _add(row: Usage, event: MemoryReferenced, _key: Key, _meant: Mapping[Key, Key]) -> Usage:
    return row.drawn_on(event.occurred_at)


worker = Worker(on=MemoryReferenced, write=count, outcomes=counting.OUTCOMES)
