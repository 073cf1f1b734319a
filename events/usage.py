"""Use: which memories were found for a question, and which of them the answer drew on.

a question ──▶ memory_recalled ───▶ recall_counter       how often a memory was found, and how often it was told
its answer ──▶ memory_referenced ─▶ reference_counter    how often what was told was of use, of how often that could be seen

Being found moves nothing by itself, nor does being told where nobody saw the answer: what counts is what was drawn on, of what an answer
was compared with.
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from .base import Event, ShortText, stated
from .identity import derived

MemoryKind = Literal["fact", "episode", "decision", "procedure", "passage"]
"""What can be recalled."""

MOST_MEMORIES = 500


class RecalledMemory(BaseModel):
    """A memory that was found for a question."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: MemoryKind = Field(description="What it is.")
    id: UUID = Field(description="Its id.")
    injected: bool = Field(default=True, description="Whether it was told, or only found.")


class ReferencedMemory(BaseModel):
    """A memory that an answer drew on."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: MemoryKind = Field(description="What it is.")
    id: UUID = Field(description="Its id.")
    how: Literal["overlap", "cited"] = Field(description="How that is known: the answer shares its words, or names its id.")
    overlap: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description="The share of words, if it was measured.")


class ComparedMemory(BaseModel):
    """A memory that an answer was compared with."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: MemoryKind = Field(description="What it is.")
    id: UUID = Field(description="Its id.")


class MemoryRecalled(Event):
    """Memories were found for a question, and some of them told. Published by whoever serves memory."""

    recall_id: UUID = Field(description="The recall; what it led to names it again.")
    session_id: ShortText | None = Field(default=None, description="The session it was for.")
    turn: ShortText | None = Field(default=None, description="The turn it was for, by the id it was reported under.")
    frame: ShortText | None = Field(default=None, description="The frame it was told in.")
    memories: Annotated[tuple[RecalledMemory, ...], Field(max_length=MOST_MEMORIES)] = Field(
        description="What was found: the kind and id of each, and whether it was told (`injected`)."
    )

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent and recall_id. One recall is counted once."""
        return derived(cls.stream, *stated(body, "agent_id", "recall_id"))


class MemoryReferenced(Event):
    """An answer was compared with memories that had been told, and drew on some of them or on none. Published by whoever serves memory."""

    recall_id: UUID = Field(description="The recall that told them.")
    memories: Annotated[tuple[ReferencedMemory, ...], Field(max_length=MOST_MEMORIES)] = Field(
        description="What was drawn on: the kind and id of each, how that is known (`overlap` or `cited`), and the `overlap`."
    )
    compared: Annotated[tuple[ComparedMemory, ...], Field(max_length=MOST_MEMORIES)] = Field(
        default=(),
        description="What the answer was compared with: the kind and id of each, those that were drawn on too. Of these alone `memories`"
        " says something about how useful they are.",
    )

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent and recall_id. One answer is counted once."""
        return derived(cls.stream, *stated(body, "agent_id", "recall_id"))
