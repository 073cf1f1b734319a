"""What a person decides of a procedure's notes: that they are as they were before they were put together last.

notes as they were + those heard since ─▶ the procedure's notes; patterns promoted then ─▶ no longer core patterns
"""

from dataclasses import replace

from events import ProcedureRestored
from nous.errors import UserMistake
from nous.text import normalise
from store import old_notes, procedures
from store.database import Write
from store.procedures import Procedure


async def restore(db: Write, told: ProcedureRestored) -> tuple[Procedure, Procedure]:
    """Put the notes back that were put together last; gives the procedure before and after. Raises UserMistake when none were."""
    key = (told.agent_id, told.procedure_id)
    before = await procedures.get(db, *key)
    if before is None:
        raise UserMistake(f"agent {told.agent_id!r} has no procedure {told.procedure_id}; nous procedures shows what there is")
    put = old_notes.standing((await old_notes.of(db, [key])).get(key, []))
    if not put:
        raise UserMistake(f"the notes of {told.procedure_id} were not put together, or were put back already, so there is nothing to undo")
    last = put[-1]
    since = [one for one in before.implementation_notes if one not in last.instead]
    after = replace(
        before,
        implementation_notes=procedures.with_notes(last.notes, since).kept,
        core_patterns=_without(before.core_patterns, last.promoted),
        promoted_patterns=_without(before.promoted_patterns, last.promoted),
        recorded_at=told.occurred_at,
        recorded_by=told.event_id,
    ).with_brief()
    await procedures.put(db, [after])
    await old_notes.undo(db, last, at=told.occurred_at)
    return before, after


def _without(patterns: tuple[str, ...], promoted: tuple[str, ...]) -> tuple[str, ...]:
    gone = {normalise(one) for one in promoted}
    return tuple(one for one in patterns if normalise(one) not in gone)
