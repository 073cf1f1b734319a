"""Where the words of a fact stand: the quote it rests on, in what was said, with a line before and a line after.

mention ── source episode:<id> ─▶ the episode's turns, or its transcript ── quote ─▶ who said it, when, between which lines

Of an episode that has aged it is looked for in what was put away too, until that is let go of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import accumulate
from uuid import UUID

from nous.aside import aside
from nous.text import fold_case, form
from providers.mind import Utterance
from store import episodes, sessions, transcripts
from store.database import Read
from store.episodes import Episode
from store.mentions import Mention
from workers.episodes import transcript

from .words import Line, line, moment, one_line

SHOWN_CHARACTERS = 160  # of each line; a turn may be as long as a book
OF_AN_EPISODE = "episode:"
_AROUND = " .,;:!?…\"'()[]。、！？"


@dataclass(frozen=True)
class Passage:
    """A quote in what was said. `said` is None when its words are no longer there, or never were."""

    episode_id: UUID
    session_id: str | None
    quote: str
    before: Utterance | None = None
    said: Utterance | None = None
    after: Utterance | None = None

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)

    def lines(self) -> list[Line]:
        """For a page."""
        session = f", in session {self.session_id}" if self.session_id else ""
        if self.said is None:
            return [line(f"its words, “{one_line(self.quote)}”, are not found in episode {self.episode_id}{session}", "faint")]
        who = self.said.speaker or "somebody"
        at = f" on {moment(self.said.said_at)}" if self.said.said_at else ""
        head = line(f"said by {who}{at}{session}, in episode {self.episode_id}:", "faint")
        around = ((self.before, False), (self.said, True), (self.after, False))
        return [head, *(_spoken(one, self.quote, is_it=is_it) for one, is_it in around if one)]


def episode_of(source: str | None) -> UUID | None:
    """The episode that a source names, if it names one."""
    if source is None or not source.startswith(OF_AN_EPISODE):
        return None
    try:
        return UUID(source.removeprefix(OF_AN_EPISODE))
    except ValueError:
        return None


async def of_mentions(db: Read, told: Iterable[Mention]) -> dict[str, Passage]:
    """Where the words of these mentions stand, by their event; without those that come from no episode, or have no quote."""
    found: dict[str, Passage] = {}
    known: dict[tuple[str, UUID], tuple[str | None, Sequence[Utterance]]] = {}
    for one in told:
        episode_id = episode_of(one.source)
        if episode_id is None or not one.quote:
            continue
        key = (one.agent_id, episode_id)
        if key not in known:
            known[key] = await _words(db, await episodes.get(db, *key))
        session_id, said = known[key]
        found[one.event_id] = _passage(episode_id, session_id, said, one.quote, one.provenance, one.occurred_at)
    return found


async def words(db: Read, episode: Episode) -> Sequence[Utterance]:
    """What was said in an episode, as it was read: without what was recalled into it."""
    return (await _words(db, episode))[1]


async def _words(db: Read, episode: Episode | None) -> tuple[str | None, Sequence[Utterance]]:
    if episode is None:
        return None, ()
    whole = await transcripts.whole(db, episode)
    said = await aside(whole.characters, transcript.of, whole)
    session = await sessions.get(db, episode.agent_id, episode.session_key) if episode.session_key else None
    return session.session_id if session else None, said


def _passage(episode_id: UUID, session_id: str | None, said: Sequence[Utterance], quote: str, provenance: str, at: datetime) -> Passage:
    place = _place(said, quote, provenance, at)
    if place is None:
        return Passage(episode_id, session_id, quote)
    before = said[place - 1] if place else None
    after = said[place + 1] if place + 1 < len(said) else None
    return Passage(episode_id, session_id, quote, before, said[place], after)


def _place(said: Sequence[Utterance], quote: str, provenance: str, at: datetime) -> int | None:
    """Which of several it was: the one of that time, by whoever vouches for it; else the turn in which words across turns begin."""
    wanted = _folded(quote).strip(_AROUND)
    if not wanted:
        return None
    texts = [_folded(one.content) for one in said]
    places = [place for place, text in enumerate(texts) if wanted in text]
    if places:
        return max(places, key=lambda one: (said[one].said_at == at, transcript.voucher(said[one].speaker) == provenance, -one))
    start = " ".join(texts).find(wanted)
    if start < 0:
        return None
    ends = accumulate(len(text) + 1 for text in texts)
    return next(place for place, end in enumerate(ends) if start < end)


def _spoken(one: Utterance, quote: str, *, is_it: bool) -> Line:
    who = f"{'▶ ' if is_it else '  '}{one.speaker or 'somebody'}: "
    return Line(((who, "faint"), (excerpt(one.content, quote if is_it else ""), "plain" if is_it else "faint")))


def excerpt(content: str, quote: str = "", *, most: int = SHOWN_CHARACTERS) -> str:
    """The part of what was said around a quote, or its beginning, in about so many characters."""
    said = one_line(content)
    if len(said) <= most:
        return said
    place = max(said.casefold().find(one_line(quote).casefold()), 0) if quote else 0
    start = max(0, min(place - (most - min(len(quote), most)) // 2, len(said) - most))
    end = start + max(most, min(len(quote), most * 3))
    return f"{'…' if start else ''}{said[start:end].strip()}{'…' if end < len(said) else ''}"


def _folded(text: str) -> str:
    return fold_case(form(text))
