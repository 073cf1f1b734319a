"""Episodes that are so old that less of their transcript is to be at hand, by when they began, in UTC.

    began 30 days before ─▶ trim       began 90 days before ─▶ archive, whether it was trimmed or not: what was missed is made up for once

    its summary is short, or no mind has read it and one is set ─▶ it is read first, and its time comes again the day after
    nothing more was said that a summary can be made of          ─▶ it is left whole, and looked at again after a month

One that is to be read and was not is looked at again after a month too, and as soon as it was.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import providers
from events import EpisodeAged, MaintenanceDue
from nous import clock
from nous.settings import Settings
from store import episodes
from store.database import Read
from store.episodes import SUMMARY_CHARACTERS, Ageing, Old

from . import Due, Task

ASKED_AGAIN_AFTER = timedelta(days=30)

WAITS = {
    "asked": "was to be read first: its time comes again as soon as it was, or 30 days after it was asked for",
    "left": "left whole, for nothing more was said that a summary can be made of: it is looked at again 30 days after",
}

WOULD = {"trim": "its first and last parts stay at hand, the whole is put away", "archive": "none of its transcript stays at hand"}


async def agents(db: Read, now: datetime, settings: Settings) -> list[str]:
    """Who has an episode that is due."""
    return await episodes.agents_with_old(db, _by(now, settings))


async def due(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> Sequence[Due]:
    """The episodes of an agent that are due."""
    found = await episodes.old(db, cause.agent_id, _by(cause.occurred_at, settings), after=cause.after, limit=limit)
    return [_due(one, cause, settings) for one in found]


async def waiting(db: Read, agent: str | None, now: datetime, settings: Settings) -> list[str]:
    """What is of age and not due, because it was looked at lately."""
    found = await episodes.looked_at_lately(db, agent, _by(now, settings))
    return [f"{count:,} more {'is' if count == 1 else 'are'} of age and {WAITS[outcome]}" for outcome, count in found.items()]


def _by(now: datetime, settings: Settings) -> Ageing:
    return Ageing(
        now=now,
        trim=clock.earlier(now, timedelta(days=settings.episode_trim_days)),
        archive=clock.earlier(now, timedelta(days=settings.episode_archive_days)),
        asked=clock.earlier(now, ASKED_AGAIN_AFTER),
    )


def _due(old: Old, cause: MaintenanceDue, settings: Settings) -> Due:
    first = _first(old, settings)
    return Due(
        memory_id=old.episode_id,
        would=f"it is read first, because {first} (left whole where nothing more was said); the day after {WOULD[old.stage]}"
        if first
        else WOULD[old.stage],
        why=f"it began {(cause.occurred_at - old.started_at).days} days before",
        event=EpisodeAged.following(cause, of=str(old.episode_id), episode_id=old.episode_id, stage=old.stage),
    )


def _first(old: Old, settings: Settings) -> str | None:
    """Why it is read before it ages, as the ager will see it; None if it is not."""
    if old.summary_characters is None:
        return "it has no summary"
    if old.summary_characters < SUMMARY_CHARACTERS:
        return f"its summary has fewer than {SUMMARY_CHARACTERS} characters"
    return None if old.is_read or not providers.writes(settings) else "no mind has read it, and one is set"


task = Task(
    name="episodes",
    does="keeps less of old transcripts at hand",
    every=timedelta(days=1),
    agents=agents,
    due=due,
    waiting=waiting,
    decided_by=("episode_trim_days", "episode_archive_days", "episode_trimmed_characters"),
)
