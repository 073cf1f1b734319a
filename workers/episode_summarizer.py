"""Episode summarizer: a closed episode gets a title and a summary, and what is worth knowing without it is learned.

    episode_closed ─┬─ its turns, or its transcript ─▶ a mind writes: title, summary, outcome, lessons, facts with their quotes
                    │                                  └─▶ episode_summarized, and fact_learned for each fact that somebody said
                    ├─ it brings its summary ────────▶ that is kept; the mind is only asked for facts
                    ├─ no mind ──────────────────────▶ extracted: title and summary cut out, no facts; redone when a mind appears
                    ├─ no answer: away, over budget ─▶ closed, with its transcript, and waiting
                    ├─ settled before ───────────────▶ nothing twice; decisions named anew are linked, and a transcript where there was
                    │                                  none is kept, and read
                    ├─ nobody said anything ─────────▶ skipped
                    └─ unknown, or another agent's ──▶ awaited, then parked

What was recalled into the conversation is not read, a tool's words are no source, and a fact whose quote nobody said is dropped and
counted (episodes/). Long transcripts are read in parts and then together, so that the end is seen as well as the beginning.
"""

from collections.abc import Sequence
from dataclasses import replace

from events import EpisodeClosed, EpisodeSummarized, EpisodeUnsettled, FactLearned
from nous import clock
from store import episodes
from store.database import Write
from store.episodes import Episode
from workers.episodes import reading, settling
from workers.episodes.closed import changed, closed, given
from workers.episodes.reading import Considered, Told
from workers.runtime import overtaken
from workers.runtime.asking import Open
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, Skip, Worker


async def read(events: Sequence[EpisodeClosed], kit: Kit) -> Sequence[Considered]:
    """Each episode with what is to be remembered of it."""
    return await reading.consider(events, kit, worker=worker.name)


async def summarize(db: Write, jobs: Sequence[Job[EpisodeClosed, Considered]], kit: Kit) -> Sequence[Ending]:
    """Give a closed episode its title and summary, and learn from it what is worth knowing."""
    return [await _close(db, job.event, job.thought, kit) for job in jobs]


async def _close(db: Write, event: EpisodeClosed, thought: Considered, kit: Kit) -> Ending:
    now = clock.now()
    row = await episodes.get(db, event.agent_id, event.episode_id)
    episode = closed(row, event, now=now)
    if row is None and thought.found.owner:
        return GiveUp(
            f"episode {event.episode_id} is another agent's (nous episode show {event.episode_id}), and this event names agent"
            f" {event.agent_id!r}; publish it with the right agent_id"
        )
    if episode is None:
        wait = overtaken.wait_for(
            f"agent {event.agent_id!r} has no episode {event.episode_id} and the event carries no transcript; publish it again with a"
            " transcript, or after its turns",
            kit,
        )
        return replace(wait, together=False)  # what waits together here waits for a mind
    if row is not None and row.settled_by:
        return await _afterwards(db, event, row, kit)
    if not episode.active:
        return Skip(f"the episode was put aside ({episode.put_aside}); nous episode restore brings it back")
    if isinstance(thought.told, Told) and row == thought.found.row:
        return await settling.settle(db, event, episode, thought, thought.told, kit)
    if row is not None or isinstance(thought.told, Open):
        await episodes.put(db, episode)
        await episodes.link_decisions(db, event.agent_id, event.episode_id, dict.fromkeys(event.decision_ids, "named"))
    return settling.unsettled(row, thought)


async def _afterwards(db: Write, event: EpisodeClosed, episode: Episode, kit: Kit) -> Ending:
    """It is settled; which decisions belong to it may be news, and what was said in it when only its summary had come."""
    known = {decision for _, decision, _ in await episodes.decisions_of(db, event.agent_id, [event.episode_id])}
    decisions = [one for one in event.decision_ids if one not in known]
    is_wordless = episode.detail is None and episode.session_key is None and not episode.aged
    transcript = given(event.transcript) if is_wordless else None
    news = [*([f"{len(decisions)} more decisions belong to it"] if decisions else []), *(["what was said came now"] if transcript else [])]
    if not news:
        return Skip(f"the episode was settled before, by event {episode.settled_by}")
    await episodes.link_decisions(db, event.agent_id, event.episode_id, dict.fromkeys(decisions, "named"))
    if transcript:
        await episodes.put(db, changed(episode, replace(episode, detail=event.transcript), event, now=clock.now()))
    return Done(
        "linked",
        about=event.episode_id,
        reason=f"it was settled before, by event {episode.settled_by}; {' and '.join(news)}",
        evidence={"decisions": dict.fromkeys(map(str, decisions), "named"), "transcript": bool(transcript)},
        publishes=(_to_be_read(event),) if transcript and settling.has_writer(kit) else (),
    )


def _to_be_read(event: EpisodeClosed) -> EpisodeUnsettled:
    return EpisodeUnsettled.following(event, episode_id=event.episode_id, why="its_words_came")


worker = Worker(
    on=EpisodeClosed,
    think=read,
    write=summarize,
    outcomes=settling.OUTCOMES,
    publishes=(EpisodeSummarized, FactLearned, EpisodeUnsettled),
    patience=settling.PATIENCE,
    asks=True,
    side_by_side=settling.SIDE_BY_SIDE,
)
