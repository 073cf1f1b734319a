"""Episodes: conversations that ended."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from .base import Content, Count, Event, Moment, ShortText, stated
from .identity import derived

MAX_TRANSCRIPT_CHARACTERS = 1_048_576


class EpisodeClosed(Event):
    """A conversation ended and can be summarised."""

    episode_id: UUID = Field(description="The episode that ended.")
    transcript: Annotated[str, StringConstraints(max_length=MAX_TRANSCRIPT_CHARACTERS)] | None = Field(
        default=None, description="What was said, at most 1,048,576 characters; absent when its turns were reported."
    )
    title: ShortText | None = Field(default=None, description="A title, if it has one already.")
    summary: Content | None = Field(default=None, description="A summary, if any.")
    started_at: Moment | None = Field(default=None, description="When it began.")
    outcome: ShortText | None = Field(default=None, description="How it ended.")
    decision_ids: tuple[UUID, ...] = Field(default=(), description="Decisions made in it.")
    turn_count: Count | None = Field(default=None, description="Turns it had.")
    tool_count: Count | None = Field(default=None, description="Tools used in it.")

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, episode and the whole body."""
        return derived(cls.stream, *stated(body, "agent_id", "episode_id"), repr(sorted(body.items())))
