"""Use: how often a memory was found, told, held against an answer and drawn on, and how much that is worth when it is found again.

    found (retrieved) ─▶ told (injected) ─▶ its answer is seen (compared) ─▶ drawn on (referenced)     counted by events, each under the
                                                └── both fade, half in a week ──┴──▶ boost             id that is true now

The boost is 0.5 of what was never drawn on, 1.5 of what always was, 1.0 while nobody knows, and 1.0 again with time. Being found is not
being of use, and being told is not being of no use: where no answer is seen, nothing is judged (docs/decisions/0026-use.md).

How often a fact was confirmed is in heart.facts. What was counted for a fact that became part of another is added when the other is looked
at, so it comes back if a person splits them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous import clock

from . import facts, many
from .database import Read, Write
from .nouns import NOUNS

HALF_LIFE = timedelta(days=7)
"""After so long a use counts for half (spec 001, D5)."""

ENOUGH_COMPARED = 2
"""With fewer answers compared with it a memory is not judged by its use (spec 001 says retrievals, which tell nothing of it)."""

NEW_FOR = timedelta(days=7)
"""So long a memory that is not judged yet counts as new."""

NEUTRAL = 1.0
FLOOR = 0.5  # of what was never drawn on; 1.5 of what was drawn on each time (spec 001)

Memory = tuple[str, UUID]
"""(kind, memory_id), within one agent; the kinds are those of events.MemoryKind."""

Key = tuple[str, str, UUID]
"""(agent_id, kind, memory_id)."""


@dataclass(frozen=True)
class Usage:
    """One row of heart.memory_usage. The counts are for ever; what was `lately` fades, and is as it was at `compared_at`."""

    agent_id: str
    kind: str
    memory_id: UUID
    retrieved: int = 0
    injected: int = 0
    referenced: int = 0
    compared: int = 0
    compared_lately: float = 0.0
    referenced_lately: float = 0.0
    compared_at: datetime | None = None

    @property
    def is_judged(self) -> bool:
        """Whether enough answers were compared with it to say anything of its use."""
        return self.compared >= ENOUGH_COMPARED

    def recalled(self, *, injected: bool) -> "Usage":
        """It was found, and told or not. That says nothing of what it is worth."""
        return replace(self, retrieved=self.retrieved + 1, injected=self.injected + injected)

    def drawn_on(self) -> "Usage":
        """An answer drew on it, and nobody says what it was compared with: it is counted, and says nothing of what it is worth."""
        return replace(self, referenced=self.referenced + 1)

    def answered(self, at: datetime, *, drawn_on: bool) -> "Usage":
        """An answer was compared with it at this moment, and drew on it or not. In whatever order, they come to the same."""
        used = int(drawn_on)
        none = Usage(self.agent_id, self.kind, self.memory_id)
        return self + replace(none, referenced=used, compared=1, compared_lately=1.0, referenced_lately=float(used), compared_at=at)

    def score(self, now: datetime) -> float:
        """How often it was drawn on, as much of it as has not faded by now."""
        return self.referenced_lately * self._left(now)

    def boost(self, now: datetime) -> float:
        """What its relevance is multiplied with: 0.5 and the share of the answers compared with it that drew on it.

        Nearer to 1.0 the longer ago the last of them was, and 1.0 while there were fewer than two.
        """
        if not self.is_judged or not self.compared_lately:
            return NEUTRAL
        share = min(1.0, self.referenced_lately / self.compared_lately)
        return NEUTRAL + (FLOOR + share - NEUTRAL) * self._left(now)

    def _left(self, at: datetime) -> float:
        """What is left of its sums at this moment."""
        return _faded(at - self.compared_at) if self.compared_at else 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Both together, under the name of this one."""
        latest = max(filter(None, (self.compared_at, other.compared_at)), default=None)
        mine, its = (one._left(latest) if latest else 0.0 for one in (self, other))
        return replace(
            self,
            retrieved=self.retrieved + other.retrieved,
            injected=self.injected + other.injected,
            referenced=self.referenced + other.referenced,
            compared=self.compared + other.compared,
            compared_lately=self.compared_lately * mine + other.compared_lately * its,
            referenced_lately=self.referenced_lately * mine + other.referenced_lately * its,
            compared_at=latest,
        )


@dataclass(frozen=True)
class Worth:
    """What memories are worth by their use: what the relevance of each is multiplied with, 0.5 to 1.5, and which are too new to say."""

    boosts: Mapping[Memory, float]
    new: Collection[Memory] = ()


def _faded(age: timedelta) -> float:
    """What is left of one after so long; never more than one."""
    return min(1.0, float(0.5 ** (age / HALF_LIFE)))


_NAMES = many.columns(Usage)
_COLUMNS = ", ".join(f"u.{name}" for name in _NAMES)
_PUT = text(many.upserting("heart.memory_usage", _NAMES, key=("agent_id", "kind", "memory_id")))
_BY_ITS_KEY = (
    "SELECT * FROM heart.memory_usage one WHERE one.agent_id = {agent} AND one.kind = {of}.kind AND one.memory_id = {of}.id OFFSET 0"
)
"""One row, looked up whatever the planner knows: as a join, 160 rows of 1,000 took 84 ms until the table was analysed, so 1 ms."""

_BY_KEY = text(
    f"SELECT {_COLUMNS} FROM unnest(CAST(:agents AS text[]), CAST(:kinds AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, kind, id)"
    f" CROSS JOIN LATERAL ({_BY_ITS_KEY.format(agent='q.agent_id', of='q')}) u"
)
_OF = text(
    "WITH q AS MATERIALIZED (SELECT * FROM unnest(CAST(:kinds AS text[]), CAST(:ids AS uuid[])) AS q(kind, id)),"
    " parts AS (SELECT kind, id, id AS whole FROM q UNION ALL SELECT 'fact', f.fact_id, q.id FROM q"
    "  CROSS JOIN LATERAL (SELECT * FROM heart.facts one WHERE one.agent_id = :agent AND one.merged_into = q.id OFFSET 0) f"
    "  WHERE q.kind = 'fact')"
    f" SELECT {_COLUMNS}, parts.whole FROM parts"
    f" CROSS JOIN LATERAL ({_BY_ITS_KEY.format(agent=':agent', of='parts')}) u"
    " ORDER BY parts.whole, u.memory_id"
)
_RECORDED = text(
    " UNION ALL ".join(
        f"SELECT '{kind}' AS kind, t.{noun.id} AS id FROM {noun.table} t"
        f" WHERE t.agent_id = :agent AND t.{noun.id} = ANY(CAST(:ids AS uuid[])) AND t.created_at >= :since"
        for kind, noun in NOUNS.items()
        if kind != "passage"
    )
    + " UNION ALL SELECT 'passage', p.passage_id FROM heart.passages p"
    " JOIN heart.episodes e ON e.agent_id = p.agent_id AND e.episode_id = p.episode_id"
    " WHERE p.agent_id = :agent AND p.passage_id = ANY(CAST(:ids AS uuid[])) AND e.created_at >= :since"
)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def worth(db: Read, agent: str, keys: Collection[Memory], now: datetime) -> Worth:
    """What each of these memories is worth by its use.

    New is what was recorded within the last week, while fewer than two answers were compared with it: it lacks history, not use.
    """
    known = await of(db, agent, keys)
    boosts = {key: known[key].boost(now) if key in known else NEUTRAL for key in keys}
    if max(boosts.values(), default=NEUTRAL) <= NEUTRAL:
        return Worth(boosts)  # nothing is ahead of what is new
    unproven = [key for key in keys if key not in known or not known[key].is_judged]
    return Worth(boosts, await _recorded(db, agent, unproven, since=clock.earlier(now, NEW_FOR)))


async def of(db: Read, agent: str, keys: Collection[Memory]) -> dict[Memory, Usage]:
    """The use of each of these memories of an agent, with that of what became part of it; one that was never found is left out."""
    if not keys:
        return {}
    rows = await db.execute(_OF, {"agent": agent, "kinds": [kind for kind, _ in keys], "ids": [one for _, one in keys]})
    found: dict[Memory, Usage] = {}
    for row in rows:
        part = _usage(row)
        key = (part.kind, row.whole)
        found[key] = found[key] + part if key in found else replace(part, memory_id=row.whole)
    return found


async def listed(db: Read, agent: str) -> list[Usage]:
    """Every count of an agent's, as it was counted: each memory for itself."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM heart.memory_usage u WHERE u.agent_id = :agent ORDER BY u.kind, u.memory_id"), {"agent": agent}
    )
    return [_usage(row) for row in rows]


async def _recorded(db: Read, agent: str, keys: Collection[Memory], *, since: datetime) -> set[Memory]:
    """Those of these memories that were recorded since then; a passage with its episode."""
    rows = await db.execute(_RECORDED, {"agent": agent, "ids": list({one for _, one in keys}), "since": since})
    return {(row.kind, row.id) for row in rows}.intersection(keys)


# ── counting ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Usage]:
    """The rows of these keys; a key that is not there is left out."""
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "kinds", "ids"))
    return {(one.agent_id, one.kind, one.memory_id): one for one in map(_usage, rows)}


async def put(db: Write, changed: Sequence[Usage]) -> None:
    """Write these down as they are now."""
    if changed:
        await db.execute(_PUT, many.packed(map(vars, changed)))


async def meant(db: Read, keys: Collection[Key]) -> dict[Key, Key]:
    """What the use of each of these counts for: itself, or of a fact the one that is true instead. What the agent has not is left out.

    A fact is known by any id it was published under; one that became part of another, or was retired by it, counts for the other.
    """
    found = {key: key for key in await _there(db, [key for key in keys if key[1] != "fact"])}
    wanted = [key for key in keys if key[1] == "fact"]
    now_true = await _true_instead(db, {(agent, one) for agent, _, one in wanted})
    return found | {key: (key[0], "fact", now_true[key[0], key[2]]) for key in wanted if (key[0], key[2]) in now_true}


async def _there(db: Read, keys: Collection[Key]) -> set[Key]:
    """Those of these memories, other than facts, that there are."""
    there: set[Key] = set()
    for kind, noun in NOUNS.items():
        if named := [key for key in keys if key[1] == kind]:
            rows = await db.execute(
                text(
                    f"SELECT t.agent_id, t.{noun.id} AS id FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, id)"
                    f" JOIN {noun.table} t ON t.agent_id = q.agent_id AND t.{noun.id} = q.id"
                ),
                {"agents": [agent for agent, _, _ in named], "ids": [one for _, _, one in named]},
            )
            there |= {(row.agent_id, kind, row.id) for row in rows}
    return there


async def _true_instead(db: Read, wanted: Collection[facts.Key]) -> dict[facts.Key, UUID]:
    """For each of these facts the one that is true now; one that is not there, or was forgotten, is left out."""
    known = await facts.onward(db, wanted)
    rows = {key: key for key in wanted if key in known} | await _published(db, [key for key in wanted if key not in known])
    known |= await facts.onward(db, {row for row in rows.values() if row not in known})
    ends = {key: _end(row, known) for key, row in rows.items()}
    return {key: end.fact_id for key, end in ends.items() if end is not None and end.forgotten_at is None}


async def _published(db: Read, keys: Collection[facts.Key]) -> dict[facts.Key, facts.Key]:
    """Of ids that facts were published under, the row each became; of several the one heard last."""
    if not keys:
        return {}
    rows = await db.execute(
        text(
            "SELECT m.agent_id, m.mention_id, m.fact_id FROM unnest(CAST(:agents AS text[]), CAST(:ids AS uuid[])) AS q(agent_id, id)"
            " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions m WHERE m.agent_id = q.agent_id AND m.mention_id = q.id OFFSET 0) m"
            " ORDER BY m.occurred_at, m.event_id"
        ),
        many.apart(keys, "agents", "ids"),
    )
    return {(row.agent_id, row.mention_id): (row.agent_id, row.fact_id) for row in rows}


def _end(key: facts.Key, known: Mapping[facts.Key, facts.Fact]) -> facts.Fact | None:
    """Where the way from a fact to what is true instead ends; None where the next of it is not there."""
    *_, end = [None, *facts.way(key, known)]
    return end if end and ((other := facts.leads_to(end)) is None or other in known) else None


def _usage(row: Any) -> Usage:
    return Usage(**{name: getattr(row, name) for name in _NAMES})
