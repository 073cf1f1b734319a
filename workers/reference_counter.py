"""Reference counter: how often an answer was compared with what had been told, and how often it drew on that, each answer once.

memory_referenced ─┬─ compared, and its words or its id are in the answer ─▶ one more use, of one more answer; both fade by half in a week
                   ├─ compared, and they are not ─────────────────────────▶ one more answer that had no use for it
                   ├─ of a fact that is no longer true ───────────────────▶ for the one that is true instead
                   └─ of none that the agent has ─────────────────────────▶ left out, and named in the receipt

What is named as drawn on and not as compared is counted, and says nothing of what it is worth: nobody knows how often it was of no use.
"""

from collections.abc import Mapping, Sequence

from events import MemoryReferenced
from store.database import Write
from store.usage import Key, Usage
from workers.memories import counting
from workers.runtime.worker import Ending, Job, Kit, Worker


async def count(db: Write, jobs: Sequence[Job[MemoryReferenced, None]], kit: Kit) -> Sequence[Ending]:
    """Count which memories an answer was compared with, and which of them it drew on."""
    return await counting.counted(db, jobs, _add)


def _add(row: Usage, event: MemoryReferenced, key: Key, meant: Mapping[Key, Key]) -> Usage:
    drawn_on, compared = (
        any(meant.get((event.agent_id, one.kind, one.id)) == key for one in some) for some in (event.memories, event.compared)
    )
    return row.answered(event.occurred_at, drawn_on=drawn_on) if compared else row.drawn_on()


worker = Worker(on=MemoryReferenced, write=count, outcomes=counting.OUTCOMES)
