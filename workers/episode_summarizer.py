"""Episode summarizer: a closed episode gets a title and a summary, and what is worth knowing without it is learned.

    episode_closed ─┬─ its turns, or its transcript ─▶ a mind writes: title, summary, outcome, lessons, facts with their quotes
                    │                                  └─▶ episode_summarized, and fact_learned for each fact that somebody said
                    ├─ it brings its summary ────────▶ that is kept; the mind is only asked for facts
                    ├─ no mind ──────────────────────▶ extracted: title and summary cut out, no facts; redone when a mind appears
                    ├─ no answer: away, over budget ─▶ closed, with its transcript, and waiting
                    ├─ settled before ───────────────▶ nothing twice; decisions named anew are linked
                    ├─ nobody said anything ─────────▶ skipped
                    └─ unknown, or another agent's ──▶ awaited, then parked

What was recalled into the conversation is not read, a tool's words are no source, and a fact whose quote nobody said is dropped and
counted (episodes/). Long transcripts are read in parts and then together, so that the end is seen as well as the beginning.
"""

from collections.abc import Sequence

from events import EpisodeClosed, EpisodeSummarized, EpisodeUnsettled, FactLearned
from store.database import Write
from workers.episodes import reading, settling
from workers.episodes.reading import Considered
from workers.runtime.worker import Ending, Job, Kit, Worker


async def read(events: Sequence[EpisodeClosed], kit: Kit) -> Sequence[Considered]:
    """Each episode with what is to be remembered of it."""
    return await reading.consider(events, kit, worker=worker.name)


async def summarize(db: Write, jobs: Sequence[Job[EpisodeClosed, Considered]], kit: Kit) -> Sequence[Ending]:
    """Give a closed episode its title and summary, and learn from it what is worth knowing."""
    return await settling.close(db, jobs, kit)


worker = Worker(
    on=EpisodeClosed,
    think=read,
    write=summarize,
    outcomes=settling.OUTCOMES,
    publishes=(EpisodeSummarized, FactLearned, EpisodeUnsettled),
    patience=settling.PATIENCE,
    side_by_side=settling.SIDE_BY_SIDE,
)
