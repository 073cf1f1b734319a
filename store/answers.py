"""Answers: every question put to a mind about two texts, and what it said; asked once for each ordered pair, prompt version and model.

ask ──▶ the question is written down before it is put, and is the asker's alone until its lease ends: a process killed meanwhile has counted
  ├─▶ keep     its answer; from then on nobody pays for it again
  └─▶ lease    the asker still waits, or lets go of it
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import many
from .database import Read, Write


@dataclass(frozen=True)
class Asked:
    """A question about two texts of an agent, the older first."""

    agent_id: str
    older_key: bytes
    newer_key: bytes
    prompt: str
    model: str
    worker: str
    older: str
    newer: str
    asked_at: datetime


@dataclass(frozen=True)
class Answer:
    """What a mind said of a pair, and the pair's share of the cost. `cost` in US dollars."""

    agent_id: str
    older_key: bytes
    newer_key: bytes
    prompt: str
    model: str
    relation: str
    richer: str | None
    reason: str
    tokens_in: int
    tokens_out: int
    cost: Decimal
    milliseconds: int
    answered_at: datetime


Pair = tuple[str, bytes, bytes]
"""(agent_id, older_key, newer_key)."""

_KEY = ("agent_id", "older_key", "newer_key", "prompt", "model")
_GIVEN = ("relation", "richer", "reason", "tokens_in", "tokens_out", "cost", "milliseconds", "answered_at")
_STILL = (  # nobody else could tell since
    "NOT EXISTS (SELECT FROM heart.relations r WHERE r.agent_id = a.agent_id"
    " AND r.low_key = least(a.older_key, a.newer_key) AND r.high_key = greatest(a.older_key, a.newer_key))"
)
_PAIRS = "unnest(CAST(:agents AS text[]), CAST(:older AS bytea[]), CAST(:newer AS bytea[])) AS q(agent_id, older_key, newer_key)"
_THESE = "a.agent_id = q.agent_id AND a.older_key = q.older_key AND a.newer_key = q.newer_key AND a.prompt = :prompt AND a.model = :model"


async def ask(db: Write, questions: Sequence[Asked], *, lease: datetime) -> set[Pair]:
    """Write questions down as asked, and return those that are now the caller's alone to put, until `lease`.

    One that was asked before and not answered is counted once more; one that is answered, or that another is asking, stays as it is.
    """
    if not questions:
        return set()
    rows = await db.execute(
        text(
            many.inserting("bus.answers", (*many.columns(Asked), "asking_until"), order=_KEY)
            + f" ON CONFLICT ({', '.join(_KEY)}) DO UPDATE"
            " SET asked = bus.answers.asked + 1, asked_at = excluded.asked_at, asking_until = excluded.asking_until"
            " WHERE bus.answers.relation IS NULL AND (bus.answers.asking_until IS NULL OR bus.answers.asking_until <= excluded.asked_at)"
            " RETURNING agent_id, older_key, newer_key"
        ),
        many.packed({**vars(question), "asking_until": lease} for question in questions),
    )
    return {(row.agent_id, row.older_key, row.newer_key) for row in rows}


async def lease(db: Write, pairs: Collection[Pair], *, prompt: str, model: str, held: datetime, until: datetime | None) -> None:
    """Those of these questions that are still under the lease that ends at `held` are the caller's until then, or anybody's (None)."""
    these = many.in_order("bus.answers", _PAIRS, key=_KEY[:3])
    await db.execute(
        text(f"UPDATE bus.answers a SET asking_until = :until FROM {these} WHERE {_THESE} AND a.asking_until = :held"),
        {**_these(pairs, prompt, model), "held": held, "until": until},
    )


async def leases(db: Read, pairs: Collection[Pair], *, prompt: str, model: str) -> dict[Pair, datetime]:
    """Those of these questions that somebody is asking, and until when it is his alone; one that died keeps its lease when it is over."""
    rows = await db.execute(
        text(
            f"SELECT a.agent_id, a.older_key, a.newer_key, a.asking_until FROM {_PAIRS} JOIN bus.answers a ON {_THESE}"
            " WHERE a.asking_until IS NOT NULL"
        ),
        _these(pairs, prompt, model),
    )
    return {(row.agent_id, row.older_key, row.newer_key): row.asking_until for row in rows}


async def keep(db: Write, given: Sequence[Answer]) -> None:
    """Write answers down; the first answer to a question stays."""
    if given:
        same = " AND ".join(f"a.{name} = q.{name}" for name in _KEY)
        await db.execute(
            text(
                f"UPDATE bus.answers a SET asking_until = NULL, {', '.join(f'{name} = q.{name}' for name in _GIVEN)}"
                f" FROM {many.in_order('bus.answers', many.these('bus.answers'), key=_KEY)} WHERE {same} AND a.relation IS NULL"
            ),
            many.packed(map(vars, given)),
        )


async def kept(db: Read, pairs: Collection[Pair], *, prompt: str, model: str) -> dict[Pair, Answer]:
    """The answers this model gave to this version of the question."""
    if not pairs:
        return {}
    rows = await db.execute(
        text(
            f"SELECT {', '.join(f'a.{name}' for name in many.columns(Answer))} FROM {_PAIRS} CROSS JOIN LATERAL"
            f" (SELECT * FROM bus.answers a WHERE {_THESE} AND a.relation IS NOT NULL OFFSET 0) a"
        ),
        _these(pairs, prompt, model),
    )
    return {(row.agent_id, row.older_key, row.newer_key): _answer(row) for row in rows}


async def among(db: Read, agent: str, keys: Collection[bytes]) -> list[Answer]:
    """Every answer about two of these texts of one agent, in the order they were given."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(many.columns(Answer))} FROM bus.answers WHERE agent_id = :agent AND relation IS NOT NULL"
            " AND older_key = ANY(CAST(:keys AS bytea[])) AND newer_key = ANY(CAST(:keys AS bytea[])) ORDER BY answered_at, model"
        ),
        {"agent": agent, "keys": list(keys)},
    )
    return [_answer(row) for row in rows]


async def unsure(db: Read, *, model: str, agent: str | None) -> list[tuple[str, UUID]]:
    """The active facts, by (agent_id, fact_id), that some mind could not tell about and this one was not asked; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT DISTINCT f.agent_id, f.fact_id FROM bus.answers a"
            " JOIN heart.facts f ON f.agent_id = a.agent_id AND f.text_key = a.newer_key AND f.active"
            f" WHERE a.relation = 'unsure' AND {_STILL} AND (CAST(:agent AS text) IS NULL OR a.agent_id = :agent)"
            "  AND NOT EXISTS (SELECT FROM bus.answers b WHERE b.agent_id = a.agent_id AND b.older_key = a.older_key"
            "   AND b.newer_key = a.newer_key AND b.model = :model AND b.relation IS NOT NULL) ORDER BY 1, 2"
        ),
        {"model": model, "agent": agent},
    )
    return [(row.agent_id, row.fact_id) for row in rows]


async def unsure_pairs(db: Read) -> dict[tuple[str, ...], int]:
    """How many pairs no mind could tell about, and no person or other mind did since, by the models that were asked; needs an overview."""
    rows = await db.execute(
        text(
            "SELECT models, count(*) AS pairs FROM (SELECT array_agg(DISTINCT a.model ORDER BY a.model) AS models FROM bus.answers a"
            f" WHERE a.relation = 'unsure' AND {_STILL}"
            " GROUP BY a.agent_id, least(a.older_key, a.newer_key), greatest(a.older_key, a.newer_key)) p GROUP BY models"
        )
    )
    return {tuple(row.models): row.pairs for row in rows}


def _these(pairs: Collection[Pair], prompt: str, model: str) -> dict[str, Any]:
    return {**many.apart(pairs, "agents", "older", "newer"), "prompt": prompt, "model": model}


def _answer(row: Any) -> Answer:
    return Answer(**row._mapping)
