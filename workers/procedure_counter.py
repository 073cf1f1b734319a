"""Procedure counter: how often a procedure was used and how that went, each use once.

procedure_used ─┬─ it worked, it failed, or nobody knows ─▶ counted, the note added, the brief brought up to date
                └─ no such procedure of this agent ────────▶ looked at again, for it may have overtaken it; then parked

Of more notes than a procedure has room for (store.procedures) the oldest are left out, and the receipt says which and why.
"""

from dataclasses import replace

from events import ProcedureUsed
from nous import clock
from store import procedures
from store.procedures import Key, Notes, Procedure
from workers.runtime import overtaken
from workers.runtime.worker import Done, Ending, Kit, Worker, on_rows

OUTCOMES = ("worked", "failed", "used")


def count(procedure: Procedure | None, event: ProcedureUsed, kit: Kit) -> tuple[Ending, Procedure | None]:
    """Count one use of a procedure, and whether it worked."""
    if procedure is None:
        known = f"agent {event.agent_id!r} has no procedure {event.procedure_id}"
        return overtaken.wait_for(f"{known}; teach it (procedure_learned), then publish the use again under the same event_id", kit), None
    notes = procedures.with_notes(procedure.implementation_notes, [event.note] if event.note else [])
    used = _counted(replace(procedure, implementation_notes=notes.kept), event)
    outcome = "used" if event.worked is None else "worked" if event.worked else "failed"
    ending = Done(outcome, about=used.procedure_id, reason=notes.why, evidence=_evidence(used, event, notes))
    return ending, replace(used, recorded_at=clock.now(), recorded_by=event.event_id)


def _counted(procedure: Procedure, event: ProcedureUsed) -> Procedure:
    return replace(
        procedure,
        activation_count=procedure.activation_count + 1,
        success_count=procedure.success_count + (event.worked is True),
        failure_count=procedure.failure_count + (event.worked is False),
        last_activated=max(procedure.last_activated or event.occurred_at, event.occurred_at),
    ).with_brief()


def _evidence(used: Procedure, event: ProcedureUsed, notes: Notes) -> dict[str, object]:
    names = ("activation_count", "success_count", "failure_count", "brief")
    return {**{name: getattr(used, name) for name in names}, "note": event.note, **notes.evidence}


def _key(event: ProcedureUsed) -> Key:
    return event.agent_id, event.procedure_id


worker = Worker(on=ProcedureUsed, write=on_rows(_key, procedures.by_key, procedures.put, count), outcomes=OUTCOMES)
