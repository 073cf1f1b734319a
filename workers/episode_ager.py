"""Episode ager: an episode that is old enough keeps its first and last parts at hand, then nothing of its transcript.

    episode_aged ─┬─ it is read, and its summary can speak for it ─▶ trim: its first and last parts stay, archive: none of it;
                  │                                                  the whole is put away (episodes/ageing.py)
                  ├─ it is not, or its summary says too little ────▶ episode_unsettled: it is read first; its time comes again
                  ├─ nothing can be made of it ────────────────────▶ left as it is, and looked at again in a month
                  └─ aged before, put aside, thawed, gone on again ─▶ skipped

It looks at the episode as it is, under its agent's lock: what was planned hours ago may be done already. Without a mind a summary that was
cut out of the text is all there will be, and counts as read.
"""

from datetime import timedelta

from events import EpisodeAged, EpisodeUnsettled, derived
from nous import clock
from nous.aside import aside
from store import episodes, sessions, transcripts
from store.database import Write
from store.episodes import SUMMARY_CHARACTERS, Aged, Episode
from store.transcripts import Transcript
from workers.episodes import ageing, reading, settling, transcript
from workers.episodes.sources import Said
from workers.runtime.worker import Done, Ending, Kit, Skip, Worker, each

OUTCOMES = ("trimmed", "archived", "asked", "left")
"""Its first and last parts are at hand; nothing is; it is to be read first; nothing can be made that would speak for it."""

BECOMES: dict[str, Aged] = {"trim": "trimmed", "archive": "archived"}

SIDE_BY_SIDE = 2
"""Each in a transaction of its own, so that whoever talks with the agent meanwhile waits for one episode and not for a page of them."""


async def age(db: Write, event: EpisodeAged, kit: Kit) -> Ending:
    """Keep less of an old episode's transcript at hand, once its summary and its facts are there."""
    episode = await episodes.get(db, event.agent_id, event.episode_id)
    if episode is None:
        return Skip(f"agent {event.agent_id!r} has no episode {event.episode_id}")
    if why := await _why_not(db, episode, event, kit):
        return Skip(why)
    there = await transcripts.at_hand(db, episode)
    said = await transcripts.whole(db, episode, there)
    if lacks := await _lacks(episode, said, kit):
        return await _first(episode, event, lacks, said, kit)
    becomes = BECOMES[event.stage]
    evidence = await ageing.shorten(db, episode, said, becomes, there=there, settings=kit.settings, by=event)
    return Done(becomes, about=episode.episode_id, reason=_reason(episode, event, kit), evidence={"model": _model(kit), **evidence})


async def _why_not(db: Write, episode: Episode, event: EpisodeAged, kit: Kit) -> str | None:
    """Why nothing is done with it, if that is so."""
    if not episode.active:
        return f"the episode was put aside ({episode.put_aside})"
    if episode.aged == "archived" or episode.aged == BECOMES[event.stage]:
        return f"it is {episode.aged} already"
    if episode.whole_until is not None and episode.whole_until > event.occurred_at:
        return f"a person said that it stays whole until {episode.whole_until.isoformat()}"
    if episode.started_at > clock.earlier(event.occurred_at, timedelta(days=_days(event, kit))):
        return f"it began {episode.started_at.isoformat()}, which is less than {_days(event, kit)} days before"
    session = await sessions.get(db, event.agent_id, episode.session_key) if episode.session_key else None
    return "it goes on" if episode.ended_at is None or (session is not None and session.ended_at is None) else None


def _days(event: EpisodeAged, kit: Kit) -> int:
    return kit.settings.episode_trim_days if event.stage == "trim" else kit.settings.episode_archive_days


async def _lacks(episode: Episode, said: Transcript, kit: Kit) -> str | None:
    """What is to be made before less of the transcript is at hand, if anything."""
    if episode.settled_by is None:
        return "it has no summary"
    if reading.is_short(episode):
        return f"its summary has fewer than {SUMMARY_CHARACTERS} characters"
    is_read = episode.model is not None or not settling.has_writer(kit) or not await _is_voiced(said)
    return None if is_read else f"no mind has read it, and {_model(kit)} can"


async def _first(episode: Episode, event: EpisodeAged, lacks: str, said: Transcript, kit: Kit) -> Done:
    """Have it read; its time comes again."""
    evidence = {"model": _model(kit)}
    can_be_made = await _is_voiced(said) and (settling.has_writer(kit) or episode.settled_by is not None)
    if not can_be_made or said.characters < SUMMARY_CHARACTERS:
        return Done("left", about=episode.episode_id, reason=f"{lacks}, and there is nothing to make it of", evidence=evidence)
    of = (event.agent_id, str(episode.episode_id), "before_ageing", _model(kit), episode.recorded_by)
    asked = EpisodeUnsettled.following(
        event, event_id=derived(EpisodeUnsettled.stream, *of), episode_id=episode.episode_id, why="before_ageing"
    )
    return Done("asked", about=episode.episode_id, reason=lacks, evidence=evidence, publishes=(asked,))


async def _is_voiced(said: Transcript) -> bool:
    """Whether anybody said anything that a summary can be made of."""
    return Said(await aside(said.characters, transcript.of, said)).is_voiced


def _reason(episode: Episode, event: EpisodeAged, kit: Kit) -> str:
    kept = "only its first and last parts stay" if event.stage == "trim" else "nothing of it stays"
    return f"it began {(event.occurred_at - episode.started_at).days} days before, and after {_days(event, kit)} {kept} at hand"


def _model(kit: Kit) -> str:
    return kit.mind.model("writing")


worker = Worker(on=EpisodeAged, write=each(age), outcomes=OUTCOMES, publishes=(EpisodeUnsettled,), side_by_side=SIDE_BY_SIDE)
