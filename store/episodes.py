"""Episodes: conversations worth remembering, from their first turn to their summary. What is put aside is inactive and comes back whole."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pgvector import HalfVector
from sqlalchemy import text

from . import many, words
from .database import Read, Write
from .vectors import Vector

Writer = Literal["producer", "mind", "extract"]
"""Who wrote the summary: it came with the event, a mind did, or it was cut out of the transcript without one."""

Aged = Literal["trimmed", "archived"]
"""Of its transcript only the first and last parts are at hand, or nothing is."""

TranscriptState = Literal["whole", "trimmed", "archived", "let go of"]
"""How much there is of what was said: all is at hand; or less is, and the whole is put away; or less is, and the rest is nowhere."""

Stage = Literal["trim", "archive"]
"""What is due to be done with a transcript."""

Part = Literal["opening", "summary"]
How = Literal["named", "session", "time", "mind"]
"""How a decision is known to belong to an episode: its id came with the event, it was made in the same session, it was made while the
episode lasted, the mind that summarised it listed it."""


@dataclass(frozen=True)
class Episode:
    """One row of heart.episodes.

    `session_key` leads to its turns, `detail` is the transcript that came with the event instead. `opening` is the first 200 characters
    the user said. `put_aside` says why it is not active. `settled_by` is the event whose summary and facts it has, `model` the mind that
    read it for them; None when none did. `aged` says how much of its transcript is at hand, None while all of it is; until `whole_until`
    it stays so. Since `let_go_at` what is not at hand is kept nowhere.
    """

    agent_id: str
    episode_id: UUID
    trigger: str
    started_at: datetime
    created_at: datetime
    recorded_at: datetime
    recorded_by: str
    session_key: UUID | None = None
    title: str | None = None
    summary: str | None = None
    written_by: Writer | None = None
    model: str | None = None
    detail: str | None = None
    outcome: str | None = None
    lessons_learned: tuple[str, ...] = ()
    frame_used: str | None = None
    opening: str | None = None
    ended_at: datetime | None = None
    active: bool = True
    put_aside: str | None = None
    turn_count: int | None = None
    tool_count: int | None = None
    brief: str = ""
    settled_by: str | None = None
    aged: Aged | None = None
    whole_until: datetime | None = None
    let_go_at: datetime | None = None

    @property
    def said(self) -> str:
        """What it is found by: its title, its summary, what came of it and what was learned."""
        return words.joined([self.title, self.summary, self.outcome, *self.lessons_learned])

    @property
    def state(self) -> str:
        """How it stands, in words: put aside, open, closed, summarised."""
        if not self.active:
            return "put aside"
        if self.ended_at is None:
            return "open"
        return "summarised" if self.summary else "closed"

    @property
    def transcript_state(self) -> TranscriptState:
        """How much there is of what was said in it, in words."""
        return "let go of" if self.let_go_at else self.aged or "whole"

    def as_data(self) -> dict[str, Any]:
        """Its row for a machine, with how it stands in the words that a person reads."""
        return {**asdict(self), "state": self.state, "transcript_state": self.transcript_state}


_NAMES = many.columns(Episode)
_COLUMNS = ", ".join(_NAMES)
_PUT = text(many.upserting("heart.episodes", (*_NAMES, *words.COLUMNS), key=("agent_id", "episode_id"), fixed=("created_at",)))


async def get(db: Read, agent: str, episode: UUID) -> Episode | None:
    """The agent's episode; None when it has none of that id, whoever else may."""
    rows = await db.execute(
        text(f"SELECT {_COLUMNS} FROM heart.episodes WHERE agent_id = :agent AND episode_id = :episode"),
        {"agent": agent, "episode": episode},
    )
    row = rows.one_or_none()
    return _episode(row) if row else None


async def within(db: Read, first: UUID, last: UUID, *, agent: str | None, limit: int) -> list[Episode]:
    """Episodes whose id lies between these two; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.episodes WHERE episode_id BETWEEN :first AND :last"
            " AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY agent_id, episode_id LIMIT :limit"
        ),
        {"first": first, "last": last, "agent": agent, "limit": limit},
    )
    return [_episode(row) for row in rows]


async def put(db: Write, episode: Episode) -> None:
    """Write an episode down as it is now."""
    await db.execute(_PUT, many.packed([{**vars(episode), **words.kept(episode.said)}]))


async def owners(db: Read, episode: UUID) -> list[str]:
    """The agents that have an episode of this id; needs an overview."""
    rows = await db.execute(text("SELECT agent_id FROM heart.episodes WHERE episode_id = :episode ORDER BY 1"), {"episode": episode})
    return [row.agent_id for row in rows]


async def listed(db: Read, *, agent: str | None, inactive: bool, limit: int | None) -> list[Episode]:
    """Episodes for a person to read, the latest first; every agent's when `agent` is None (and the session is an overview)."""
    rows = await db.execute(
        text(
            f"SELECT {_COLUMNS} FROM heart.episodes WHERE (CAST(:agent AS text) IS NULL OR agent_id = :agent) AND (active OR :inactive)"
            " ORDER BY started_at DESC, agent_id, episode_id LIMIT :limit"
        ),
        {"agent": agent, "inactive": inactive, "limit": limit},
    )
    return [_episode(row) for row in rows]


_UNREAD = "settled_by IS NOT NULL AND model IS NULL AND active AND (detail IS NOT NULL OR session_key IS NOT NULL OR aged IS NOT NULL)"


async def unread(db: Read, *, agent: str | None) -> list[tuple[str, UUID]]:
    """(agent_id, episode_id) of active episodes with a text that were settled without a mind, an agent's oldest first.

    Every agent's when `agent` is None (and the session is an overview).
    """
    rows = await db.execute(
        text(
            f"SELECT agent_id, episode_id FROM heart.episodes WHERE {_UNREAD} AND (CAST(:agent AS text) IS NULL OR agent_id = :agent)"
            " ORDER BY agent_id, started_at, episode_id"
        ),
        {"agent": agent},
    )
    return [(row.agent_id, row.episode_id) for row in rows]


async def announce_unread(db: Write, agent: str, *, model: str, limit: int) -> list[UUID]:
    """The agent's oldest unread episodes that were not announced to this mind before; now they are."""
    rows = await db.execute(
        text(
            "UPDATE heart.episodes e SET asked_of = :model FROM (SELECT episode_id FROM heart.episodes WHERE agent_id = :agent"
            f" AND {_UNREAD} AND asked_of IS DISTINCT FROM :model ORDER BY started_at, episode_id LIMIT :limit) q"
            " WHERE e.agent_id = :agent AND e.episode_id = q.episode_id RETURNING e.episode_id"
        ),
        {"agent": agent, "model": model, "limit": limit},
    )
    return sorted(row.episode_id for row in rows)


# ── ageing ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Ageing:
    """By when an episode must have begun to be trimmed, and to be archived, `now`; one whose summary is asked for since `asked` waits."""

    now: datetime
    trim: datetime
    archive: datetime
    asked: datetime


@dataclass(frozen=True)
class Old:
    """An episode that is due, and what is: how long its summary is, none where it has none, and whether a mind has read it."""

    episode_id: UUID
    stage: Stage
    started_at: datetime
    summary_characters: int | None = None
    is_read: bool = True


SUMMARY_CHARACTERS = 50
"""The shortest summary that can speak for a transcript (spec 003)."""

_AGED = (
    "e.active AND e.ended_at IS NOT NULL AND e.aged IS DISTINCT FROM 'archived'"
    " AND e.started_at <= greatest(CAST(:trim AS timestamptz), :archive)"
    " AND (e.session_key IS NOT NULL OR e.detail IS NOT NULL)"
    " AND (e.aged IS NULL OR e.started_at <= :archive)"
    " AND (e.whole_until IS NULL OR e.whole_until <= :now)"
    " AND NOT EXISTS (SELECT FROM heart.sessions s WHERE s.agent_id = e.agent_id AND s.session_key = e.session_key AND s.ended_at IS NULL)"
)
_SPOKEN_FOR = f"e.settled_by IS NOT NULL AND char_length(e.summary) >= {SUMMARY_CHARACTERS}"
_LOOKED_AT = (
    "FROM bus.receipts r WHERE r.agent_id = e.agent_id AND r.about = e.episode_id AND r.worker = 'episode_ager'"
    f" AND r.outcome IN ('asked', 'left') AND r.occurred_at > :asked AND NOT ({_SPOKEN_FOR} AND e.recorded_at > r.recorded_at)"
)
_OLD = f"{_AGED} AND ({_SPOKEN_FOR} AND e.model IS NOT NULL OR NOT EXISTS (SELECT {_LOOKED_AT}))"


async def agents_with_old(db: Read, by: Ageing) -> list[str]:
    """Who has an episode that is due; needs an overview."""
    rows = await db.execute(text(f"SELECT DISTINCT e.agent_id FROM heart.episodes e WHERE {_OLD}"), vars(by))
    return sorted(row.agent_id for row in rows)


async def old(db: Read, agent: str, by: Ageing, *, after: UUID | None, limit: int) -> list[Old]:
    """The agent's episodes behind `after` that are due, by id."""
    rows = await db.execute(
        text(
            "SELECT e.episode_id, CASE WHEN e.started_at <= :archive THEN 'archive' ELSE 'trim' END AS stage, e.started_at,"
            " CASE WHEN e.settled_by IS NOT NULL THEN coalesce(char_length(trim(e.summary)), 0) END AS summary_characters,"
            " e.model IS NOT NULL AS is_read"
            f" FROM heart.episodes e WHERE e.agent_id = :agent AND (CAST(:after AS uuid) IS NULL OR e.episode_id > :after) AND {_OLD}"
            " ORDER BY e.episode_id LIMIT :limit"
        ),
        {**vars(by), "agent": agent, "after": after, "limit": limit},
    )
    return [Old(**row._mapping) for row in rows]


async def looked_at_lately(db: Read, agent: str | None, by: Ageing) -> dict[str, int]:
    """How many episodes, of one agent or all, are of age and wait since they were looked at, by how that ended; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT q.outcome, count(*) AS episodes FROM heart.episodes e CROSS JOIN LATERAL"
            f" (SELECT r.outcome {_LOOKED_AT} ORDER BY r.seq DESC LIMIT 1) q"
            f" WHERE (CAST(:agent AS text) IS NULL OR e.agent_id = :agent) AND {_AGED} AND NOT ({_SPOKEN_FOR} AND e.model IS NOT NULL)"
            " GROUP BY q.outcome ORDER BY q.outcome"
        ),
        {**vars(by), "agent": agent},
    )
    return {row.outcome: int(row.episodes) for row in rows}


# ── vectors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def put_vector(db: Write, agent: str, episode: UUID, part: Part, *, embedder: str, vector: Vector) -> None:
    """Keep the vector of a part of an episode. Those of other embedders are of what it said before: they end as vectors."""
    await db.execute(
        text(
            "WITH outdated AS (UPDATE heart.episode_vectors SET vector = '[0]' WHERE agent_id = :agent AND episode_id = :episode"
            "  AND part = :part AND embedder <> :embedder)"
            " INSERT INTO heart.episode_vectors (agent_id, episode_id, part, embedder, vector)"
            " VALUES (:agent, :episode, :part, :embedder, CAST(:vector AS halfvec))"
            " ON CONFLICT (agent_id, episode_id, part, embedder) DO UPDATE SET vector = excluded.vector"
        ),
        {"agent": agent, "episode": episode, "part": part, "embedder": embedder, "vector": HalfVector(vector)},
    )


async def nearest_opening(
    db: Read, agent: str, vector: Vector, *, embedder: str, since: datetime, until: datetime
) -> tuple[UUID, float] | None:
    """The active episode begun in this time whose first words are nearest, and their cosine: plain, exact, of this embedder's vectors."""
    rows = await db.execute(
        text(
            "SELECT e.episode_id, 1 - (v.vector <=> CAST(:vector AS halfvec)) AS similarity FROM heart.episodes e"
            " JOIN heart.episode_vectors v ON v.agent_id = e.agent_id AND v.episode_id = e.episode_id"
            "  AND v.part = 'opening' AND v.embedder = :embedder"
            " WHERE e.agent_id = :agent AND e.active AND e.started_at BETWEEN :since AND :until"
            " ORDER BY similarity DESC, e.episode_id LIMIT 1"
        ),
        {"agent": agent, "vector": HalfVector(vector), "embedder": embedder, "since": since, "until": until},
    )
    row = rows.one_or_none()
    return (row.episode_id, float(row.similarity)) if row else None


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def link_decisions(db: Write, agent: str, episode: UUID, found: Mapping[UUID, How]) -> None:
    """Say which decisions belong to an episode; how it was known first stays."""
    if found:
        await db.execute(
            text(
                "INSERT INTO heart.episode_decisions (agent_id, episode_id, decision_id, how)"
                " SELECT :agent, :episode, q.decision_id, q.how"
                " FROM unnest(CAST(:decisions AS uuid[]), CAST(:hows AS text[])) AS q(decision_id, how) ON CONFLICT DO NOTHING"
            ),
            {"agent": agent, "episode": episode, "decisions": list(found), "hows": list(found.values())},
        )


async def decisions_of(db: Read, agent: str, episodes: Collection[UUID]) -> Sequence[tuple[UUID, UUID, How]]:
    """(episode_id, decision_id, how) of these episodes."""
    rows = await db.execute(
        text(
            "SELECT episode_id, decision_id, how FROM heart.episode_decisions WHERE agent_id = :agent"
            " AND episode_id = ANY(CAST(:episodes AS uuid[])) ORDER BY 1, 2"
        ),
        {"agent": agent, "episodes": list(episodes)},
    )
    return [(row.episode_id, row.decision_id, row.how) for row in rows]


async def of_decision(db: Read, agent: str, decision: UUID) -> Sequence[tuple[Episode, How]]:
    """The episodes a decision belongs to, in order, and how that is known."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(f'e.{name}' for name in _NAMES)}, l.how FROM heart.episode_decisions l"
            " JOIN heart.episodes e ON e.agent_id = l.agent_id AND e.episode_id = l.episode_id"
            " WHERE l.agent_id = :agent AND l.decision_id = :decision ORDER BY e.started_at, e.episode_id"
        ),
        {"agent": agent, "decision": decision},
    )
    found = []
    for row in rows:
        fields = dict(row._mapping)
        how = fields.pop("how")
        found.append((Episode(**{**fields, "lessons_learned": tuple(row.lessons_learned)}), how))
    return found


def _episode(row: Any) -> Episode:
    return Episode(**{**row._mapping, "lessons_learned": tuple(row.lessons_learned)})
