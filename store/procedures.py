"""Procedures: how something is done, and how often it worked."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous.text import normalise

from . import briefs, many, unembedded, words
from .database import Read, Write

MOST_NOTES = 200
"""Notes of one procedure. Those that were heard last are kept: what was found out lately holds, and the early ones are in their events.

Where a mind puts them together (workers/procedure_consolidator.py) there are seldom more than NOUS_PROCEDURE_NOTES; the bound is for where
none does, and for what comes between two runs.
"""


@dataclass(frozen=True)
class Procedure:
    """One row of heart.procedures; `brief` is its line in recall. `promoted_patterns` are those of its core patterns that were notes.

    Its name was last stated at `learned_at` by the event `learned_by`, its goals and its core patterns at times and by events of their
    own: each is what was stated last, in whatever order it arrived.
    """

    agent_id: str
    procedure_id: UUID
    name: str
    brief: str
    learned_at: datetime
    learned_by: str
    created_at: datetime
    recorded_at: datetime
    recorded_by: str
    goals: tuple[str, ...] = ()
    goals_at: datetime | None = None
    goals_by: str | None = None
    core_patterns: tuple[str, ...] = ()
    core_patterns_at: datetime | None = None
    core_patterns_by: str | None = None
    implementation_notes: tuple[str, ...] = ()
    activation_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    last_activated: datetime | None = None
    active: bool = True
    promoted_patterns: tuple[str, ...] = ()

    @property
    def effectiveness(self) -> float | None:
        """The share of uses that are known to have worked, 0 to 1; None while nothing is known."""
        known = self.success_count + self.failure_count
        return self.success_count / known if known else None

    @property
    def said(self) -> str:
        """What it is found by: its name, what it is for, and how it is done."""
        return words.joined([self.name, *self.goals, *self.core_patterns, *self.implementation_notes])

    def with_brief(self) -> "Procedure":
        """It, with the line that follows from what it says and how often it worked."""
        brief = briefs.procedure(self.name, self.core_patterns, activations=self.activation_count, effectiveness=self.effectiveness)
        return replace(self, brief=brief)


@dataclass(frozen=True)
class Notes:
    """A procedure's notes in the order in which they were heard, and those it has no room for: they stay in the events that said them."""

    kept: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def evidence(self) -> dict[str, object]:
        """Which were left out, for a receipt."""
        return {"notes_left_out": self.left_out} if self.left_out else {}

    @property
    def why(self) -> str | None:
        """Why some were left out, if any were."""
        if not self.left_out:
            return None
        every = len(self.left_out) + len(self.kept)
        return f"the oldest {len(self.left_out)} of {every} notes left out: a procedure keeps the {MOST_NOTES} that were heard last"


Key = tuple[str, UUID]
"""(agent_id, procedure_id): no agent can take another's id."""

_NAMES = many.columns(Procedure)
_COLUMNS = ", ".join(_NAMES)
_PUT = text(many.upserting("heart.procedures", (*_NAMES, *words.COLUMNS), key=("agent_id", "procedure_id"), fixed=("created_at",)))
_BY_KEY = text(many.reading("heart.procedures", _NAMES, key="procedure_id"))
_LISTS = ("goals", "core_patterns", "implementation_notes", "promoted_patterns")


def with_notes(known: tuple[str, ...], heard: Iterable[str]) -> Notes:
    """The notes that are known and, after them, what was heard and says something that none of them says in the same words.

    Of more than MOST_NOTES the oldest are left out.
    """
    said = [(key, note) for note in heard if (key := normalise(note))]
    if not said:
        return Notes(known)
    notes = {normalise(note): note for note in known}
    for key, note in said:
        notes.setdefault(key, note)
    every = tuple(notes.values())
    return Notes(every[-MOST_NOTES:], every[:-MOST_NOTES])


def with_patterns(known: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    """The patterns that are known and, after them, those that say something that none of them says in the same words."""
    said = {normalise(one) for one in known}
    return (*known, *(one for one in more if normalise(one) not in said))


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Procedure]:
    """The procedures of these keys; a key that is not there is left out."""
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "ids"))
    return {(one.agent_id, one.procedure_id): one for one in map(_procedure, rows)}


async def get(db: Read, agent: str, procedure: UUID) -> Procedure | None:
    """The agent's procedure; None when it has none of that id, whoever else may."""
    return (await by_key(db, [(agent, procedure)])).get((agent, procedure))


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[Procedure]:
    """Procedures whose id lies between these two; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.procedures WHERE procedure_id BETWEEN :first AND :last"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY agent_id, procedure_id LIMIT :limit"
        ),
        {"first": first, "last": last, "agent": agent, "limit": limit},
    )
    return [_procedure(row) for row in rows]


async def put(db: Write, changed: Sequence[Procedure]) -> None:
    """Write these down as they are now; what says something new waits for its vector."""
    if changed:
        await db.execute(_PUT, many.packed([{**vars(one), **words.kept(one.said)} for one in changed]))
        await unembedded.add(db, "procedure", {(one.agent_id, one.procedure_id): one.said for one in changed})


_PILED_UP = (
    "active AND cardinality(implementation_notes) > :most + coalesce((SELECT CASE WHEN o.undone_at IS NULL THEN 0"
    " ELSE cardinality(o.notes) END FROM heart.old_notes o WHERE o.agent_id = p.agent_id AND o.procedure_id = p.procedure_id"
    " ORDER BY o.put_at DESC, o.event_id DESC LIMIT 1), 0)"
)
"""More notes than are read, beside those that a person put back."""


async def piled_up(db: Read, agent: str, *, most: int, after: UUID | None, limit: int) -> list[Procedure]:
    """The agent's procedures with more than so many notes, those not counted that a person put back, by id behind `after`."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.procedures p WHERE agent_id = :agent AND {_PILED_UP}"
            " AND (CAST(:after AS uuid) IS NULL OR procedure_id > :after) ORDER BY procedure_id LIMIT :limit"
        ),
        {"agent": agent, "most": most, "after": after, "limit": limit},
    )
    return [_procedure(row) for row in rows]


async def piling(db: Read, *, most: int) -> list[str]:
    """Every agent that has such a procedure; needs an overview."""
    rows = await db.execute(text(f"SELECT DISTINCT agent_id FROM heart.procedures p WHERE {_PILED_UP} ORDER BY 1"), {"most": most})
    return [row.agent_id for row in rows]


async def listed(db: Read, *, agent: str | None, limit: int | None = None) -> list[Procedure]:
    """Active procedures for a person to read, by name; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.procedures WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent) AND active"
            " ORDER BY agent_id, name, procedure_id LIMIT :limit"
        ),
        {"agent": agent, "limit": limit},
    )
    return [_procedure(row) for row in rows]


def _procedure(row: Any) -> Procedure:
    return Procedure(**{**row._mapping, **{name: tuple(getattr(row, name)) for name in _LISTS}})
