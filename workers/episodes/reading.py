"""Reading closed episodes: what was said in them, and what is to be remembered of it. Nothing is written, no transaction is open.

    found      the row as its closing leaves it, and what was said: its turns, or the transcript that came
    asked      a mind, in one question or in parts; without one, title and summary are cut out of the text
    considered with the vector of the summary, ready to be written

An episode without words, one that is settled already and one that is put aside are not asked about. Of one that has aged all is read
that was said, as far as it is put away.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from events import MAX_CONTENT_CHARACTERS, EpisodeUnsettled
from nous import clock
from providers.mind import A, Question, Reply, Utterance
from providers.offline import OfflineMind
from store import episodes, transcripts
from store.database import Read
from store.episodes import SUMMARY_CHARACTERS, Episode, Writer
from store.transcripts import Transcript
from store.vectors import Vector
from workers.runtime import metrics
from workers.runtime.asking import Open, all_through
from workers.runtime.worker import Kit

from . import extract, question, transcript
from .closed import Event, closed, lessons
from .question import POSITIVE, Criterion, Extracted, Together
from .scribe import Scribe
from .sources import Said, Sourced, sourced

TITLE_CHARACTERS = 200
OUTCOME_CHARACTERS = 1_000
MOST_LESSONS = 20


@dataclass(frozen=True)
class Found:
    """An episode before it is asked about.

    `row` is what stood there, `episode` that as its closing leaves it, `owner` another agent that has an episode of this id when this
    one has none. `said` is all that was said, `at_hand` what of it was not put away.
    """

    row: Episode | None
    episode: Episode | None
    said: tuple[Utterance, ...] = ()
    at_hand: tuple[Utterance, ...] = ()
    owner: str | None = None


@dataclass(frozen=True)
class Told:
    """What is to be remembered of an episode. `model` is the mind that read it; tokens are those of this time."""

    title: str
    summary: str
    written_by: Writer
    model: str | None
    outcome: str | None = None
    lessons: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    facts: tuple[Sourced, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)
    questions: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    milliseconds: int = 0


@dataclass(frozen=True)
class Considered:
    """An episode and what is to be remembered of it; None when it is not asked about, Open when there is no answer yet."""

    found: Found
    told: Told | Open | None = None
    vector: Vector | None = None


async def consider(events: Sequence[Event], kit: Kit, *, worker: str) -> list[Considered]:
    """Each event's episode with what is to be remembered of it. Raises Outage and Contended for Postgres and the embedder alone."""
    found = await _found(events, kit)
    scribe = Scribe(kit, worker=worker)
    told = await all_through(_told(one, event, scribe) for one, event in zip(found, events, strict=True))
    vectors = await _vectors([one.summary for one in told if isinstance(one, Told)], kit)
    return [_considered(one, what, vectors) for one, what in zip(found, told, strict=True)]


def _considered(found: Found, told: Told | Open | None, vectors: Mapping[str, Vector]) -> Considered:
    return Considered(found, told, vectors[told.summary] if isinstance(told, Told) else None)


# ── what was said ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _found(events: Sequence[Event], kit: Kit) -> list[Found]:
    now = clock.now()
    async with kit.database.read({event.agent_id for event in events}) as db:
        read = [await _read(db, event, now) for event in events]
    found = [Found(row, episode, transcript.of(said), transcript.of(at_hand)) for row, episode, said, at_hand in read]
    if all(one.row for one in found):
        return found
    async with kit.database.overview() as db:
        return [one if one.row else await _elsewhere(db, one, event) for one, event in zip(found, events, strict=True)]


async def _read(db: Read, event: Event, now: datetime) -> tuple[Episode | None, Episode | None, Transcript, Transcript]:
    row = await episodes.get(db, event.agent_id, event.episode_id)
    episode = closed(row, event, now=now)
    if episode is None:
        return row, None, Transcript(), Transcript()
    at_hand = await transcripts.at_hand(db, episode)
    return row, episode, await transcripts.whole(db, episode, at_hand), at_hand


async def _elsewhere(db: Read, found: Found, event: Event) -> Found:
    owners = await episodes.owners(db, event.episode_id)
    return replace(found, owner=next((one for one in owners if one != event.agent_id), None))


async def _vectors(summaries: Iterable[str], kit: Kit) -> dict[str, Vector]:
    wanted = list(dict.fromkeys(summaries))
    made: Iterable[Vector] = ()
    if wanted:
        with metrics.embedding():
            made = await kit.embedder.embed(wanted)
    return dict(zip(wanted, made, strict=True))


# ── what is to be remembered of it ────────────────────────────────────────────────────────────────────────────────────────


async def _told(found: Found, event: Event, scribe: Scribe) -> Told | Open | None:
    model = None if OfflineMind.is_named(scribe.model) else scribe.model
    episode = found.episode
    if episode is None or found.owner or not _is_open(episode, event, model):
        return None
    if not Said(found.said).is_voiced:
        return None if isinstance(event, EpisodeUnsettled) else _as_given(episode)
    if episode.written_by != "producer" or (model and _is_of_age(event) and is_short(episode)):
        episode = _as_it_came(episode, found.said)
    if model is None:
        told: Told | Open = _cut_out(episode, found.said)
    else:
        ask, part = _asking(scribe, episode), scribe.kit.settings.summary_part_characters
        told = await read(episode, found.said, ask=ask, model=model, part_characters=part)
    return _lengthened(told, found) if _is_of_age(event) and isinstance(told, Told) else told


def _asking(scribe: Scribe, episode: Episode) -> "Ask":
    async def ask(asked: Question[A]) -> Reply[A] | Open:
        return await scribe.ask(asked, agent=episode.agent_id, about=f"episode:{episode.episode_id}")

    return ask


def _is_open(episode: Episode, event: Event, model: str | None) -> bool:
    """Whether this event may settle it; a second time only a mind may, where none has read it."""
    if isinstance(event, EpisodeUnsettled):
        if _is_of_age(event) and is_short(episode):
            return episode.active
        return episode.active and episode.model is None and model is not None
    return episode.active and episode.settled_by is None


def _is_of_age(event: Event) -> bool:
    return isinstance(event, EpisodeUnsettled) and event.why == "before_ageing"


def is_short(episode: Episode | Told) -> bool:
    """Whether its summary says too little to speak for what was said."""
    return len((episode.summary or "").strip()) < SUMMARY_CHARACTERS


def _lengthened(told: Told, found: Found) -> Told:
    """With what it said before, and sentences of what was said, where the summary says too little without."""
    said = [(found.episode.summary if found.episode else None) or "", told.summary, extract.extracted(found.said)[1]]
    whole = " ".join(dict.fromkeys(one.strip() for one in said if one.strip()))
    by: Writer = "mind" if told.model else "extract"
    return replace(told, summary=whole[:MAX_CONTENT_CHARACTERS], written_by=by) if is_short(told) else told


def _as_it_came(episode: Episode, said: Sequence[Utterance]) -> Episode:
    """Without a summary that did not come with it, and the title that was cut out of the text; any other title stays."""
    title, _ = extract.extracted(said)
    return replace(episode, title=None if episode.title == title else episode.title, summary=None, written_by=None)


def _as_given(episode: Episode) -> Told | None:
    """Nobody said anything: what there is of a summary came with it, and no mind has read it."""
    if episode.summary is None or episode.written_by is None:
        return None
    return Told(episode.title or extract.title(episode.summary), episode.summary, episode.written_by, None)


def _cut_out(episode: Episode, said: Sequence[Utterance]) -> Told:
    title, summary = extract.extracted(said)
    return Told(episode.title or title, episode.summary or summary, episode.written_by or "extract", None)


class Ask(Protocol):
    """Puts a question to a mind."""

    async def __call__(self, asked: Question[A], /) -> Reply[A] | Open:
        """The answer, or why there is none yet."""


async def read(
    episode: Episode, said: Sequence[Utterance], *, ask: Ask, model: str, part_characters: int, criterion: Criterion = POSITIVE
) -> Told | Open:
    """What a mind makes of an episode in which somebody said this. Open when a question stayed open."""
    return await _Reading(episode, said, ask, model, criterion).told(transcript.parts(said, part_characters))


class _Reading:
    """One episode, put to a mind."""

    def __init__(self, episode: Episode, said: Sequence[Utterance], ask: Ask, model: str, criterion: Criterion) -> None:
        self.episode = episode
        self.said = Said(said)
        self.ask = ask
        self.model = model
        self.criterion = criterion

    async def told(self, parts: Sequence[tuple[Utterance, ...]]) -> Told | Open:
        """In one question if it fits, else in parts; what has its title and its summary is only asked for facts."""
        if len(parts) > 1 or (self.episode.title and self.episode.summary):
            return await self._in_parts(parts)
        reply = await self.ask(question.whole(parts[0], began=self.episode.started_at, criterion=self.criterion))
        if isinstance(reply, Open):
            return reply
        return self._put_together(reply.answer, reply.answer.facts, reply.answer.decisions, parts, [reply])

    async def _in_parts(self, parts: Sequence[tuple[Utterance, ...]]) -> Told | Open:
        asked = partial(question.part, began=self.episode.started_at, of=len(parts), criterion=self.criterion)
        replies = await all_through(self.ask(asked(part, number=number)) for number, part in enumerate(parts, 1))
        answered = [one for one in replies if not isinstance(one, Open)]
        if waiting := [one for one in replies if isinstance(one, Open)]:
            return max(waiting, key=lambda one: one.wait)
        facts = [fact for one in answered for fact in one.answer.facts]
        decisions = [decision for one in answered for decision in one.answer.decisions]
        if self.episode.title and self.episode.summary:
            return self._put_together(None, facts, decisions, parts, answered)
        together = await self.ask(question.together([one.answer.notes for one in answered]))
        if isinstance(together, Open):
            return together
        return self._put_together(together.answer, facts, decisions, parts, [*answered, together])

    def _put_together(
        self,
        answer: Together | None,
        facts: Sequence[Extracted],
        decisions: Sequence[str],
        parts: Sequence[Sequence[Utterance]],
        replies: Sequence[Reply[Any]],
    ) -> Told:
        """What was given comes before what a mind says, and no fact counts that nobody said."""
        kept, dropped = sourced(facts, self.said, most=sum(map(question.most_facts, parts)))
        given = answer or Together(title="", summary="")
        return Told(
            title=self.episode.title or given.title[:TITLE_CHARACTERS],
            summary=self.episode.summary or given.summary[:MAX_CONTENT_CHARACTERS],
            written_by=self.episode.written_by or "mind",
            model=self.model,
            outcome=given.outcome[:OUTCOME_CHARACTERS] or None,
            lessons=lessons(one[:MAX_CONTENT_CHARACTERS] for one in given.lessons[:MOST_LESSONS]),
            decisions=tuple(filter(None, decisions)),
            facts=tuple(kept),
            dropped=dropped,
            questions=len(replies),
            tokens_in=sum(one.tokens_in for one in replies),
            tokens_out=sum(one.tokens_out for one in replies),
            milliseconds=sum(one.milliseconds for one in replies),
        )
