"""Fact janitor: what is old and was never found counts for less, and later is no longer active. Nothing is deleted.

    fact_unused ─┬─ found, drawn on, pinned, heard again, superseded or forgotten meanwhile ▶ skipped
                 ├─ demote ──▶ demoted: its confidence counts by a factor less, and who vouches for it one notch less
                 └─ archive ─▶ archived: not active, still true as far as anybody knows; heard again it comes back

The claim keeps its provenance and its confidence: what is done to it stands beside them, and ends when the fact is heard again, is found
(while it is only demoted), or a person says so (`nous fact restore`). Which rule holds, and since when: workers/upkeep/facts.py.
"""

from dataclasses import replace

from events import FactUnused
from nous import clock
from store import facts, unused
from store.database import Write
from store.facts import Fact
from workers.memories import keeping
from workers.runtime.worker import Done, Ending, Kit, Skip, Worker, each
from workers.upkeep.facts import Rules, rules

OUTCOMES = ("demoted", "archived")


async def tidy(db: Write, event: FactUnused, kit: Kit) -> Ending:
    """Demote or archive a fact that is old and was never found."""
    ruled, archive = await rules(db, kit.settings, event.occurred_at), event.step == "archive"
    if kit.settings.janitor == "dry-run":
        return Skip("the janitor only looks by these settings (NOUS_JANITOR)")
    looked = await unused.look(db, (event.agent_id, event.fact_id))
    if looked is None:
        return Skip(f"agent {event.agent_id!r} has no fact {event.fact_id}")
    if why_not := ruled.why_not(looked, archive=archive):
        return Skip(why_not)
    before = looked.fact
    after = _archived(before, event) if archive else _demoted(before, event, ruled)
    await facts.keep(db, [after.recorded(clock.now(), by=event.event_id)])
    change = keeping.changed(before, after)
    return Done("archived" if archive else "demoted", about=event.fact_id, reason=ruled.why(before), evidence={"changed": [change]})


def _demoted(fact: Fact, event: FactUnused, ruled: Rules) -> Fact:
    return replace(fact, demoted_at=event.occurred_at, demoted_to=ruled.by_provenance[fact.provenance].factor)


def _archived(fact: Fact, event: FactUnused) -> Fact:
    return replace(fact, active=False, archived_at=event.occurred_at)


worker = Worker(on=FactUnused, write=each(tidy), outcomes=OUTCOMES)
