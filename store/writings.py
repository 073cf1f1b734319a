"""Writings: every question put to a mind that writes, and its answer; asked once for each question, prompt version and model.

ask ──▶ written down before it is put, and the asker's alone until its lease ends: a process killed meanwhile has counted
  ├─▶ keep     its answer; from then on nobody pays for it again
  └─▶ lease    the asker still waits, or lets go of it
"""

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from .database import Read, Write


@dataclass(frozen=True)
class Question:
    """What a kept answer is kept under: a hash of all that was asked, the prompt's version and the model. Never shared between agents."""

    agent_id: str
    question_key: bytes
    prompt: str
    model: str


@dataclass(frozen=True)
class Written:
    """An answer as JSON, and what it cost; `cost` in US dollars."""

    answer: dict[str, Any]
    tokens_in: int
    tokens_out: int
    cost: Decimal
    milliseconds: int
    answered_at: datetime


@dataclass(frozen=True)
class Put:
    """A question that was put to a mind, for a person to see: how often it was asked, and its answer if there is one."""

    prompt: str
    model: str
    worker: str
    asked: int
    asked_at: datetime
    answered_at: datetime | None
    answer: dict[str, Any] | None
    tokens_in: int
    tokens_out: int
    cost: Decimal
    milliseconds: int


_THIS = "agent_id = :agent_id AND question_key = :question_key AND prompt = :prompt AND model = :model"


async def ask(db: Write, question: Question, *, worker: str, about: str, now: datetime, lease: datetime) -> bool:
    """Write a question down as asked; whether it is now the caller's alone to put, until `lease`.

    False when it is answered, or another is asking it. `about` names what it is about, as `episode:<id>`.
    """
    rows = await db.execute(
        text(
            "INSERT INTO bus.writings (agent_id, question_key, prompt, model, worker, about, asked_at, asking_until)"
            " VALUES (:agent_id, :question_key, :prompt, :model, :worker, :about, :now, :lease)"
            " ON CONFLICT (agent_id, question_key, prompt, model) DO UPDATE"
            " SET asked = bus.writings.asked + 1, asked_at = excluded.asked_at, asking_until = excluded.asking_until"
            " WHERE bus.writings.answer IS NULL AND (bus.writings.asking_until IS NULL OR bus.writings.asking_until <= excluded.asked_at)"
            " RETURNING 1"
        ),
        {**vars(question), "worker": worker, "about": about, "now": now, "lease": lease},
    )
    return rows.one_or_none() is not None


async def lease(db: Write, question: Question, *, held: datetime, until: datetime | None) -> None:
    """A question still under the lease that ends at `held` is the caller's until then, or anybody's (None)."""
    await db.execute(
        text(f"UPDATE bus.writings SET asking_until = :until WHERE {_THIS} AND asking_until = :held"),
        {**vars(question), "held": held, "until": until},
    )


async def asked_until(db: Read, question: Question) -> datetime | None:
    """Until when the question is somebody's alone; None when nobody asks it."""
    rows = await db.execute(text(f"SELECT asking_until FROM bus.writings WHERE {_THIS}"), vars(question))
    row = rows.one_or_none()
    return row.asking_until if row else None


async def keep(db: Write, question: Question, given: Written) -> None:
    """Write an answer down; the first answer to a question stays."""
    await db.execute(
        text(
            "UPDATE bus.writings SET answer = CAST(:answer AS jsonb), tokens_in = :tokens_in, tokens_out = :tokens_out, cost = :cost,"
            f" milliseconds = :milliseconds, answered_at = :answered_at, asking_until = NULL WHERE {_THIS} AND answer IS NULL"
        ),
        {**vars(question), **vars(given), "answer": json.dumps(given.answer, ensure_ascii=False)},
    )


async def kept(db: Read, question: Question) -> Written | None:
    """The answer this model gave to this question."""
    rows = await db.execute(
        text(
            f"SELECT answer, tokens_in, tokens_out, cost, milliseconds, answered_at FROM bus.writings WHERE {_THIS} AND answer IS NOT NULL"
        ),
        vars(question),
    )
    row = rows.one_or_none()
    return Written(**row._mapping) if row else None


async def about(db: Read, agent: str, subject: str) -> list[Put]:
    """Every question that was put about this, such as `episode:<id>`, in the order they were asked last."""
    rows = await db.execute(
        text(
            f"SELECT {', '.join(Put.__dataclass_fields__)} FROM bus.writings WHERE agent_id = :agent AND about = :subject"
            " ORDER BY asked_at, question_key"
        ),
        {"agent": agent, "subject": subject},
    )
    return [Put(**row._mapping) for row in rows]
