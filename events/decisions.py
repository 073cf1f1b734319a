"""Decisions: choices an agent made, and what came of them.

decision_recorded ──▶ decision_recorder    kept, with a warning when it looks like a status report
decision_reviewed ──▶ decision_reviewer    its outcome
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from .base import Confidence, Content, Event, ShortText, stated
from .identity import derived

Texts = Annotated[tuple[Content, ...], Field(max_length=100)]
Stakes = Literal["low", "medium", "high", "critical"]
DecisionOutcome = Literal["pending", "success", "partial", "failure", "superseded"]


class DecisionRecorded(Event):
    """An agent chose between alternatives. Published by agents."""

    decision_id: UUID = Field(description="The agent's own id for it.")
    description: Content = Field(description="What was decided.")
    context: Content | None = Field(default=None, description="What it was decided in view of.")
    reasons: Texts = Field(default=(), description="Why, one reason each.")
    alternatives: Texts = Field(default=(), description="What else could have been chosen.")
    confidence: Confidence = Field(default=0.5, description="0 to 1: how sure the agent was.")
    category: ShortText | None = Field(default=None, description="What kind of decision it is, such as architecture or process.")
    stakes: Stakes | None = Field(default=None, description="What depends on it.")
    outcome: DecisionOutcome = Field(default="pending", description="How it turned out, as far as is known.")
    pattern: Content | None = Field(default=None, description="The rule behind it, for decisions like it.")
    session_id: ShortText | None = Field(default=None, description="The session it was made in.")

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, decision_id and the whole body."""
        return derived(cls.stream, *stated(body, "agent_id", "decision_id"), repr(sorted(body.items())))


class DecisionReviewed(Event):
    """What came of a decision. Published by agents."""

    decision_id: UUID = Field(description="The decision.")
    outcome: DecisionOutcome = Field(description="How it turned out.")
    note: Content | None = Field(default=None, description="What happened, in the agent's words.")

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, decision_id, outcome and note, and the time if it was given."""
        return derived(cls.stream, *stated(body, "agent_id", "decision_id", "outcome", "note", "occurred_at"))
