"""Transcript remover: a transcript that was put away for as long as it is kept is let go of.

    transcript_expired ─┬─ it is still put away, for so long ─▶ gone with the passages of it, and its episode says so;
                        │                                       summary, lessons, links and facts stay
                        └─ thawed or forgotten since ─────────▶ skipped

What was reported turn by turn stands nowhere else then. What came as a text stays in the archive of events, as they came.
"""

from datetime import timedelta

from events import TranscriptExpired
from nous import clock
from store import episodes, transcripts
from store.database import Write
from workers.episodes import ageing
from workers.runtime.worker import Done, Ending, Kit, Skip, Worker, each

OUTCOMES = ("let_go",)

SIDE_BY_SIDE = 2


async def let_go(db: Write, event: TranscriptExpired, kit: Kit) -> Ending:
    """Let go of a transcript that was put away for as long as it is kept."""
    kept = await transcripts.held(db, event.agent_id, event.episode_id)
    days = kit.settings.transcript_cold_days
    if kept is None:
        return Skip("nothing of it is put away")
    if not days or kept.put_away_at > clock.earlier(event.occurred_at, timedelta(days=days)):
        return Skip(f"it was put away {kept.put_away_at.isoformat()}, and is kept {f'for {days} days' if days else 'for ever'}")
    episode = await episodes.get(db, event.agent_id, event.episode_id)
    assert episode is not None  # noqa: S101 - what is put away refers to its episode
    less = await ageing.let_go(db, episode, by=event)
    return Done(
        "let_go",
        about=event.episode_id,
        reason=f"it was put away {(event.occurred_at - kept.put_away_at).days} days before, and is kept for {days}",
        evidence={"let_go": {"characters": kept.characters, "compressed": kept.packed_bytes}, **less},
    )


worker = Worker(on=TranscriptExpired, write=each(let_go), outcomes=OUTCOMES, side_by_side=SIDE_BY_SIDE)
