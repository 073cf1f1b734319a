"""Procedures: how an agent does something, and how often that worked.

procedure_learned ──▶ procedure_recorder    kept, or what it says is brought up to date
procedure_used ─────▶ procedure_counter     counted, with how it went
procedure_restored                          what a person decides: its notes are as they were before they were put together
"""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field

from .base import Content, Event, ShortText, stated
from .identity import derived

Texts = Annotated[tuple[Content, ...], Field(max_length=100)]


class ProcedureLearned(Event):
    """An agent learned how something is done, or learned more about it. Published by agents."""

    procedure_id: UUID = Field(description="The agent's own id for it.")
    name: ShortText = Field(description="What it is called.")
    goals: Texts = Field(default=(), description="What it is for.")
    core_patterns: Texts = Field(default=(), description="Its steps or rules, the most important first.")
    implementation_notes: Texts = Field(
        default=(), description="What was found out while using it; added to those that are there, of which the 200 heard last stay."
    )

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, procedure_id and the whole body."""
        return derived(cls.stream, *stated(body, "agent_id", "procedure_id"), repr(sorted(body.items())))


class ProcedureUsed(Event):
    """A procedure was used. Published by agents; without an event_id each publication counts, so producers that retry must send one."""

    procedure_id: UUID = Field(description="The procedure.")
    worked: bool | None = Field(default=None, description="Whether it worked, if that is known.")
    note: Content | None = Field(default=None, description="What was found out; added to its implementation notes.")


class ProcedureRestored(Event):
    """A person decided that the notes of a procedure are better as they were before they were put together last."""

    procedure_id: UUID = Field(description="The procedure.")
    reason: ShortText = Field(description="Why, in the person's words.")
