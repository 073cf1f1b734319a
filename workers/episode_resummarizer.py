"""Episode resummarizer: an episode that was settled without a mind is read by one, once there is one.

    episode_unsettled ─┬─ no mind has read it ─▶ title, summary and facts by a mind; a summary that came with it stays
                       ├─ a mind has read it ──▶ skipped
                       └─ no answer ───────────▶ it waits, with the summary it has

It does what the episode summarizer does. The summarizer asks for it when it works with a mind, and so does `nous episode resummarize`.
"""

from collections.abc import Sequence

from events import EpisodeSummarized, EpisodeUnsettled, FactLearned
from store.database import Write
from workers.episodes import reading, settling
from workers.episodes.reading import Considered
from workers.runtime.worker import Ending, Job, Kit, Worker


async def read(events: Sequence[EpisodeUnsettled], kit: Kit) -> Sequence[Considered]:
    """Each episode with what is to be remembered of it."""
    return await reading.consider(events, kit, worker=worker.name)


async def resummarize(db: Write, jobs: Sequence[Job[EpisodeUnsettled, Considered]], kit: Kit) -> Sequence[Ending]:
    """Read with a mind an episode that was settled without one."""
    return await settling.renew(db, jobs, kit)


worker = Worker(
    on=EpisodeUnsettled,
    think=read,
    write=resummarize,
    outcomes=settling.OUTCOMES,
    publishes=(EpisodeSummarized, FactLearned),
    patience=settling.PATIENCE,
    side_by_side=settling.SIDE_BY_SIDE,
)
