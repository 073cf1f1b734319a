"""Decisions: choices between alternatives, with their reasons and what came of them. One that looks like noise is kept and marked."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import text

from nous import clock

from . import briefs, many, unembedded, words
from .database import Read, Write


@dataclass(frozen=True)
class Decision:
    """One row of brain.decisions. `noise` says why it looks like no decision, if it does; `brief` is its line in recall."""

    agent_id: str
    decision_id: UUID
    description: str
    confidence: float
    brief: str
    decided_at: datetime
    created_at: datetime
    recorded_at: datetime
    recorded_by: str
    context: str | None = None
    reasons: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    category: str | None = None
    stakes: str | None = None
    outcome: str = "pending"
    outcome_note: str | None = None
    pattern: str | None = None
    session_id: str | None = None
    noise: str | None = None
    reviewed_at: datetime | None = None
    reviewed_by: str | None = None

    @property
    def said(self) -> str:
        """What it is found by: the choice, then why, in what situation, and instead of what."""
        return words.joined([self.description, *self.reasons, self.context, self.pattern, *self.alternatives])

    def with_brief(self) -> "Decision":
        """It, with the line that follows from what it says."""
        brief = briefs.decision(self.description, outcome=self.outcome, confidence=self.confidence, pattern=self.pattern)
        return replace(self, brief=brief)


@dataclass(frozen=True)
class Ended:
    """An episode that has ended, as far as decisions are concerned.

    `session_id` is the session it was held in, None when nobody knows; `model` the mind that read it.
    """

    episode_id: UUID
    started_at: datetime
    ended_at: datetime
    session_id: str | None
    model: str | None


Key = tuple[str, UUID]
"""(agent_id, decision_id): no agent can take another's id."""

_NAMES = many.columns(Decision)
_COLUMNS = ", ".join(_NAMES)
_PUT = text(many.upserting("brain.decisions", (*_NAMES, *words.COLUMNS), key=("agent_id", "decision_id"), fixed=("created_at",)))
_BY_KEY = text(many.reading("brain.decisions", _NAMES, key="decision_id"))


async def by_key(db: Read, keys: Collection[Key]) -> dict[Key, Decision]:
    """The decisions of these keys; a key that is not there is left out."""
    rows = await db.execute(_BY_KEY, many.apart(keys, "agents", "ids"))
    return {(one.agent_id, one.decision_id): one for one in map(_decision, rows)}


async def get(db: Read, agent: str, decision: UUID) -> Decision | None:
    """The agent's decision; None when it has none of that id, whoever else may."""
    return (await by_key(db, [(agent, decision)])).get((agent, decision))


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[Decision]:
    """Decisions whose id lies between these two; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM brain.decisions WHERE decision_id BETWEEN :first AND :last"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY agent_id, decision_id LIMIT :limit"
        ),
        {"first": first, "last": last, "agent": agent, "limit": limit},
    )
    return [_decision(row) for row in rows]


async def put(db: Write, changed: Sequence[Decision]) -> None:
    """Write these down as they are now; what says something new waits for its vector."""
    if changed:
        await db.execute(_PUT, many.packed([{**vars(one), **words.kept(one.said)} for one in changed]))
        await unembedded.add(db, "decision", {(one.agent_id, one.decision_id): one.said for one in changed})


async def between(db: Read, agent: str, first: datetime, last: datetime) -> list[Decision]:
    """The agent's decisions of a stretch of time, in order."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM brain.decisions WHERE agent_id = :agent AND decided_at BETWEEN :first AND :last"
            " ORDER BY decided_at, decision_id"
        ),
        {"agent": agent, "first": first, "last": last},
    )
    return [_decision(row) for row in rows]


async def unlinked(db: Read, among: Sequence[Decision], within: timedelta) -> dict[Key, list[Ended]]:
    """For each of these that has some: its agent's episodes that have ended and lasted within so much of it, in order, without those it is
    linked to.
    """
    rows = await db.execute(
        text(
            "SELECT q.agent_id, q.decision_id, e.episode_id, e.started_at, e.ended_at, s.session_id, e.model"
            " FROM unnest(CAST(:agents AS text[]), CAST(:decisions AS uuid[]), CAST(:firsts AS timestamptz[]),"
            "  CAST(:lasts AS timestamptz[])) AS q(agent_id, decision_id, first, last)"
            " JOIN heart.episodes e ON e.agent_id = q.agent_id AND e.started_at <= q.last AND e.ended_at >= q.first"
            " LEFT JOIN heart.sessions s ON s.agent_id = e.agent_id AND s.session_key = e.session_key"
            " WHERE NOT EXISTS (SELECT 1 FROM heart.episode_decisions l"
            "  WHERE l.agent_id = e.agent_id AND l.episode_id = e.episode_id AND l.decision_id = q.decision_id)"
            " ORDER BY e.started_at, e.episode_id"
        ),
        {
            "agents": [one.agent_id for one in among],
            "decisions": [one.decision_id for one in among],
            "firsts": [clock.earlier(one.decided_at, within) for one in among],
            "lasts": [clock.later(one.decided_at, within) for one in among],
        },
    )
    found: dict[Key, list[Ended]] = {}
    for row in rows:
        ended = Ended(row.episode_id, row.started_at, row.ended_at, row.session_id, row.model)
        found.setdefault((row.agent_id, row.decision_id), []).append(ended)
    return found


async def mentioned(db: Read, agent: str, among: Iterable[Ended]) -> dict[UUID, list[str]]:
    """What the minds that read these episodes of the agent listed as decided in them."""
    about = {(f"episode:{one.episode_id}", one.model): one.episode_id for one in among if one.model}
    found: dict[UUID, list[str]] = {}
    if not about:
        return found
    rows = await db.execute(
        text(
            "SELECT w.about, w.model, d.said #>> '{}' AS said FROM bus.writings w, jsonb_path_query(w.answer, '$.decisions[*]') AS d(said)"
            " WHERE w.agent_id = :agent AND w.about = ANY(CAST(:about AS text[])) AND d.said <> 'null'"
        ),
        {"agent": agent, "about": [name for name, _ in about]},
    )
    for row in rows:
        if episode := about.get((row.about, row.model)):
            found.setdefault(episode, []).append(row.said)
    return found


async def listed(db: Read, *, agent: str | None, noise: bool | None = None, limit: int | None = None) -> list[Decision]:
    """Decisions for a person to read, the latest first; with `noise` those that look like noise, or those that do not.

    Every agent's when `agent` is None (and the session is an overview).
    """
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM brain.decisions WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " AND (CAST(:noise AS boolean) IS NULL OR (noise IS NOT NULL) = :noise)"
            " ORDER BY decided_at DESC, agent_id, decision_id LIMIT :limit"
        ),
        {"agent": agent, "noise": noise, "limit": limit},
    )
    return [_decision(row) for row in rows]


def _decision(row: Any) -> Decision:
    return Decision(**{**row._mapping, "reasons": tuple(row.reasons), "alternatives": tuple(row.alternatives)})
