"""Why a recall came out as it did: how the question was read, every factor of every candidate's score, and the gate that dropped it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

from .asking import Asked
from .choosing import Gates
from .looking import Seen
from .ranking import Ranked
from .telling import Served

TOLD = "told"


def explained(asked: Asked, seen: Seen, served: Mapping[tuple[str, UUID], Served], gates: Gates) -> dict[str, Any]:
    """All of it, as data for JSON: the question, the plan, the weights, and each candidate, the best first."""
    signals, plan = asked.signals, asked.plan
    return {
        "frame": {"frame": signals.frame, "why": signals.why},
        "signals": {
            "is_greeting": signals.is_greeting,
            "is_question": signals.is_question,
            "recency": signals.recency,
            "hints": dict(signals.hints),
            "entities": list(signals.entities),
            "keywords": list(signals.keywords),
        },
        "plan": {
            "searched": asked.own,
            "queries": [asdict(query) for query in plan.queries],
            "skipped": list(plan.skipped),
            "tokens": plan.tokens,
            "sections": dict(plan.sections),
            "window": plan.window,
            "when": _when(asked),
        },
        "weights": asdict(seen.weights),
        "censors": [{"id": str(one.censor.censor_id), "matched": one.matched} for one in seen.censors],
        "candidates": [_candidate(one, served, gates) for one in seen.ranked],
    }


def _when(asked: Asked) -> dict[str, Any] | None:
    when = asked.plan.when
    if when is None:
        return None
    return {
        "words": when.words,
        "since": when.since.isoformat() if when.since else None,
        "until": when.until.isoformat() if when.until else None,
    }


def _candidate(one: Ranked, served: Mapping[tuple[str, UUID], Served], gates: Gates) -> dict[str, Any]:
    found = one.found
    key = found.key
    told = served.get(key)
    return {
        "kind": found.kind,
        "id": str(found.memory_id),
        "text": found.text,
        "at": found.at.isoformat(),
        "provenance": found.provenance,
        "confidence": found.confidence,
        "demoted_to": found.demoted_to,
        "similarity": found.similarity,
        "words": found.words,
        "relevance": one.relevance,
        "factors": dict(one.factors),
        "score": one.score,
        "ended": TOLD if told else gates.get(key, "limit: its kind is not told"),
        "handle": told.handle if told else None,
    }
