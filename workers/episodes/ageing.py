"""Ageing: less of an old episode's transcript is at hand, or none; the whole of it is put away, and a person can have it back.

    whole ──shorten──▶ its first and last parts at hand, or nothing ─┬─ whole ─▶ heart.transcripts_cold, compressed
     ▲                                                               ├─ ids of turns that are away: they are recognised still
     │                                                               └─ passages stay: it is found by what was said in it, put away or not
     └──thaw────────── and it stays so until a person's moment
    put away ──let_go──▶ gone, when its time is over; passages are made of what is at hand, and the others' room is given back

What an episode says of itself (title, summary, outcome, lessons), its vectors, its decisions and its facts are not touched.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from events import EpisodeThawed, Event
from nous import clock
from nous.aside import aside
from nous.called import command
from nous.errors import UserMistake
from nous.settings import Settings
from store import episodes, known_turns, mentions, passages, transcripts
from store.database import Write, erasing
from store.episodes import Aged, Episode
from store.transcripts import Transcript

from . import excerpt, transcript
from . import passages as cutting


async def shorten(
    db: Write, episode: Episode, said: Transcript, aged: Aged, *, there: Transcript, settings: Settings, by: Event
) -> dict[str, Any]:
    """Let less of what was `said` in an episode be at hand, its first and last parts or nothing, where `there` was.

    Once the whole of it was let go of, nothing more is put away: what is at hand is a part. Gives what that came to, as evidence.
    """
    kept = Transcript()
    if aged != "archived":
        resting = await _resting(db, episode)
        kept = await aside(said.characters, excerpt.of, said, most=settings.episode_trimmed_characters, resting=resting)
    away = None
    if kept != said and episode.let_go_at is None:
        size = await transcripts.put_away(db, (episode.agent_id, episode.episode_id), said, at=by.occurred_at)
        away = {"characters": said.characters, "bytes": said.bytes, "compressed": size}
    await known_turns.keep(db, set(said.turns) - set(kept.turns))
    after = replace(episode, aged=aged, detail=kept.detail, recorded_at=clock.now(), recorded_by=by.event_id)
    found_by = said if cutting.of_all(after, settings) else kept
    passages_before, passages_after = await _keep(db, after, kept, there, found_by=found_by)
    return {
        "before": {"aged": episode.aged, **_size(there, passages_before)},
        "after": {"aged": aged, **_size(kept, passages_after)},
        **({"put_away": away} if away else {}),
    }


async def thaw(db: Write, told: EpisodeThawed) -> tuple[Episode, dict[str, Any]]:
    """Have all of an episode at hand again until `told.until`: gives it as it is now, and how it stood before and stands since.

    Raises UserMistake when there is no such episode, when the whole of it was let go of, and when nothing of it was put away.
    """
    episode = await episodes.get(db, told.agent_id, told.episode_id)
    if episode is None:
        raise UserMistake(f"agent {told.agent_id!r} has no episode {told.episode_id}")
    if episode.let_go_at is not None:
        raise UserMistake(
            f"what was said in episode {episode.episode_id} was let go of {episode.let_go_at.isoformat()}, and nobody can have it whole"
            f" again; what is left of it is at hand: {command()} episode show {episode.episode_id}"
        )
    away = await transcripts.cold(db, episode.agent_id, episode.episode_id) if episode.aged else None
    if episode.aged and away is None:
        raise UserMistake(f"of episode {episode.episode_id} nothing is put away: it is so short that all that was said is at hand")
    there = await transcripts.at_hand(db, episode)
    said = transcripts.joined(away.transcript, there) if away else there
    after = replace(episode, aged=None, whole_until=told.until, detail=said.detail, recorded_at=clock.now(), recorded_by=told.event_id)
    passages_before, passages_after = await _keep(db, after, said, there, found_by=said)
    async with erasing(db) as erase:
        await transcripts.let_go(erase, episode.agent_id, episode.episode_id)
        if episode.session_key:
            await known_turns.have_again(erase, episode.agent_id, episode.session_key)
    return after, {
        "before": {"aged": episode.aged, "whole_until": _moment(episode), **_size(there, passages_before)},
        "after": {"aged": None, "whole_until": _moment(after), **_size(said, passages_after)},
    }


async def let_go(db: Write, episode: Episode, *, by: Event) -> dict[str, Any]:
    """Let go of what was put away of an episode: it is found by what is at hand from now on. Gives what that came to, as evidence."""
    there = await transcripts.at_hand(db, episode)
    after = replace(episode, let_go_at=by.occurred_at, recorded_at=clock.now(), recorded_by=by.event_id)
    passages_before, passages_after = await _keep(db, after, there, there, found_by=there)
    async with erasing(db) as erase:
        await transcripts.let_go(erase, episode.agent_id, episode.episode_id)
    return {"before": {"passages": passages_before}, "after": {"passages": passages_after}}


async def _keep(db: Write, episode: Episode, said: Transcript, there: Transcript, *, found_by: Transcript) -> tuple[int, int]:
    """Let `said` be at hand of it, where `there` was, and passages be made of `found_by`; how many passages there were and are."""
    await episodes.put(db, episode)
    made = await aside(found_by.characters, _cut, episode, found_by) if episode.settled_by else []
    async with erasing(db) as erase:
        await transcripts.keep_at_hand(erase, episode, said, there=there)
        return await passages.remake(erase, episode.agent_id, episode.episode_id, made), len(made)


def _cut(episode: Episode, said: Transcript) -> list[tuple[str, datetime]]:
    return cutting.cut(transcript.of(said), began=episode.started_at)


async def _resting(db: Write, episode: Episode) -> set[str]:
    """The words that facts of it rest on."""
    heard = await mentions.from_source(db, episode.agent_id, f"episode:{episode.episode_id}")
    return {said for one in heard for said in (one.quote, one.content) if said}


def _size(said: Transcript, passages: int) -> dict[str, int]:
    return {"turns": len(said.turns), "characters": said.characters, "bytes": said.bytes, "passages": passages}


def _moment(episode: Episode) -> str | None:
    return episode.whole_until.isoformat() if episode.whole_until else None
