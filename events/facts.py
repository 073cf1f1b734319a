"""Facts: what an agent learned, and what became of it.

fact_learned ──▶ deduplicator ─┬─▶ fact_stored       a new row, recallable at once
                               └─▶ fact_confirmed    one more mention of a row that was there

fact_stored ───▶ supersession_checker ──┬─▶ fact_superseded    no longer true: a later claim says otherwise
fact_unsettled ▶ supersession_rechecker ┼─▶ fact_merged        the same as another: one fact, every wording kept
                                        └─▶ fact_unsettled     how it stands to others is to be looked at again

fact_restored, fact_split                                      what a person decides: these two are two facts, for ever
fact_joined, fact_retired                                      what a person decides: these two are one, or one ended the other
fact_pinned, fact_unpinned, fact_reinstated                    what a person decides of upkeep: let it be, or undo what was done
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from .base import Confidence, Content, Count, Event, Moment, Provenance, ShortText, stated
from .identity import derived

Unsettling = Literal["claimed_again", "retired_another", "may_have_missed", "freed", "asked_again"]
"""Why a fact is looked at again."""


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

    @staticmethod
    def derive_fact_id(agent_id: str, content: str) -> str:
        """The id of a fact that its producer gave none: it follows from agent and content, so the same said again is the same fact."""
        return derived("fact_id", agent_id, content)


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


class FactSuperseded(Event):
    """A fact was retired: a later claim says otherwise. It stays, with the times it was true."""

    fact_id: UUID = Field(description="The fact that is no longer true.")
    superseded_by: UUID = Field(description="The fact that is true instead.")
    valid_to: Moment = Field(description="When it ceased to be true: when the other was first claimed.")


class FactMerged(Event):
    """Two facts turned out to be one. Every wording is kept, and the merge can be undone."""

    fact_id: UUID = Field(description="The fact that is now part of another.")
    merged_into: UUID = Field(description="The fact it is part of, the older one.")


class FactUnsettled(Event):
    """How a fact stands to others is to be looked at again."""

    fact_id: UUID = Field(description="The fact.")
    why: Unsettling = Field(
        description=(
            "What happened: it was claimed again; it retired another; another may have been hidden by what it was compared with;"
            " it was freed, by a person or by a late claim; or another mind is asked."
        )
    )


class FactRestored(Event):
    """A person decided that a fact is still true beside the one that had retired it. This outranks every model, for ever."""

    fact_id: UUID = Field(description="The fact that had been retired.")
    beside: UUID = Field(description="The fact that had retired it.")
    reason: ShortText = Field(description="Why, in the person's words.")


class FactSplit(Event):
    """A person decided that a wording is a fact of its own, not the one it was merged into. This outranks every model, for ever."""

    fact_id: UUID = Field(description="The published fact_id of the wording, or the fact that had been merged.")
    apart_from: UUID = Field(description="The fact it had become part of.")
    reason: ShortText = Field(description="Why, in the person's words.")


class FactJoined(Event):
    """A person decided that two facts are one: the older stays, with every wording. This outranks every model, for ever."""

    fact_id: UUID = Field(description="The one fact.")
    joined_with: UUID = Field(description="The other one, which says the same.")
    reason: ShortText = Field(description="Why, in the person's words.")


class FactRetired(Event):
    """A person decided that a fact is no longer true since another one was claimed. This outranks every model, for ever."""

    fact_id: UUID = Field(description="The fact that is no longer true.")
    retired_by: UUID = Field(description="The fact that is true instead, claimed later.")
    reason: ShortText = Field(description="Why, in the person's words.")


class FactPinned(Event):
    """A person decided that upkeep lets a fact be: it is neither demoted nor archived, however old and unasked for."""

    fact_id: UUID = Field(description="The fact.")
    reason: ShortText = Field(default="", description="Why, in the person's words, if they say so.")


class FactUnpinned(Event):
    """A person decided that upkeep need not let a fact be any more."""

    fact_id: UUID = Field(description="The fact.")
    reason: ShortText = Field(default="", description="Why, in the person's words, if they say so.")


class FactReinstated(Event):
    """A person undid what upkeep did to a fact: it is active again and counts in full, and its age counts anew."""

    fact_id: UUID = Field(description="The fact that had been demoted or archived.")
    reason: ShortText = Field(description="Why, in the person's words.")
