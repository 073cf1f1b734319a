"""A replay: recorded events of one agent through the real workers, into a store of its own. The live one is only read.

as applied   transaction by transaction, in the order of the receipts: the same store again (as_applied.py)
by time      root events alone, one after another: what the order of arrival had changed (by_time.py)

given ──▶ events in their order ──▶ the workers (working.py), with recorded vectors and answers (recorded.py) ──▶ difference.py
"""

from collections.abc import Callable, Sequence
from typing import Literal

from store import receipts
from store.archive import Archived
from store.database import Database
from workers.runtime.worker import Kit

from . import by_time, given, schedule
from .as_applied import AsApplied
from .tally import Made, Tally
from .wanted import Wanted
from .working import Working

Order = Literal["applied", "occurred", "arrived"]


async def run(
    agent: str,
    live: Database,
    kit: Kit,
    wanted: Wanted,
    tally: Tally,
    *,
    order: Order = "applied",
    roots: Sequence[Archived] | None = None,
    on_made: Callable[[Made], None] = lambda _: None,
) -> None:
    """Replay an agent into the store of `kit`, whose mind is a RecordedMind; `roots` instead of the archive's, which have no receipts.

    Raises Outage, Contended and Misconfigured.
    """
    async with live.read([agent]) as db:
        steps = await receipts.steps(db, agent)
    await given.bring(live, kit.database, agent, gone=schedule.let_go(steps))
    was = {(step.worker, step.event_id): step.outcome for step in steps}
    planned = was.keys() if order == "applied" else ()
    working = Working(agent, kit, tally, was=was, planned=planned, on_made=on_made)
    if order == "applied":
        await AsApplied(working, live, wanted, tally).run(_before(steps, wanted.before))
    else:
        made = schedule.derived(steps, taken=schedule.taken_over(steps))
        found = roots if roots is not None else [row async for row in by_time.roots(live, agent, made)]
        await by_time.run(working, found, wanted, tally, when=by_time.occurred if order == "occurred" else by_time.arrived)
    await given.link_forgotten(live, kit.database, agent)


def _before(steps: Sequence[receipts.Step], event: str | None) -> Sequence[receipts.Step]:
    """What had happened before this event had its first effect."""
    at = next((number for number, step in enumerate(steps) if step.event_id == event), len(steps))
    return steps[:at]
