"""Forgetting: what a person had erased. Ids only, and never a word of what it was.

nous fact forget ──▶ fact_forgotten     a fact, with all that it comes from and that comes from it
nous agent forget ─▶ agent_forgotten    an agent, whole; it is told under a hash of the agent's name
"""

from uuid import UUID

from pydantic import Field

from .base import Event, ShortText


class FactForgotten(Event):
    """A person had a fact erased, with every trace of its words. What arrives under its events again is refused."""

    fact_id: UUID = Field(description="The fact.")
    fact_ids: tuple[UUID, ...] = Field(description="Every row that was erased with it.")
    event_ids: tuple[ShortText, ...] = Field(description="Every event that was erased with it, as stream:event_id.")


class AgentForgotten(Event):
    """A person had everything of an agent erased. Its agent_id is a hash of the agent's name, which is all that stays of it."""
