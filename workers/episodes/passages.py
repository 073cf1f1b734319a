"""Passages of an episode: a few turns each, word for word, that end where somebody stops speaking.

    User: which database? ─┐
    Assistant: Postgres ───┴─▶ one passage    what a tool put out and what was recalled is in none

So many characters find the place best: by single turns recall finds fewer, by longer pieces it finds as many and tells fewer of them in the
same room (docs/quality.md).
"""

from collections.abc import Sequence
from datetime import datetime

from nous.settings import Settings
from providers.mind import Utterance
from store.episodes import Episode

from . import transcript

PASSAGE_CHARACTERS = 800
"""Longest passage, 60 counted for each turn beside its words; a turn that is longer is cut between sentences."""


def of_all(episode: Episode, settings: Settings) -> bool:
    """Whether an episode is found by all that was said in it, at hand or put away, or by what is at hand alone."""
    return episode.let_go_at is None and (episode.aged is None or settings.episode_aged_passages)


def cut(said: Sequence[Utterance], *, began: datetime) -> list[tuple[str, datetime]]:
    """The passages of what was said, in order, each with when it began; what has no time was said when the conversation `began`."""
    voiced = [one for one in said if transcript.voucher(one.speaker) is not None]
    return [
        ("\n".join(_line(one) for one in some), next((one.said_at for one in some if one.said_at), began))
        for some in transcript.parts(voiced, PASSAGE_CHARACTERS)
    ]


def _line(one: Utterance) -> str:
    return f"{one.speaker}: {one.content}" if one.speaker else one.content
