"""Episodes: conversations that ended.

episode_closed ───▶ episode_summarizer ──┬─▶ episode_summarized   it has a title and a summary
episode_unsettled ▶ episode_resummarizer ┼─▶ fact_learned         what is worth knowing without it, each with its quote
                                         └─▶ episode_unsettled    one that was summarised without a mind, while there is one now
nous episode restore ──────────────────────▶ episode_restored     what had been put aside as noise is active again
nous episode thaw ─────────────────────────▶ episode_thawed       what was said is at hand again, all of it
"""

from collections.abc import Mapping
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from .base import Content, Count, Event, Moment, ShortText, stated
from .identity import derived

SummaryWriter = Literal["producer", "mind", "extract"]

MAX_TRANSCRIPT_CHARACTERS = 1_048_576


class EpisodeClosed(Event):
    """A conversation ended and can be summarised."""

    episode_id: UUID = Field(description="The episode that ended.")
    transcript: Annotated[str, StringConstraints(max_length=MAX_TRANSCRIPT_CHARACTERS)] | None = Field(
        default=None, description="What was said, at most 1,048,576 characters; absent when its turns were reported."
    )
    title: ShortText | None = Field(default=None, description="A title, if it has one already.")
    summary: Content | None = Field(default=None, description="A summary, if any.")
    started_at: Moment | None = Field(default=None, description="When it began; not after it ended.")
    outcome: ShortText | None = Field(default=None, description="How it ended.")
    decision_ids: tuple[UUID, ...] = Field(default=(), description="Decisions made in it.")
    turn_count: Count | None = Field(default=None, description="Turns it had.")
    tool_count: Count | None = Field(default=None, description="Tools used in it.")
    lessons_learned: tuple[Content, ...] = Field(default=(), description="What was learned from it, in the agent's words.")
    frame_used: ShortText | None = Field(default=None, description="The frame it was held in.")

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:  # noqa: ARG003 - a retry is another entry
        """What a retrying producer repeats: agent, episode and the whole body."""
        return derived(cls.stream, *stated(body, "agent_id", "episode_id"), repr(sorted(body.items())))


class EpisodeSummarized(Event):
    """A closed episode has its title and summary."""

    episode_id: UUID = Field(description="The episode.")
    title: ShortText = Field(description="Its title.")
    summary: Content = Field(description="Its summary.")
    written_by: SummaryWriter = Field(description="Who wrote it: it came with the event, a mind did, or it was cut out without one.")
    fact_count: Count = Field(description="Facts that were learned from it.")


class EpisodeUnsettled(Event):
    """An episode is to be summarised again."""

    episode_id: UUID = Field(description="The episode.")
    why: Literal["a_mind_appeared", "asked_again", "its_words_came", "before_ageing"] = Field(
        description="What happened: there is a mind now, a person asked, what was said came after its summary, or it is so old that less of"
        " its transcript is kept at hand once it has a summary to speak for it."
    )


class EpisodeRestored(Event):
    """A person decided that an episode which had been put aside as noise is worth remembering."""

    episode_id: UUID = Field(description="The episode.")
    reason: ShortText = Field(description="Why, in the person's words.")


class EpisodeThawed(Event):
    """A person decided that all that was said in an episode is at hand again, and stays so for a while."""

    episode_id: UUID = Field(description="The episode.")
    until: Moment = Field(description="Until when it does not age again.")
    reason: ShortText = Field(description="Why, in the person's words.")
