"""Supersession checker: what a new fact says again is merged with it, what it ends is retired, and nothing else is touched.

    fact_stored ─┬─ says the same as another ─────────────────▶ merged into the older one, every wording kept
                 ├─ another ceases to be true by it ──────────▶ superseded, with the time it ended
                 ├─ something claimed later says otherwise ───▶ it is retired itself: it arrived late
                 ├─ an assistant's word against the user's ───▶ disputed, both stay
                 ├─ the mind cannot tell ─────────────────────▶ unsure: both stay, until another mind or a person can
                 ├─ nothing of the kind ──────────────────────▶ kept
                 └─ no answer: away, over budget, nonsense ───▶ it waits, stored and recallable

One question is asked about a fact and at most ten candidates, several new facts at once (standing/). What follows from the answers is
a function of all claims and relations, so that every order of the same claims ends in the same state.
"""

from collections.abc import Sequence

from events import FactStored
from store.database import Write
from workers.runtime.worker import Ending, Job, Kit, Worker
from workers.standing import check
from workers.standing.account import PUBLISHES
from workers.standing.check import Considered

PATIENCE = 10  # time limits for a page: several questions to a mind, one after another


async def consider(events: Sequence[FactStored], kit: Kit) -> Sequence[Considered]:
    """Each new fact with its candidates, and what the mind says of each pair."""
    return await check.consider(events, kit, worker=worker.name)


async def supersede(db: Write, jobs: Sequence[Job[FactStored, Considered]], kit: Kit) -> Sequence[Ending]:
    """Merge a new fact with what it repeats, and retire what it ends."""
    return await check.settle(db, jobs, kit)


worker = Worker(on=FactStored, think=consider, write=supersede, outcomes=check.OUTCOMES, publishes=PUBLISHES, patience=PATIENCE, asks=True)
