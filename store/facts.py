"""Facts: what an agent remembers, one row each, and the words for changing them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text

from nous.text import normalise

from . import many, words
from .database import Read, Write


@dataclass(frozen=True)
class Fact:
    """One row of heart.facts. Times are aware UTC; `valid_*` is the world's time, `created_at` and `recorded_at` ours.

    `content` is what is recalled; where a richer wording of another row is shown, `own_content` keeps the row's own. `stored_by` is the
    event it began with, `recorded_by` the one that changed it last. What was forgotten is a row without words (forgetting.py).

    Upkeep, and people about it, write what follows from no claim: `pinned_at`, it is let be; `demoted_at`, it counts for less, its
    confidence times `demoted_to`; `archived_at`, it is inactive though nothing says otherwise; `reinstated_at`, its age counts from then.
    """

    agent_id: str
    fact_id: UUID
    content: str
    content_hash: bytes
    subject: str | None
    attribute: str | None
    provenance: str
    confidence: float
    source: str | None
    active: bool
    superseded_by: UUID | None
    merged_into: UUID | None
    valid_from: datetime
    valid_to: datetime | None
    claimed_at: datetime
    claimed_by: str
    confirmation_count: int
    last_confirmed: datetime | None
    created_at: datetime
    text_key: bytes
    stored_by: str
    own_content: str | None
    disputes: UUID | None
    recorded_at: datetime
    recorded_by: str
    forgotten_at: datetime | None = None
    pinned_at: datetime | None = None
    demoted_at: datetime | None = None
    demoted_to: float | None = None
    archived_at: datetime | None = None
    reinstated_at: datetime | None = None

    @property
    def key(self) -> "Key":
        """(agent_id, fact_id)."""
        return self.agent_id, self.fact_id

    @property
    def wording(self) -> str:
        """The words it was first told in, whichever are shown."""
        return self.own_content or self.content

    @property
    def is_so(self) -> bool:
        """Whether nothing says otherwise: it is active, or archived, which says nothing of its truth."""
        return self.active or self.archived_at is not None

    def recorded(self, at: datetime, *, by: str) -> "Fact":
        """It, as an event changed it at this time of ours."""
        return replace(self, recorded_at=at, recorded_by=by)

    def at_hand(self, *, since: datetime) -> "Fact":
        """It, as if upkeep had never touched it; what it did is over, and the fact's age counts anew from `since`."""
        if self.demoted_at is None and self.archived_at is None:
            return self
        return replace(
            self,
            active=self.active or self.archived_at is not None,
            demoted_at=None,
            demoted_to=None,
            archived_at=None,
            reinstated_at=since,
        )


Key = tuple[str, UUID]
"""(agent_id, fact_id): no agent can take another's id."""

BY_UPKEEP = ("demoted_at", "demoted_to", "archived_at", "reinstated_at")
"""What upkeep writes of a fact, and what is heard or found ends; beside them it writes `active`."""

KEPT_UP = ("pinned_at", *BY_UPKEEP)
"""The same, with what only a person writes: all that follows from no claim."""

_NAMES = many.columns(Fact)
_COLUMNS = ", ".join(f"f.{name}" for name in _NAMES)

_BY_KEY = text(many.reading("heart.facts", _NAMES, key="fact_id"))
_INSERT = text(many.inserting("heart.facts", (*_NAMES, "subject_key", *words.COLUMNS)))

_CONFIRMABLE = (
    "provenance",
    "confidence",
    "valid_from",
    "claimed_at",
    "claimed_by",
    "confirmation_count",
    "last_confirmed",
    "recorded_at",
    "recorded_by",
)
_STANDING = (*words.COLUMNS, "content", "content_hash", "own_content", "superseded_by", "merged_into", "disputes", "valid_to")


def _updating(names: Collection[str]) -> TextClause:
    """The statement that writes these columns of many facts."""
    changes = ", ".join(f"{name} = q.{name}" for name in names)
    found = "f.agent_id = q.agent_id AND f.fact_id = q.fact_id"
    return text(f"UPDATE heart.facts f SET {changes} FROM {many.these('heart.facts')} WHERE {found}")


_CONFIRM = _updating((*_CONFIRMABLE, "active", *BY_UPKEEP))
_CHANGE = _updating((*_CONFIRMABLE, *_STANDING, "active", *BY_UPKEEP))
_KEEP = _updating(("active", *KEPT_UP, "recorded_at", "recorded_by"))


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Fact]:
    """The facts of these keys; a key that is not there is left out."""
    if not keys:
        return {}
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "ids"))
    return {(row.agent_id, row.fact_id): _fact(row) for row in rows}


async def demoted(db: Read, keys: Collection[Key]) -> dict[Key, Fact]:
    """Those of these facts that upkeep demoted and that are active."""
    if not keys:
        return {}
    rows = await db.execute(text(f"{_BY_KEY.text} WHERE f.demoted_at IS NOT NULL AND f.active"), many.apart(keys, "agents", "ids"))
    return {(row.agent_id, row.fact_id): _fact(row) for row in rows}


async def insert(db: Write, new: Sequence[Fact]) -> None:
    """Add rows."""
    if new:
        stored = [{**vars(fact), "subject_key": subject_key(fact.subject), **words_of(fact)} for fact in new]
        await db.execute(_INSERT, many.packed(stored))


async def confirm(db: Write, changed: Sequence[Fact]) -> None:
    """Write what a confirmation changes: trust, counts and times, what upkeep had done to it, never the wording."""
    if changed:
        await db.execute(_CONFIRM, many.packed(map(vars, changed)))


async def keep(db: Write, changed: Sequence[Fact]) -> None:
    """Write what upkeep did to facts, or a person against it; nothing else of them."""
    if changed:
        await db.execute(_KEEP, many.packed(map(vars, changed)))


async def change(db: Write, changed: Sequence[Fact]) -> None:
    """Write how facts stand now. What ceases to be active is written first: two active facts never say the same of the same."""
    for rows in ([fact for fact in changed if not fact.active], [fact for fact in changed if fact.active]):
        if rows:
            await db.execute(_CHANGE, many.packed([{**vars(fact), **words_of(fact)} for fact in rows]))


async def by_text(db: Read, agent: str, text_keys: Collection[bytes]) -> list[Fact]:
    """Every fact of the agent that says one of these texts, whatever became of it."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM heart.facts f WHERE f.agent_id = :agent AND f.text_key = ANY(CAST(:keys AS bytea[]))"),
        {"agent": agent, "keys": list(text_keys)},
    )
    return [_fact(row) for row in rows]


async def forgotten(db: Read, keys: Collection[Key]) -> set[Key]:
    """Those of these facts that were forgotten: there is a row of that id, and it has no words."""
    return await _those(db, keys, "f.forgotten_at IS NOT NULL")


async def still_so(db: Read, keys: Collection[Key]) -> set[Key]:
    """Those of these facts that stand for themselves and that nothing says otherwise of."""
    return await _those(db, keys, is_so("f"))


async def _those(db: Read, keys: Collection[Key], rule: str) -> set[Key]:
    """Those of these facts of which the rule about the row `f` holds."""
    if not keys:
        return set()
    rows = await db.execute(
        text(
            "SELECT f.agent_id, f.fact_id FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, fact_id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = q.agent_id AND one.fact_id = q.fact_id OFFSET 0) f"
            f" WHERE {rule}"
        ),
        many.apart(keys, "agents", "ids"),
    )
    return {(row.agent_id, row.fact_id) for row in rows}


async def subjects(db: Read, agents: Collection[str]) -> dict[str, list[str]]:
    """The folded subjects of each agent's active facts."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT agent_id, subject_key FROM heart.facts"
            " WHERE agent_id = ANY(CAST(:agents AS text[])) AND active AND subject_key IS NOT NULL"
        ),
        {"agents": list(agents)},
    )
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.agent_id, []).append(row.subject_key)
    return found


async def listed(
    db: Read, *, agent: str | None, inactive: bool, limit: int | None, as_of: datetime | None = None, pinned: bool = False
) -> list[Fact]:
    """Facts for a person to read, oldest first; every agent's when `agent` is None (and the session is an overview).

    With `as_of`, those that were true then, as far as is known now; with `inactive`, whatever was claimed by then; with `pinned` only
    those that a person pinned.
    """
    which = f"{wanted(as_of)}{' AND f.pinned_at IS NOT NULL' if pinned else ''}"
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.facts f WHERE (CAST(:agent AS text) IS NULL OR f.agent_id = :agent)"
            f" AND f.forgotten_at IS NULL AND {which} ORDER BY {ORDER} LIMIT :limit"
        ),
        {"agent": agent, "inactive": inactive, "limit": limit, **({"as_of": as_of} if as_of else {})},
    )
    return [_fact(row) for row in rows]


@dataclass(frozen=True)
class First:
    """When the first facts were recorded, and from when on the first of them are true."""

    recorded_at: datetime
    claimed_for: datetime


async def first(db: Read, *, agent: str | None) -> First | None:
    """When there first was a fact that is not forgotten; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            "SELECT min(created_at) AS recorded_at, min(valid_from) AS claimed_for FROM heart.facts"
            " WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent) AND forgotten_at IS NULL"
        ),
        {"agent": agent},
    )
    row = rows.one()
    return First(row.recorded_at, row.claimed_for) if row.recorded_at else None


ORDER = "f.agent_id, f.valid_from, f.created_at, f.fact_id"
"""Of facts `f` for a person to read: agent by agent in the order claimed, what was claimed at once in the order stored."""


def wanted(as_of: datetime | None) -> str:
    """Which facts `f` are listed, by the parameters `inactive` and `as_of`."""
    if as_of is None:
        return "(f.active OR :inactive)"
    return f"f.valid_from <= :as_of AND (:inactive OR {true_then('f')} AND {at_hand_then('f')})"


def true_then(of: str) -> str:
    """Which of the rows `of`, facts that had begun by the parameter `as_of`, were true then; what was archived is true as before."""
    return f"{of}.merged_into IS NULL AND ({of}.valid_to > :as_of OR {of}.valid_to IS NULL AND ({is_so(of)}))"


def is_so(of: str) -> str:
    """Which of the rows `of` nothing says otherwise of: those that are active, and those that were archived."""
    return f"{of}.active OR {of}.archived_at IS NOT NULL"


def claimed_after(later: str, earlier: str) -> str:
    """Which of the rows `later` were last claimed after those `earlier`: of claims of one moment the id of the event tells."""
    return f'({later}.claimed_at, {later}.claimed_by COLLATE "C") > ({earlier}.claimed_at, {earlier}.claimed_by COLLATE "C")'


def at_hand_then(of: str) -> str:
    """Which of the rows `of` had not been archived by the parameter `as_of`."""
    return f"({of}.archived_at IS NULL OR {of}.archived_at > :as_of)"


async def saying(db: Read, said: str, *, agent: str | None, inactive: bool, limit: int, as_of: datetime | None = None) -> list[Fact]:
    """Facts with these words in them or in their subject, in any case, the latest claimed first; of every agent when `agent` is None.

    Every fact of the agent is looked at, or of all agents.
    """
    escaped = said.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.facts f WHERE (CAST(:agent AS text) IS NULL OR f.agent_id = :agent)"
            f" AND f.forgotten_at IS NULL AND {wanted(as_of)} AND (f.content ILIKE :pattern OR f.subject ILIKE :pattern)"
            " ORDER BY f.claimed_at DESC, f.agent_id, f.fact_id LIMIT :limit"
        ),
        {
            "agent": agent,
            "inactive": inactive,
            "limit": limit,
            "pattern": f"%{escaped}%",
            **({"as_of": as_of} if as_of else {}),
        },
    )
    return [_fact(row) for row in rows]


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[Key]:
    """The facts whose own ids are from `first` to `last`; of every agent when `agent` is None."""
    rows = await db.execute(
        text(
            "SELECT agent_id, fact_id FROM heart.facts WHERE fact_id BETWEEN :first AND :last"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY 1, 2 LIMIT :limit"
        ),
        {"first": first, "last": last, "agent": agent, "limit": limit},
    )
    return [(row.agent_id, row.fact_id) for row in rows]


async def agents(db: Read) -> list[str]:
    """Every agent that has a fact; needs an overview."""
    rows = await db.execute(text("SELECT DISTINCT agent_id FROM heart.facts ORDER BY 1"))
    return [row.agent_id for row in rows]


async def survivors(db: Read, keys: Collection[Key]) -> dict[Key, Fact]:
    """For each of these facts the one it is part of now: itself, unless it was merged."""
    return await wholes(db, await by_key(db, keys))


async def wholes(db: Read, rows: Mapping[Key, Fact]) -> dict[Key, Fact]:
    """For each of these rows the fact it is part of; itself, unless it was merged."""
    into = await by_key(db, {(fact.agent_id, fact.merged_into) for fact in rows.values() if fact.merged_into})
    return {key: into[fact.agent_id, fact.merged_into] if fact.merged_into else fact for key, fact in rows.items()}


def leads_to(fact: Fact) -> Key | None:
    """The fact that this one is part of, or was retired by."""
    other = fact.merged_into or fact.superseded_by
    return (fact.agent_id, other) if other else None


async def onward(db: Read, keys: Collection[Key]) -> dict[Key, Fact]:
    """These facts, what each is part of or was retired by, and so on to the end; a key that is not there is left out."""
    known: dict[Key, Fact] = {}
    missing = set(keys)
    while missing:
        found = await by_key(db, missing)
        known |= found
        missing = {other for fact in found.values() if (other := leads_to(fact))} - known.keys()
    return known


def way(key: Key, known: Mapping[Key, Fact]) -> Iterator[Fact]:
    """A fact, the one it leads to, and so on, as far as they are known; each once."""
    passed: set[Key] = set()
    at: Key | None = key
    while at is not None and at in known and at not in passed:
        passed.add(at)
        yield known[at]
        at = leads_to(known[at])


async def parts(db: Read, keys: Collection[Key]) -> list[tuple[Key, Key]]:
    """Each of these facts and every row merged into one of them, with the one it is part of."""
    if not keys:
        return []
    rows = await db.execute(
        text(
            "WITH q AS (SELECT * FROM unnest(CAST(:agents AS text[]), CAST(:facts AS uuid[])) AS q(agent_id, fact_id))"
            " SELECT agent_id, fact_id, fact_id AS whole FROM q UNION ALL SELECT f.agent_id, f.fact_id, q.fact_id FROM q"
            " JOIN heart.facts f ON f.agent_id = q.agent_id AND f.merged_into = q.fact_id"
        ),
        many.apart(keys, "agents", "facts"),
    )
    return [((row.agent_id, row.fact_id), (row.agent_id, row.whole)) for row in rows]


async def chain(db: Read, key: Key) -> list[Fact]:
    """What this fact came to supersede, itself, and what superseded it, and so on: oldest first."""
    agent, fact_id = key
    rows = await db.execute(
        text(
            "WITH RECURSIVE before(fact_id) AS (SELECT CAST(:fact AS uuid) UNION SELECT f.fact_id FROM before"
            "  JOIN heart.facts f ON f.agent_id = :agent AND f.superseded_by = before.fact_id),"
            " after(fact_id) AS (SELECT CAST(:fact AS uuid) UNION SELECT f.superseded_by FROM after"
            "  JOIN heart.facts f ON f.agent_id = :agent AND f.fact_id = after.fact_id AND f.superseded_by IS NOT NULL)"
            f" SELECT {_COLUMNS} FROM heart.facts f WHERE f.agent_id = :agent"
            f" AND f.fact_id IN (SELECT fact_id FROM before UNION SELECT fact_id FROM after) ORDER BY {ORDER}"
        ),
        {"agent": agent, "fact": fact_id},
    )
    return [_fact(row) for row in rows]


def subject_key(subject: str | None) -> str | None:
    """A subject folded for comparing; None when there is none."""
    return (normalise(subject) or None) if subject else None


def words_of(fact: Fact) -> dict[str, object]:
    """The words it is found by, as columns of its row."""
    return words.kept(words.fact(fact.content, fact.subject))


def _fact(row: Any) -> Fact:
    return Fact(*row)
