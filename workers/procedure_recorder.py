"""Procedure recorder: how something is done, as it was stated last.

procedure_learned ─┬─ a new id ────────────▶ kept
                   ├─ it says more ────────▶ brought up to date: name, goals and core patterns each as stated last, notes added
                   ├─ it says nothing new ─▶ known, and when it was said last is kept
                   └─ it says nothing ─────▶ skipped

What an event leaves out it does not take away: without goals it leaves those that are known, without a name the name. "Last" is by the
time of the events, so the same events end in the same procedure in any order; notes stand in the order in which they were heard. Of more
notes than a procedure has room for (store.procedures) the oldest are left out, and the receipt says which and why. Patterns that were
promoted from notes, because they proved useful, stay behind whatever is stated.
"""

from dataclasses import replace
from datetime import datetime

from events import ProcedureLearned
from nous import clock
from nous.text import is_blank
from store import procedures
from store.procedures import Key, Notes, Procedure
from workers.runtime.worker import Done, Ending, Kit, Skip, Worker, on_rows

OUTCOMES = ("learned", "updated", "known")

SAID = ("name", "goals", "core_patterns", "implementation_notes")
"""What it says of the procedure: when and by which event that was said is no news."""


def record(known: Procedure | None, event: ProcedureLearned, kit: Kit) -> tuple[Ending, Procedure | None]:
    """Keep how something is done, or bring up to date what is known of it."""
    if all(map(is_blank, (event.name, *event.goals, *event.core_patterns, *event.implementation_notes))):
        return Skip("it has no name and says nothing"), known
    before = known or _first(event)
    notes = procedures.with_notes(before.implementation_notes, event.implementation_notes)
    learned = replace(_brought_up_to_date(before, event), implementation_notes=notes.kept)
    outcome = "learned" if known is None else "updated" if _changed(known, learned) else "known"
    evidence = {"brief": learned.brief} if outcome == "known" else _evidence(known, learned, notes)
    ending = Done(outcome, about=event.procedure_id, reason=notes.why, evidence=evidence)
    return ending, known if learned == known else replace(learned, recorded_at=clock.now(), recorded_by=event.event_id)


def _first(event: ProcedureLearned) -> Procedure:
    now = clock.now()
    return Procedure(
        agent_id=event.agent_id,
        procedure_id=event.procedure_id,
        name=event.name,
        brief="",
        learned_at=event.occurred_at,
        learned_by=event.event_id,
        created_at=now,
        recorded_at=now,
        recorded_by=event.event_id,
    )


def _brought_up_to_date(known: Procedure, event: ProcedureLearned) -> Procedure:
    """With what the event states of name, goals and core patterns, each unless it was stated later."""
    changes: dict[str, object] = {}
    if _is_named_by(event, known):
        changes |= {"name": event.name, "learned_at": event.occurred_at, "learned_by": event.event_id}
    for name in ("goals", "core_patterns"):
        stated = tuple(one for one in getattr(event, name) if not is_blank(one))
        if stated and _is_later(event, getattr(known, f"{name}_at"), getattr(known, f"{name}_by")):
            stated = procedures.with_patterns(stated, known.promoted_patterns) if name == "core_patterns" else stated
            changes |= {name: stated, f"{name}_at": event.occurred_at, f"{name}_by": event.event_id}
    return replace(known, **changes).with_brief()  # type: ignore[arg-type]


def _is_named_by(event: ProcedureLearned, known: Procedure) -> bool:
    """A later name is the name; a blank one is none, however late."""
    stated, stands = not is_blank(event.name), not is_blank(known.name)
    return (stated, event.occurred_at, event.event_id) > (stands, known.learned_at, known.learned_by)


def _is_later(event: ProcedureLearned, at: datetime | None, by: str | None) -> bool:
    return at is None or by is None or (event.occurred_at, event.event_id) > (at, by)


def _changed(before: Procedure, after: Procedure) -> list[str]:
    return [name for name in SAID if getattr(before, name) != getattr(after, name)]


def _evidence(before: Procedure | None, after: Procedure, notes: Notes) -> dict[str, object]:
    """What it says of the procedure now, and what it said before where that is another thing."""
    changed = {f"{name}_before": getattr(before, name) for name in (_changed(before, after) if before else ())}
    return {**{name: getattr(after, name) for name in SAID}, **changed, **notes.evidence, "brief": after.brief}


def _key(event: ProcedureLearned) -> Key:
    return event.agent_id, event.procedure_id


worker = Worker(on=ProcedureLearned, write=on_rows(_key, procedures.by_key, procedures.put, record), outcomes=OUTCOMES)
