"""Censors: warnings an agent trips.

censor_triggered ──▶ censor_escalator ──▶ censor_escalated    a warning that kept firing now blocks
nous censor add, relax ──────────────────▶ censor_added, censor_relaxed
"""

from typing import Literal
from uuid import UUID

from pydantic import Field

from .base import MAX_COUNT, Content, Count, Event, ShortText

Severity = Literal["warn", "block", "absolute"]
"""warn tells, block stops and can be relaxed, absolute stops and is never changed by a count."""


class CensorTriggered(Event):
    """An agent ran into a censor. Without an event_id each publication counts as new, so producers that retry must send one."""

    censor_id: UUID = Field(description="The censor that fired.")
    was_blocked: bool = Field(description="Whether the agent was stopped.")
    matched_text: Content | None = Field(default=None, description="What it matched.")
    false_positive: bool = Field(default=False, description="It should not have fired: counted apart, never pushes to escalation.")


class CensorEscalated(Event):
    """A warning fired often enough to become a block."""

    censor_id: UUID = Field(description="The censor that was hardened.")
    old_severity: Severity = Field(description="What it was.")
    new_severity: Severity = Field(description="What it is now.")
    activation_count: Count = Field(description="How often it has fired.")


class CensorAdded(Event):
    """A person added a censor."""

    censor_id: UUID = Field(description="The new censor.")
    trigger_pattern: Content = Field(
        description="What it watches for: these words, in any case and however they are spaced; * stands for anything of the same line."
    )
    reason: Content = Field(description="Why it is there.")
    severity: Severity = Field(description="What it does when it fires.")
    escalation_threshold: int = Field(ge=1, le=MAX_COUNT, description="Activations after which a warning becomes a block.")


class CensorRelaxed(Event):
    """A person turned a block back into a warning."""

    censor_id: UUID = Field(description="The censor that was relaxed.")
    reason: ShortText = Field(description="Why.")
