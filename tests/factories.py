"""One of each thing, every field defaulted; a test names only the fields it is about.

a_fact(agent_id="b", active=False)    an inactive fact of agent b, in words that no other fact has
"""

from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np

from events import (
    CensorTriggered,
    DecisionRecorded,
    DecisionReviewed,
    EpisodeClosed,
    FactLearned,
    MemoryRecalled,
    MemoryReferenced,
    ProcedureLearned,
    ProcedureUsed,
)
from nous.text import content_hash
from store.answers import Asked
from store.censors import DEFAULT_ESCALATION_THRESHOLD, Censor
from store.decisions import Decision
from store.episodes import Episode
from store.facts import Fact
from store.keys import text_key
from store.mentions import Mention
from store.outbox import Letter
from store.procedures import Procedure
from store.receipts import Receipt
from store.relations import Relation
from store.retries import Retry
from store.sessions import Session, Turn
from store.vectors import Vector

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = "agent-7"
DIMENSION = 512

_numbers = count(1)


def an_id() -> UUID:
    """Ids that count, so that a failure reads the same in every run."""
    return UUID(int=next(_numbers))


def words() -> str:
    """A fact that nobody stated yet."""
    return f"Maria's desk number is {next(_numbers)}."


def a_fact_learned(**over: Any) -> FactLearned:
    return FactLearned.model_validate(_event() | {"fact_id": an_id(), "content": words(), "subject": "Maria", **over})


def an_episode_closed(**over: Any) -> EpisodeClosed:
    return EpisodeClosed.model_validate(_event() | {"episode_id": an_id(), **over})


def a_censor_triggered(**over: Any) -> CensorTriggered:
    return CensorTriggered.model_validate(_event() | {"censor_id": an_id(), "was_blocked": False, **over})


def a_decision_recorded(**over: Any) -> DecisionRecorded:
    return DecisionRecorded.model_validate(_event() | {"decision_id": an_id(), "description": "Postgres, not SQLite", **over})


def a_decision_reviewed(**over: Any) -> DecisionReviewed:
    return DecisionReviewed.model_validate(_event() | {"decision_id": an_id(), "outcome": "success", **over})


def a_procedure_learned(**over: Any) -> ProcedureLearned:
    return ProcedureLearned.model_validate(_event() | {"procedure_id": an_id(), "name": "Release", **over})


def a_procedure_used(**over: Any) -> ProcedureUsed:
    return ProcedureUsed.model_validate(_event() | {"procedure_id": an_id(), **over})


def a_memory_recalled(**over: Any) -> MemoryRecalled:
    return MemoryRecalled.model_validate(_event() | {"recall_id": an_id(), "memories": ({"kind": "fact", "id": an_id()},), **over})


def a_memory_referenced(**over: Any) -> MemoryReferenced:
    memories = over.get("memories", ({"kind": "fact", "id": an_id(), "how": "overlap", "overlap": 0.4},))
    over = {"compared": memories, "memories": memories, **over}
    return MemoryReferenced.model_validate(_event() | {"recall_id": an_id(), **over})


def a_fact(**over: Any) -> Fact:
    content = over.get("content") or words()
    fields: dict[str, Any] = {
        "agent_id": AGENT,
        "fact_id": an_id(),
        "content": content,
        "content_hash": content_hash(content),
        "subject": "Maria",
        "attribute": None,
        "provenance": "assistant_derived",
        "confidence": 0.5,
        "source": None,
        "active": True,
        "superseded_by": None,
        "merged_into": None,
        "valid_from": NOON,
        "valid_to": None,
        "claimed_at": NOON,
        "claimed_by": f"event-{next(_numbers)}",
        "confirmation_count": 0,
        "last_confirmed": None,
        "created_at": NOON,
        "stored_by": f"event-{next(_numbers)}",
        "own_content": None,
        "disputes": None,
        "recorded_at": NOON,
        "recorded_by": f"event-{next(_numbers)}",
    }
    made = fields | over
    return Fact(**{"text_key": text_key(content, made["subject"], made["attribute"])} | made)


def a_mention(of: Fact | None = None, **over: Any) -> Mention:
    """A wording of a fact: of `of`, which should be stored first."""
    fact = of or a_fact()
    content = over.get("content") or fact.content
    fields: dict[str, Any] = {
        "agent_id": fact.agent_id,
        "event_id": f"event-{next(_numbers)}",
        "mention_id": an_id(),
        "fact_id": fact.fact_id,
        "content": content,
        "content_hash": content_hash(content),
        "subject": fact.subject,
        "attribute": fact.attribute,
        "provenance": fact.provenance,
        "confidence": fact.confidence,
        "source": fact.source,
        "quote": None,
        "similarity": 1.0,
        "outcome": "confirmed",
        "occurred_at": NOON,
        "heard_at": NOON,
    }
    return Mention(**fields | over)


def a_censor(**over: Any) -> Censor:
    fields: dict[str, Any] = {
        "agent_id": AGENT,
        "censor_id": an_id(),
        "trigger_pattern": "rm -rf",
        "reason": "It deleted a working copy once.",
        "severity": "warn",
        "escalation_threshold": DEFAULT_ESCALATION_THRESHOLD,
        "activation_count": 0,
        "counted_from": 0,
        "false_positive_count": 0,
        "last_activated": None,
        "relaxed_at": None,
        "relaxed_reason": None,
        "created_at": NOON,
    }
    return Censor(**fields | over)


def a_session(**over: Any) -> Session:
    times: dict[str, Any] = {"started_at": NOON, "last_at": NOON, "heard_at": NOON}
    return Session(**{"agent_id": AGENT, "session_key": an_id(), "session_id": "chat"} | times | over)


def a_turn(session: Session, **over: Any) -> Turn:
    fields: dict[str, Any] = {"position": 1, "speaker": "user", "content": words(), "said_at": NOON}
    return Turn(**{"agent_id": session.agent_id, "session_key": session.session_key} | fields | over)


def an_episode(**over: Any) -> Episode:
    recorded: dict[str, Any] = {"created_at": NOON, "recorded_at": NOON, "recorded_by": f"event-{next(_numbers)}"}
    fields = {"agent_id": AGENT, "episode_id": an_id(), "trigger": "user_message", "started_at": NOON} | recorded
    return Episode(**fields | over)


def a_decision(**over: Any) -> Decision:
    recorded: dict[str, Any] = {"created_at": NOON, "recorded_at": NOON, "recorded_by": f"event-{next(_numbers)}"}
    fields = {"agent_id": AGENT, "decision_id": an_id(), "description": "Postgres, not SQLite", "confidence": 0.8, "decided_at": NOON}
    return Decision(**fields | recorded | {"brief": "Postgres, not SQLite [80% confidence]"} | over)


def a_procedure(**over: Any) -> Procedure:
    recorded: dict[str, Any] = {"created_at": NOON, "recorded_at": NOON, "recorded_by": f"event-{next(_numbers)}"}
    learned = {"learned_at": NOON, "learned_by": f"event-{next(_numbers)}"}
    fields = {"agent_id": AGENT, "procedure_id": an_id(), "name": "Release", "brief": "Release: tag; push"}
    return Procedure(**fields | learned | recorded | over)


def a_receipt(**over: Any) -> Receipt:
    fields: dict[str, Any] = {
        "worker": "deduplicator",
        "agent_id": AGENT,
        "event_id": f"event-{next(_numbers)}",
        "stream": "fact_learned",
        "entry_id": "1772366400000-0",
        "ending": "done",
        "outcome": "stored",
        "reason": None,
        "about": None,
        "occurred_at": NOON,
        "recorded_at": NOON,
    }
    return Receipt(**fields | over)


def a_retry(**over: Any) -> Retry:
    fields: dict[str, Any] = {
        "worker": "deduplicator",
        "agent_id": AGENT,
        "event_id": f"event-{next(_numbers)}",
        "stream": "fact_learned",
        "entry_id": "1772366400000-0",
        "body": b"{}",
        "attempts": 0,
        "due_at": NOON,
        "reason": "ValueError: no reason in particular",
        "since": NOON,
    }
    return Retry(**fields | over)


def a_letter(**over: Any) -> Letter:
    fields: dict[str, Any] = {"agent_id": AGENT, "event_id": f"event-{next(_numbers)}", "stream": "fact_stored", "body": b"{}"}
    return Letter(**fields | over)


def a_relation(**over: Any) -> Relation:
    """Two texts that are compatible, as a mind said."""
    fields: dict[str, Any] = {
        "agent_id": AGENT,
        "low_key": b"1",
        "high_key": b"2",
        "relation": "compatible",
        "richer_key": None,
        "decided_by": "mind",
        "model": "a-model",
        "prompt": "relation-1",
        "reason": "Both can be true.",
        "event_id": f"event-{next(_numbers)}",
        "recorded_at": NOON,
    }
    return Relation(**fields | over)


def a_question(**over: Any) -> Asked:
    """A question about two texts, on its way to a mind."""
    fields: dict[str, Any] = {
        "agent_id": AGENT,
        "older_key": b"1",
        "newer_key": b"2",
        "prompt": "relation-1",
        "model": "a-model",
        "worker": "supersession_checker",
        "older": words(),
        "newer": words(),
        "asked_at": NOON,
    }
    return Asked(**fields | over)


def a_vector(seed: int | None = None, dimension: int = DIMENSION) -> Vector:
    """A direction of its own; the same one for the same seed."""
    drawn = np.random.default_rng(next(_numbers) if seed is None else seed).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def _event() -> dict[str, Any]:
    return {"event_id": f"event-{next(_numbers)}", "agent_id": AGENT, "occurred_at": NOON}
