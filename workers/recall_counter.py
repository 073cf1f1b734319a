"""Recall counter: how often a memory was found for a question, and how often it was told, each recall once.

memory_recalled ─┬─ told, or only found ──────────▶ two counts; neither says what it is worth
                 ├─ of a fact that is no longer true ▶ for the one that is true instead
                 └─ of none that the agent has ─────▶ left out, and named in the receipt
"""

from collections.abc import Mapping, Sequence

from events import MemoryRecalled, RecalledMemory
from store.database import Write
from store.usage import Key, Usage
from workers.memories import counting
from workers.runtime.worker import Ending, Job, Kit, Worker


async def count(db: Write, jobs: Sequence[Job[MemoryRecalled, None]], kit: Kit) -> Sequence[Ending]:
    """Count which memories were found for a question, and which of them were told."""
    return await counting.counted(db, jobs, _add)


def _add(row: Usage, event: MemoryRecalled, key: Key, meant: Mapping[Key, Key]) -> Usage:
    named = counting.named(event).items()
    was_told = any(isinstance(one, RecalledMemory) and one.injected for name, one in named if meant.get(name) == key)
    return row.recalled(injected=was_told)


worker = Worker(on=MemoryRecalled, write=count, outcomes=counting.OUTCOMES)
