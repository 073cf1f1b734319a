"""Transcripts that were put away for as long as they are kept, counted from when they were: each can be thawed for so long."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from events import MaintenanceDue, TranscriptExpired
from nous import clock
from nous.settings import Settings
from store import transcripts
from store.database import Read

from . import Due, Task


async def agents(db: Read, now: datetime, settings: Settings) -> list[str]:
    """Who has a transcript that is due."""
    before = _before(now, settings)
    return await transcripts.agents_expired(db, before=before) if before else []


async def due(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> Sequence[Due]:
    """The transcripts of an agent that are due."""
    before = _before(cause.occurred_at, settings)
    found = await transcripts.expired(db, cause.agent_id, before=before, after=cause.after, limit=limit) if before else []
    return [
        Due(
            memory_id=episode,
            would="its transcript is let go of",
            why=f"it was put away {(cause.occurred_at - put_away_at).days} days before",
            event=TranscriptExpired.following(cause, of=str(episode), episode_id=episode),
        )
        for episode, put_away_at in found
    ]


def _before(now: datetime, settings: Settings) -> datetime | None:
    """Before when it must have been put away; None when all is kept for ever."""
    days = settings.transcript_cold_days
    return clock.earlier(now, timedelta(days=days)) if days else None


task = Task(
    name="transcripts",
    does="lets go of transcripts that were put away long ago",
    every=timedelta(days=1),
    agents=agents,
    due=due,
    decided_by=("transcript_cold_days",),
)
