"""Old notes: those of a procedure as they were before they were put together. They are kept for people, and so that it can be undone.

notes ──put together──▶ a row here, and few notes in their place ──a person puts them back──▶ the row stays, with when that was
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import many
from .database import Read, Write
from .procedures import Key


@dataclass(frozen=True)
class OldNotes:
    """One row of heart.old_notes: all `notes` as they were before this event; all of `instead` since; `promoted` became patterns.

    `model` is the mind that did it; None where nothing was asked, because all of them had been put together before.
    """

    agent_id: str
    procedure_id: UUID
    event_id: str
    notes: tuple[str, ...]
    instead: tuple[str, ...]
    promoted: tuple[str, ...]
    model: str | None
    put_at: datetime
    undone_at: datetime | None = None

    @property
    def key(self) -> Key:
        """(agent_id, procedure_id)."""
        return self.agent_id, self.procedure_id


_NAMES = many.columns(OldNotes)
_INSERT = text(many.inserting("heart.old_notes", _NAMES))
_LISTS = ("notes", "instead", "promoted")


async def of(db: Read, keys: Collection[Key]) -> dict[Key, list[OldNotes]]:
    """Everything that was put together of these procedures, in the order in which it was."""
    found: dict[Key, list[OldNotes]] = {}
    if keys:
        rows = await db.execute(
            text(
                f"SELECT {', '.join(f'o.{name}' for name in _NAMES)}"
                " FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, id) CROSS JOIN LATERAL (SELECT * FROM"
                " heart.old_notes one WHERE one.agent_id = q.agent_id AND one.procedure_id = q.id OFFSET 0) o ORDER BY o.put_at, o.event_id"
            ),
            many.apart(keys, "agents", "ids"),
        )
        for one in map(_old, rows):
            found.setdefault(one.key, []).append(one)
    return found


def standing(of_one: Iterable[OldNotes]) -> list[OldNotes]:
    """Those that no person undid."""
    return [one for one in of_one if one.undone_at is None]


async def put(db: Write, new: Sequence[OldNotes]) -> None:
    """Add rows."""
    if new:
        await db.execute(_INSERT, many.packed(map(vars, new)))


async def undo(db: Write, one: OldNotes, *, at: datetime) -> None:
    """Write down that a person put these notes back."""
    await db.execute(
        text("UPDATE heart.old_notes SET undone_at = :at WHERE agent_id = :agent AND procedure_id = :procedure AND event_id = :event"),
        {"at": at, "agent": one.agent_id, "procedure": one.procedure_id, "event": one.event_id},
    )


def _old(row: Any) -> OldNotes:
    return OldNotes(**{**row._mapping, **{name: tuple(getattr(row, name)) for name in _LISTS}})
