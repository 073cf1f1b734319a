"""Facts: what an agent learned, and what became of it.

fact_learned ──▶ deduplicator ─┬─▶ fact_stored       a new row, recallable at once
                               └─▶ fact_confirmed    one more mention of a row that was there
"""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field

from .base import Confidence, Content, Count, Event, Provenance, ShortText, stated
from .identity import derived


class FactLearned(Event):
    """An agent learned a fact. Published by agents."""

    fact_id: UUID = Field(description="The agent's own id for it; resolves for ever to the fact it became.")
    content: Content = Field(description="The fact in one sentence, at most 8,000 characters. Empty is valid and skipped.")
    subject: ShortText | None = Field(default=None, description="Who or what it is about.")
    attribute: ShortText | None = Field(default=None, description="Which property of the subject it states.")
    provenance: Provenance = Field(default="assistant_derived", description="Who vouches for it.")
    confidence: Confidence = Field(default=0.5, description="0 to 1: how clearly the source said so.")
    source: ShortText | None = Field(default=None, description="Where it came from, such as episode:<id>.")
    quote: Content | None = Field(default=None, description="The words it rests on.")

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, fact_id and content, and the time if it was given."""
        return derived(cls.stream, *stated(body, "agent_id", "fact_id", "content", "occurred_at"))


class FactStored(Event):
    """A fact became a row of its own."""

    fact_id: UUID = Field(description="The fact that was stored.")
    content: Content = Field(description="Its wording.")
    subject: ShortText | None = Field(default=None, description="Who or what it is about.")
    attribute: ShortText | None = Field(default=None, description="Which property of the subject it states.")
    provenance: Provenance = Field(default="assistant_derived", description="Who vouches for it.")
    confidence: Confidence = Field(default=0.5, description="0 to 1.")
    likely_twin: UUID | None = Field(default=None, description="The nearest active fact at or above CHECK_SIMILARITY, if any.")
    similarity: Annotated[float, Field(ge=-1, le=1)] | None = Field(default=None, description="Cosine to the likely twin.")


class FactConfirmed(Event):
    """A fact that was known was heard again."""

    fact_id: UUID = Field(description="The fact that was confirmed.")
    mention_id: UUID = Field(description="The fact_id under which it was heard this time.")
    confirmation_count: Count = Field(description="How often it has been confirmed, this time included.")
    similarity: Annotated[float, Field(ge=-1, le=1)] = Field(description="Cosine to the stored wording; 1 for the same words.")
