"""`nous episode resummarize`: what was summarised without a mind is read by one, the one that is set now.

every active episode that was settled and no mind has read ─▶ episode_unsettled (asked_again) ─▶ episode_resummarizer
"""

from events import EpisodeUnsettled
from nous import clock, ids
from nous.settings import Settings
from store import episodes

from . import decision, minds, place, screen, unheard

AT_ONCE = 500


async def resummarize(settings: Settings, *, agent: str | None, is_json: bool) -> None:
    """Let every episode that no mind has read be read. Raises UserMistake when no mind is set here, and for an agent that is none."""
    async with minds.writing(settings, where=" here and where the workers run") as mind:
        model = mind.model("writing")
    async with place.database(settings) as database:
        async with database.overview() as db:
            await unheard.refuse(db, agent)
            keys = await episodes.unread(db, agent=agent)
        now = clock.now()
        for start in range(0, len(keys), AT_ONCE):
            events = [
                EpisodeUnsettled(event_id=str(ids.new()), agent_id=whose, occurred_at=now, episode_id=episode, why="asked_again")
                for whose, episode in keys[start : start + AT_ONCE]
            ]
            await decision.send(settings, database, await decision.commit(database, events))
    if is_json:
        screen.emit({"model": model, "episodes": [{"agent_id": whose, "episode_id": episode} for whose, episode in keys]})
    elif keys:
        many = screen.plural(len(keys), "episode")
        print(f"{many} will be summarised again, by {model} if the workers run with the settings that hold here")
    else:
        print("nothing to summarise again: a mind has read every episode that is closed, or it waits for one")
