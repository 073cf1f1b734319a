"""An episode as its closing leaves it: what the row says stays, and what the event brings is added."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from events import EpisodeClosed, EpisodeUnsettled
from nous.text import is_blank
from store import briefs
from store.episodes import Episode

Event = EpisodeClosed | EpisodeUnsettled


def closed(row: Episode | None, event: Event, *, now: datetime) -> Episode | None:
    """The row once it is closed; None when there is none and the event brings nothing to make one of."""
    if isinstance(event, EpisodeUnsettled):
        return row
    if row is None and event.transcript is None and event.summary is None:
        return None
    before = row or _born(event, now)
    return changed(before, _with_what_came(before, event), event, now=now)


def changed(before: Episode, after: Episode, event: Event, *, now: datetime) -> Episode:
    """`after` with its line for recall; recorded by this event, if it says anything new."""
    after = replace(after, brief=briefs.episode(title=after.title, summary=after.summary))
    return before if after == before else replace(after, recorded_at=now, recorded_by=event.event_id)


def lessons(*told: Iterable[str]) -> tuple[str, ...]:
    """These lessons, each once, in this order, without blank ones."""
    return tuple(dict.fromkeys(one.strip() for some in told for one in some if not is_blank(one)))


def given(text: str | None) -> str | None:
    """What was given, if that is more than blanks."""
    return None if text is None or is_blank(text) else text.strip()


def _born(event: EpisodeClosed, now: datetime) -> Episode:
    """An episode that was never opened here: its closing brings its transcript, or its summary."""
    return Episode(
        agent_id=event.agent_id,
        episode_id=event.episode_id,
        trigger="episode_closed",
        started_at=min(event.started_at or event.occurred_at, event.occurred_at),
        created_at=now,
        recorded_at=now,
        recorded_by=event.event_id,
    )


def _with_what_came(row: Episode, event: EpisodeClosed) -> Episode:
    summary = row.summary or given(event.summary)
    return replace(
        row,
        title=row.title or given(event.title),
        summary=summary,
        written_by=row.written_by or ("producer" if summary else None),
        detail=event.transcript if given(event.transcript) and not row.aged else row.detail,
        outcome=row.outcome or given(event.outcome),
        lessons_learned=lessons(row.lessons_learned, event.lessons_learned),
        frame_used=row.frame_used or given(event.frame_used),
        ended_at=row.ended_at or event.occurred_at,
        turn_count=row.turn_count if event.turn_count is None else event.turn_count,
        tool_count=row.tool_count if event.tool_count is None else event.tool_count,
    )
