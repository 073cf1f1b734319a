"""Episodes that are so old that less of their transcript is to be at hand, by when they began, in UTC.

    began 30 days before ─▶ trim       began 90 days before ─▶ archive, whether it was trimmed or not: what was missed is made up for once

One whose summary was asked for first, or that nobody can summarise, is due again as soon as it has one, and looked at again after a month.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from events import EpisodeAged, MaintenanceDue
from nous import clock
from nous.settings import Settings
from store import episodes
from store.database import Read
from store.episodes import Ageing, Old

from . import Due, Task

ASKED_AGAIN_AFTER = timedelta(days=30)

WOULD = {"trim": "its first and last parts stay at hand, the whole is put away", "archive": "none of its transcript stays at hand"}


async def agents(db: Read, now: datetime, settings: Settings) -> list[str]:
    """Who has an episode that is due."""
    return await episodes.agents_with_old(db, _by(now, settings))


async def due(db: Read, cause: MaintenanceDue, settings: Settings, limit: int) -> Sequence[Due]:
    """The episodes of an agent that are due."""
    found = await episodes.old(db, cause.agent_id, _by(cause.occurred_at, settings), after=cause.after, limit=limit)
    return [_due(one, cause) for one in found]


def _by(now: datetime, settings: Settings) -> Ageing:
    return Ageing(
        now=now,
        trim=clock.earlier(now, timedelta(days=settings.episode_trim_days)),
        archive=clock.earlier(now, timedelta(days=settings.episode_archive_days)),
        asked=clock.earlier(now, ASKED_AGAIN_AFTER),
    )


def _due(old: Old, cause: MaintenanceDue) -> Due:
    return Due(
        memory_id=old.episode_id,
        would=WOULD[old.stage],
        why=f"it began {(cause.occurred_at - old.started_at).days} days before",
        event=EpisodeAged.following(cause, of=str(old.episode_id), episode_id=old.episode_id, stage=old.stage),
    )


task = Task(
    name="episodes",
    does="keeps less of old transcripts at hand",
    every=timedelta(days=1),
    agents=agents,
    due=due,
    decided_by=("episode_trim_days", "episode_archive_days", "episode_trimmed_characters"),
)
