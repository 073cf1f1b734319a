"""`nous explain`: the story of a fact, an episode, a decision, a procedure, a censor or an event, for a person or as JSON."""

from collections.abc import Callable
from typing import Any

from rich.console import Console

from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories import censor, decision, episode, event, fact, kinds, procedure

from . import censor_page, decision_page, episode_page, event_page, fact_page, place, procedure_page, screen

PAGES: dict[type, Callable[[Console, Any], None]] = {
    fact.Story: fact_page.print_story,
    episode.Story: episode_page.print_story,
    decision.Story: decision_page.print_story,
    procedure.Story: procedure_page.print_story,
    censor.Story: censor_page.print_story,
    event.Story: event_page.print_story,
}


async def explain(settings: Settings, kind: str | None, written: str, *, agent: str | None, is_json: bool) -> None:
    """Print the story of what an id means, of this kind or of whichever kind has it. Raises UserMistake."""
    if kind is not None and kind not in kinds.KINDS:
        known = ", ".join(kinds.KINDS)
        raise UserMistake(f"there are no stories of {kind!r}{screen.meant(kind, kinds.KINDS)}; there are of: {known}")
    async with place.database(settings) as database, database.overview() as db:
        story = await (kinds.story_of(db, kind, written, agent=agent) if kind else kinds.any_story_of(db, written, agent=agent))
    if is_json:
        screen.emit(story.as_data())
    else:
        PAGES[type(story)](screen.out(), story)
