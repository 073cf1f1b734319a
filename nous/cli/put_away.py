"""What of an aged conversation is not at hand, whether it is found nevertheless, and how it is had whole: for `episode` and `session show`.

aged ─▶ let go of? ─┬─ yes ─▶ when
                    └─ no ──▶ are there passages of it? ─▶ found by recall, or not ─▶ the command that has all of it at hand
"""

from store import passages
from store.database import Read
from store.episodes import Episode

from . import place, screen

AGED = {
    "trimmed": "trimmed: of what was said the first and last parts are at hand",
    "archived": "archived: of what was said nothing is at hand",
}


async def told(db: Read, episode: Episode) -> str | None:
    """What of an aged episode is not at hand, whether it is found still, and how it is had whole; None of one that has not aged."""
    if episode.aged is None:
        return None
    if episode.let_go_at:
        return f"{AGED[episode.aged]}; the rest was let go of {screen.moment(episode.let_go_at)}, and nobody has it any more"
    found = await passages.of_episode(db, episode.agent_id, episode.episode_id)
    how = "put away: found by recall in its own words" if found else "put away, and not found by recall, but for its summary and its facts"
    return f"{AGED[episode.aged]}; all of it is {how}, and had whole by: {place.command()} episode thaw {episode.episode_id} --because '…'"
