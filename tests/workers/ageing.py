"""What tests of ageing share: a long conversation that was read, and all that is kept of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from events import EpisodeAged, EpisodeThawed, MaintenanceDue, TranscriptExpired
from nous import ids
from store import episodes, passages, sessions, transcripts
from store.episodes import Episode
from store.transcripts import Transcript
from tests.factories import a_session, a_turn, an_episode, an_id
from tests.store.conftest import run
from tests.workers.episodes import AGENT, SUMMARY
from workers.episodes import passages as cutting
from workers.episodes import transcript
from workers.runtime.worker import Kit

DAY = timedelta(days=1)
BEGAN = datetime(2020, 3, 1, 12, tzinfo=UTC)
"""So long ago that all that is to happen to a conversation of then has had its time."""

SENTENCES = "We spoke about the harbour at length. The tide was mentioned twice, and so was the ferry. "
TALK: tuple[tuple[str, str], ...] = (
    ("user", "Good morning, it is about the harbour. " + SENTENCES * 5),
    ("assistant", "Of course. " + SENTENCES * 12),
    *((speaker, f"Number {at}. {SENTENCES * 8}") for at in range(12) for speaker in ("user", "assistant")),
    ("user", SENTENCES * 6 + "So the ferry leaves at nine."),
    ("assistant", "Noted: the ferry leaves at nine. 咖啡 🦊 \\ \" '"),
)
READ = {
    "title": "The harbour",
    "summary": SUMMARY,
    "written_by": "mind",
    "model": "scripted",
    "settled_by": "closed",
    "started_at": BEGAN,
    "ended_at": BEGAN,
}


async def spoken(kit: Kit, *, agent: str = AGENT, talk: Sequence[tuple[str, str]] = TALK, **over: Any) -> Episode:
    """An episode whose session has ended, with its turns and its passages; read by a mind, unless something else is said."""
    session = a_session(
        agent_id=agent, session_key=an_id(), episode_id=an_id(), started_at=BEGAN, last_at=BEGAN, ended_at=BEGAN, ending="ended"
    )
    fields = {"agent_id": agent, "episode_id": session.episode_id, "session_key": session.session_key, **READ} | over
    row = an_episode(**fields)
    async with kit.database.write([agent]) as db:
        await sessions.put(db, session)
        await episodes.put(db, row)
        for at, (speaker, content) in enumerate(talk, 1):
            turn = a_turn(
                session, position=at, speaker=speaker, content=content, said_at=BEGAN + timedelta(seconds=at), turn_id=f"t{at // 2}"
            )
            await sessions.add_turn(db, turn)
        await run(db, 'UPDATE heart.turns SET served = \'{"recall_id": "x", "memories": []}\' WHERE position = 1')
        await _passages(db, row)
    return row


async def told(kit: Kit, text: str, *, agent: str = AGENT, **over: Any) -> Episode:
    """An episode whose transcript came with its closing, read by a mind."""
    row = an_episode(**{"agent_id": agent, "episode_id": an_id(), "detail": text, **READ} | over)
    async with kit.database.write([agent]) as db:
        await episodes.put(db, row)
        await _passages(db, row)
    return row


async def _passages(db: Any, row: Episode) -> None:
    said = await transcripts.at_hand(db, row)
    await passages.put(db, row.agent_id, row.episode_id, cutting.cut(transcript.of(said), began=row.started_at))


def aged(row: Episode, stage: str, *, at: datetime | None = None, **over: Any) -> EpisodeAged:
    days = {"trim": 30, "archive": 90}[stage]
    fields = {"event_id": str(ids.new()), "agent_id": row.agent_id, "occurred_at": at or row.started_at + days * DAY}
    return EpisodeAged.model_validate({**fields, "episode_id": row.episode_id, "stage": stage} | over)


def due(task: str = "episodes", *, at: datetime, agent: str = AGENT, **over: Any) -> MaintenanceDue:
    fields = {"event_id": str(ids.new()), "agent_id": agent, "occurred_at": at, "task": task, "period": f"{at:%Y-%m-%d}"}
    return MaintenanceDue.model_validate(fields | over)


def expired(row: Episode, *, at: datetime) -> TranscriptExpired:
    return TranscriptExpired(event_id=str(ids.new()), agent_id=row.agent_id, occurred_at=at, episode_id=row.episode_id)


def thawed(row: Episode, *, at: datetime, until: datetime | None = None) -> EpisodeThawed:
    fields = {"event_id": str(ids.new()), "agent_id": row.agent_id, "occurred_at": at, "episode_id": row.episode_id}
    return EpisodeThawed.model_validate({**fields, "until": until or at + 30 * DAY, "reason": "she asks for it"})


async def get(kit: Kit, row: Episode) -> Episode:
    async with kit.database.read([row.agent_id]) as db:
        found = await episodes.get(db, row.agent_id, row.episode_id)
    assert found
    return found


async def at_hand(kit: Kit, row: Episode) -> Transcript:
    async with kit.database.read([row.agent_id]) as db:
        return await transcripts.at_hand(db, await _row(db, row))


async def whole(kit: Kit, row: Episode) -> Transcript:
    async with kit.database.read([row.agent_id]) as db:
        return await transcripts.whole(db, await _row(db, row))


async def cold(kit: Kit, row: Episode) -> transcripts.Cold | None:
    async with kit.database.read([row.agent_id]) as db:
        return await transcripts.cold(db, row.agent_id, row.episode_id)


async def _row(db: Any, row: Episode) -> Episode:
    found = await episodes.get(db, row.agent_id, row.episode_id)
    assert found
    return found


async def rows(kit: Kit, table: str, *, order: str, agent: str = AGENT) -> list[str]:
    """Every row of the agent, to the last byte."""
    async with kit.database.overview() as db:
        return await run(db, f"SELECT to_jsonb(t)::text FROM {table} t WHERE agent_id = :agent ORDER BY {order}", agent=agent)


async def said_in_passages(kit: Kit, episode: UUID, agent: str = AGENT) -> list[str]:
    async with kit.database.read([agent]) as db:
        return [one.content for one in await passages.of_episode(db, agent, episode)]
