"""What a replay of an agent begins with: what it takes as given, as it was before the first event had its effect.

answers of minds, conversations turn by turn, what was forgotten ─▶ as they are (store/replays.py)
transcripts that were put away since ─▶ whole, as they were; of those that were let go of, the episode as it is
episodes that a session opened ─▶ as they were when it ended; one that was put aside and restored since is put aside
"""

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from events import EpisodeClosed, EpisodeRestored, decode
from recall.ending import closing
from store import archive, episodes, receipts, replays, transcripts
from store.database import Database, Read
from store.episodes import Episode


async def bring(live: Database, fresh: Database, agent: str, *, gone: Collection[UUID] = ()) -> None:
    """Bring it; `gone` are episodes that cannot be read again. Raises Outage and Contended."""
    await replays.copy_settled(live, fresh, agent, gone)
    await replays.copy_given(live, fresh, agent)
    await _make_whole(live, fresh, agent)
    async with fresh.read([agent]) as db:
        opened = await episodes.listed(db, agent=agent, inactive=True, limit=None)
    for episode in opened:
        if episode.episode_id in gone:
            continue
        async with live.read([agent]) as db:
            was = await _before_its_restoring(db, await _as_closed(db, episode))
        if was != episode:
            async with fresh.write([agent]) as db:
                await episodes.put(db, was)


async def link_forgotten(live: Database, fresh: Database, agent: str) -> None:
    """Say of what was forgotten what took its place, now that this is there. Raises Outage and Contended."""
    await replays.link_forgotten(live, fresh, agent)


async def _make_whole(live: Database, fresh: Database, agent: str) -> None:
    """What was put away is at hand again."""
    async with live.snapshot([agent]) as there:
        async for one in transcripts.all_cold(there, agent=agent):
            async with fresh.write([agent]) as db:
                await transcripts.put_turns(db, one.transcript.turns, one.transcript.served)
                if opened := await episodes.get(db, agent, one.episode_id):
                    await episodes.put(db, replace(opened, detail=one.transcript.detail))


async def _as_closed(db: Read, episode: Episode) -> Episode:
    """The episode with what the end of its session said of it."""
    if episode.ended_at is None:
        return episode
    rows = [row for row in await archive.of_event(db, episode.agent_id, closing(episode).event_id) if row.stream == EpisodeClosed.stream]
    if not rows:
        return episode
    told = decode(EpisodeClosed, rows[0].body, rows[0].entry_id)
    assert isinstance(told, EpisodeClosed)  # noqa: S101 - it was decoded as one
    return replace(episode, lessons_learned=told.lessons_learned, outcome=told.outcome)


async def _before_its_restoring(db: Read, episode: Episode) -> Episode:
    told = await receipts.about(db, episode.agent_id, episode.episode_id)
    restored = next((one.evidence for one in told if one.stream == EpisodeRestored.stream), None)
    if restored is None:
        return episode
    before = restored["before"]
    ended_at = episode.ended_at if before["ended_at"] else None
    return replace(episode, active=before["active"], put_aside=before["put_aside"], ended_at=ended_at)
