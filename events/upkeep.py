"""Upkeep: what ages, was never asked for, or piles up, one memory at a time.

the clock ─▶ maintenance_due ─▶ upkeep_planner ─┬─▶ episode_aged        its transcript is shortened, or put away
             of an agent and a task    ▲        ├─▶ fact_unused         it is demoted, or archived
                                       │        ├─▶ notes_piled_up      a procedure's notes are put together
                                       └────────┤─▶ transcript_expired  what was put away is let go of
                                   the next page┘
"""

from typing import Literal
from uuid import UUID

from pydantic import Field

from .base import Event, ShortText

UpkeepTask = Literal["episodes", "facts", "procedures", "transcripts"]
"""What is kept up, each with a clock of its own."""


class MaintenanceDue(Event):
    """It is time to look after an agent's memory. `occurred_at` is the moment that ages are counted to."""

    task: UpkeepTask = Field(description="What is looked after.")
    period: ShortText = Field(description="The period of the clock it is done for, such as 2026-11-30; once in each.")
    after: UUID | None = Field(default=None, description="The memory that the page before ended with; absent for the first page.")


class EpisodeAged(Event):
    """An episode is so old that less of its transcript is kept at hand."""

    episode_id: UUID = Field(description="The episode.")
    stage: Literal["trim", "archive"] = Field(description="Its first and last parts stay, or none of it; the whole is put away.")


class FactUnused(Event):
    """A fact is old and was never found for any question since that is counted."""

    fact_id: UUID = Field(description="The fact.")
    step: Literal["demote", "archive"] = Field(description="It counts for less, or it is no longer active; both can be undone.")


class NotesPiledUp(Event):
    """A procedure has more notes than are read."""

    procedure_id: UUID = Field(description="The procedure.")


class TranscriptExpired(Event):
    """A transcript that was put away has reached the age until which it is kept."""

    episode_id: UUID = Field(description="The episode.")
