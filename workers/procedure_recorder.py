"""Procedure recorder: how something is done, as it was stated last.

procedure_learned ─┬─ a new id ────────────▶ kept
                   ├─ it says more ────────▶ brought up to date: name, goals and core patterns each as stated last, notes added
                   ├─ it says nothing new ─▶ known
                   └─ it says nothing ─────▶ skipped

What an event leaves out it does not take away: without goals it leaves those that are known. "Last" is by the time of the events, so the
same events end in the same procedure in any order; notes stand in the order in which they were heard.
"""

from dataclasses import replace
from datetime import datetime

from events import ProcedureLearned
from nous import clock
from nous.text import is_blank
from store import briefs, procedures
from store.database import Write
from store.procedures import Procedure
from workers.runtime.worker import Done, Ending, Kit, Skip, Worker, each

OUTCOMES = ("learned", "updated", "known")


async def record(db: Write, event: ProcedureLearned, kit: Kit) -> Ending:
    """Keep how something is done, or bring up to date what is known of it."""
    if all(map(is_blank, (event.name, *event.goals, *event.core_patterns, *event.implementation_notes))):
        return Skip("it has no name and says nothing")
    known = await procedures.get(db, event.agent_id, event.procedure_id)
    learned = _brought_up_to_date(known, event) if known else _first(event)
    if learned == known:
        return Done("known", about=event.procedure_id, evidence={"brief": learned.brief})
    now = clock.now()
    await procedures.put(db, replace(learned, recorded_at=now, recorded_by=event.event_id, created_at=known.created_at if known else now))
    return Done("updated" if known else "learned", about=event.procedure_id, evidence=_evidence(known, learned))


def _first(event: ProcedureLearned) -> Procedure:
    blank = Procedure(
        agent_id=event.agent_id,
        procedure_id=event.procedure_id,
        name=event.name,
        brief="",
        learned_at=event.occurred_at,
        learned_by=event.event_id,
        created_at=event.occurred_at,
        recorded_at=event.occurred_at,
        recorded_by=event.event_id,
    )
    return _brought_up_to_date(blank, event)


def _brought_up_to_date(known: Procedure, event: ProcedureLearned) -> Procedure:
    """With what the event states of name, goals and core patterns, each unless it was stated later, and with its notes."""
    changes: dict[str, object] = {"implementation_notes": procedures.with_notes(known.implementation_notes, event.implementation_notes)}
    if _is_later(event, known.learned_at, known.learned_by):
        changes |= {"name": event.name, "learned_at": event.occurred_at, "learned_by": event.event_id}
    for name in ("goals", "core_patterns"):
        stated = tuple(one for one in getattr(event, name) if not is_blank(one))
        if stated and _is_later(event, getattr(known, f"{name}_at"), getattr(known, f"{name}_by")):
            changes |= {name: stated, f"{name}_at": event.occurred_at, f"{name}_by": event.event_id}
    changed = replace(known, **changes)  # type: ignore[arg-type]
    brief = briefs.procedure(changed.name, changed.core_patterns, activations=changed.activation_count, effectiveness=changed.effectiveness)
    return replace(changed, brief=brief)


def _is_later(event: ProcedureLearned, at: datetime | None, by: str | None) -> bool:
    return at is None or by is None or (event.occurred_at, event.event_id) > (at, by)


def _evidence(before: Procedure | None, after: Procedure) -> dict[str, object]:
    """What it says of the procedure now, and what it said before where that is another thing."""
    names = ("name", "goals", "core_patterns", "implementation_notes")
    changed = {f"{name}_before": getattr(before, name) for name in names if before and getattr(before, name) != getattr(after, name)}
    return {**{name: getattr(after, name) for name in names}, **changed, "brief": after.brief}


worker = Worker(on=ProcedureLearned, write=each(record), outcomes=OUTCOMES)
