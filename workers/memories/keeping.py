"""What upkeep did to a fact, and what ended that, as receipts tell it: which of it changed, what it was and what it is now.

demoted or archived ─┬─ heard again ──────────▶ deduplicator, supersession checker ─┐
                     ├─ found for a question ─▶ recall and reference counter ───────┼─▶ at hand again, and it says so
                     └─ a person says so ─────▶ nous fact restore ──────────────────┘
"""

from collections.abc import Collection
from typing import Any

from nous import clock
from store import facts
from store.database import Write
from store.facts import KEPT_UP, Fact, Key


def changed(before: Fact, after: Fact) -> dict[str, Any] | None:
    """What of it upkeep, or a person about it, changed, for a receipt's `changed`; None if nothing did."""
    names = [name for name in ("active", *KEPT_UP) if getattr(before, name) != getattr(after, name)]
    if not names:
        return None
    now, was = ({name: getattr(one, name) for name in names} for one in (after, before))
    return {"fact_id": str(after.fact_id), "now": now, "was": was}


def undone(fact: Fact) -> str:
    """What is over, of a fact that upkeep had touched."""
    return "no longer archived" if fact.archived_at else "no longer demoted"


async def found(db: Write, keys: Collection[Key], *, by: dict[Key, str]) -> dict[Key, dict[str, Any]]:
    """What was demoted and is found, or drawn on, counts in full again: for each of these facts of which that is so, what changed.

    `by` names the event that each was found by.
    """
    now = clock.now()
    before = await facts.demoted(db, keys)
    after = {key: fact.at_hand(since=now).recorded(now, by=by[key]) for key, fact in before.items()}
    await facts.keep(db, list(after.values()))
    return {key: told for key, fact in after.items() if (told := changed(before[key], fact))}
