"""Weights of ranking as they were fitted: an agent's own, or those of all agents, each with its date and figures. The latest holds.

nous calibrate --ranking questions.jsonl --apply ──put──▶ a row more ──of──▶ what the next question is ranked by
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from .database import Read, Write

EVERYBODY = ""
"""The agent of weights that hold for every agent without any of its own."""


@dataclass(frozen=True)
class FittedWeights:
    """Weights by their names, what they came to on how many questions before and after, and when they were fitted.

    Without any, those before hold no more.
    """

    agent_id: str
    weights: Mapping[str, Any]
    figures: Mapping[str, Any]
    questions: int
    fitted_at: datetime


async def put(db: Write, fitted: FittedWeights) -> None:
    """Let these hold from now on; those before stay, to be looked at."""
    await db.execute(
        text(
            "INSERT INTO bus.weights (agent_id, weights, figures, questions, fitted_at)"
            " VALUES (:agent_id, CAST(:weights AS jsonb), CAST(:figures AS jsonb), :questions, :fitted_at)"
        ),
        {**vars(fitted), "weights": json.dumps(dict(fitted.weights)), "figures": json.dumps(dict(fitted.figures))},
    )


async def of(db: Read, agent: str) -> FittedWeights | None:
    """Those that hold for this agent: its own, else everybody's; None when none were fitted, or none of them holds any more."""
    rows = await db.execute(
        text(
            "SELECT agent_id, weights::text AS weights, figures::text AS figures, questions, fitted_at FROM"
            " (SELECT DISTINCT ON (agent_id) * FROM bus.weights WHERE agent_id IN (:agent, :everybody) ORDER BY agent_id, version DESC) q"
            " WHERE weights <> '{}' ORDER BY agent_id = :everybody LIMIT 1"
        ),
        {"agent": agent, "everybody": EVERYBODY},
    )
    row = rows.one_or_none()
    return FittedWeights(row.agent_id, json.loads(row.weights), json.loads(row.figures), row.questions, row.fitted_at) if row else None
