"""Supersession rechecker: how a fact stands is looked at again when something changed that its last check did not see.

    fact_unsettled ─┬─ claimed again ────▶ nothing is asked: its new time alone may change what stands
                    ├─ retired another ──▶ compared with the next of its subject and likely twins, until nothing is retired any more
                    ├─ may have missed ──▶ compared with the next, of any subject, until nothing new bears on it
                    ├─ freed, by a person or a late claim ▶ compared with what was claimed while it did not stand
                    └─ asked again ──────▶ another mind is asked what no mind could tell

It does what the supersession checker does, for facts that were checked before; what is known to merge or conflict is not compared again.
"""

from collections.abc import Sequence

from events import FactUnsettled
from store.database import Write
from workers.runtime.worker import Ending, Job, Kit, Worker
from workers.standing import check
from workers.standing.account import PUBLISHES
from workers.standing.check import Considered

PATIENCE = 10


async def consider(events: Sequence[FactUnsettled], kit: Kit) -> Sequence[Considered]:
    """Each fact with its candidates, and what the mind says of each pair."""
    return await check.consider(events, kit, worker=worker.name)


async def look_again(db: Write, jobs: Sequence[Job[FactUnsettled, Considered]], kit: Kit) -> Sequence[Ending]:
    """Settle again how a fact stands to others."""
    return await check.settle(db, jobs, kit)


worker = Worker(
    on=FactUnsettled, think=consider, write=look_again, outcomes=check.OUTCOMES, publishes=PUBLISHES, patience=PATIENCE, asks=True
)
