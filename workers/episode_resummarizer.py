"""Episode resummarizer: an episode that was settled without a mind is read by one, once there is one.

    episode_unsettled ─┬─ no mind has read it ─▶ title, summary and facts by a mind; a summary that came with it stays
                       ├─ before it ages, a summary that says too little ─▶ written anew, whoever wrote it, by a mind or without one
                       ├─ a mind has read it ──▶ skipped
                       ├─ no mind is set here ─▶ it waits for a process that has one
                       └─ no answer ───────────▶ it waits, with the summary it has

It does what the episode summarizer does. The summarizer asks for it when it works with a mind, and so do the episode ager and
`nous episode resummarize`.
"""

from collections.abc import Sequence
from datetime import timedelta

from events import EpisodeSummarized, EpisodeUnsettled, FactLearned
from store import episodes
from store.database import Write
from workers.episodes import reading, settling
from workers.episodes.reading import Considered, Told
from workers.runtime.worker import Ending, GiveUp, Job, Kit, RetryLater, Skip, Worker

MINDLESS_WAIT = timedelta(minutes=1)


async def read(events: Sequence[EpisodeUnsettled], kit: Kit) -> Sequence[Considered]:
    """Each episode with what is to be remembered of it."""
    return await reading.consider(events, kit, worker=worker.name)


async def resummarize(db: Write, jobs: Sequence[Job[EpisodeUnsettled, Considered]], kit: Kit) -> Sequence[Ending]:
    """Read with a mind an episode that was settled without one."""
    return [await _renew(db, job.event, job.thought, kit) for job in jobs]


async def _renew(db: Write, event: EpisodeUnsettled, thought: Considered, kit: Kit) -> Ending:
    row = await episodes.get(db, event.agent_id, event.episode_id)
    if row is None:
        return GiveUp(f"agent {event.agent_id!r} has no episode {event.episode_id}; it was probably published by hand")
    if row.model is not None and not (event.why == "before_ageing" and reading.is_short(row)):
        return Skip(f"{row.model} has read it already")
    if not row.active:
        return Skip(f"the episode was put aside ({row.put_aside}); nous episode restore brings it back")
    if isinstance(thought.told, Told) and row == thought.found.row:
        return await settling.settle(db, event, row, thought, thought.told, kit)
    if not settling.has_writer(kit):
        return RetryLater(MINDLESS_WAIT, "no mind that writes is set where this worker runs: set ANTHROPIC_API_KEY there", together=True)
    return settling.unsettled(row, thought)


worker = Worker(
    on=EpisodeUnsettled,
    think=read,
    write=resummarize,
    outcomes=settling.OUTCOMES,
    publishes=(EpisodeSummarized, FactLearned),
    patience=settling.PATIENCE,
    asks=True,
    side_by_side=settling.SIDE_BY_SIDE,
)
