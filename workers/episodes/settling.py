"""Settling an episode: its row, its vector, its decisions and its facts, in one transaction and once.

A fact's ids follow from the agent, the episode and the fact's words, not from the event that settled it: taken from the same episode
again it is the same event, and has had its effect. A fact that was superseded since does not come back.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from events import EpisodeClosed, EpisodeSummarized, EpisodeUnsettled, FactLearned, derived
from nous import clock, ids
from nous.text import normalise
from providers.offline import OfflineMind
from store import episodes, forgotten
from store import passages as kept_passages
from store.database import Write
from store.episodes import SUMMARY_CHARACTERS, Episode
from workers.runtime.asking import Open
from workers.runtime.worker import Done, Ending, Kit, RetryLater, Skip

from . import links, passages, question
from .closed import Event, changed, lessons
from .reading import Considered, Told, is_short
from .sources import Sourced

OUTCOMES = ("summarized", "extracted", "kept", "linked")
"""A mind wrote the summary; it was cut out without one; it came with the episode; the episode was settled, and decisions, or what was
said in it, came after that."""

SIDE_BY_SIDE = 20  # settled within 30 s of closing at once, if a mind answers in 5 s (measured, docs/performance.md)
PATIENCE = 30  # time limits for one: a long transcript is many questions to a mind, and what was answered is kept
UNREAD_AT_ONCE = 20
CHANGED_WAIT = timedelta(seconds=1)


async def settle(db: Write, event: Event, before: Episode, thought: Considered, told: Told, kit: Kit) -> Done:
    """Give an episode what is to be remembered of it."""
    episode = changed(before, _with(before, told, event), event, now=clock.now())
    await episodes.put(db, episode)
    if thought.vector is not None:
        key = (event.agent_id, event.episode_id)
        await episodes.put_vector(db, *key, "summary", embedder=kit.registered.name, vector=thought.vector)
    said = thought.found.said if passages.of_all(episode, kit.settings) else thought.found.at_hand
    await kept_passages.put(db, event.agent_id, event.episode_id, passages.cut(said, began=episode.started_at))
    named = event.decision_ids if isinstance(event, EpisodeClosed) else ()
    decisions = await links.find(db, episode, named=named, listed=told.decisions)
    await episodes.link_decisions(db, event.agent_id, event.episode_id, decisions)
    learned = await _unforgotten(db, [_learned(event, episode, one) for one in told.facts])
    summarized = EpisodeSummarized.following(
        event,
        episode_id=episode.episode_id,
        title=told.title,
        summary=told.summary,
        written_by=told.written_by,
        fact_count=len(learned),
    )
    return Done(
        _OUTCOME[told.written_by],
        about=episode.episode_id,
        reason="; ".join(filter(None, (_lengthened(event, before, told), _reason(told)))) or None,
        evidence=_evidence(thought, told) | {"decisions": {str(one): how for one, how in decisions.items()}},
        publishes=(summarized, *learned, *(await _unread(db, event, told))),
    )


def unsettled(row: Episode | None, thought: Considered) -> Ending:
    """It has no summary yet, or there is none to be had."""
    if isinstance(thought.told, Open):
        return RetryLater(thought.told.wait, thought.told.why, together=True, exactly=thought.told.exactly)
    if row != thought.found.row:
        return RetryLater(CHANGED_WAIT, "the episode changed while it was looked at", together=True)  # what was answered is kept
    return Skip("no text: nobody said anything, apart from tools and what was recalled")


def has_writer(kit: Kit) -> bool:
    """Whether a mind that writes is set here."""
    return not OfflineMind.is_named(kit.mind.model("writing"))


_OUTCOME = {"mind": "summarized", "extract": "extracted", "producer": "kept"}


def _with(before: Episode, told: Told, event: Event) -> Episode:
    return replace(
        before,
        title=told.title,
        summary=told.summary,
        written_by=told.written_by,
        model=told.model,
        outcome=before.outcome or told.outcome,
        lessons_learned=lessons(before.lessons_learned, told.lessons),
        settled_by=event.event_id,
    )


def _learned(event: Event, episode: Episode, one: Sourced) -> FactLearned:
    """A fact of the episode, said when its quote was, or when the episode began."""
    of = (episode.agent_id, str(episode.episode_id), normalise(one.fact.content))
    return FactLearned.following(
        event,
        event_id=derived(FactLearned.stream, *of),
        fact_id=ids.derived(FactLearned.stream, *of),
        occurred_at=one.source.said_at or episode.started_at,
        content=one.fact.content,
        subject=one.fact.subject or None,
        attribute=one.fact.attribute or None,
        provenance=one.source.provenance,
        confidence=one.fact.confidence,
        source=f"episode:{episode.episode_id}",
        quote=one.fact.quote,
    )


async def _unforgotten(db: Write, learned: Sequence[FactLearned]) -> list[FactLearned]:
    """What was forgotten is not learned again from the same episode in the same words."""
    gone = {
        event_id
        for agent in {one.agent_id for one in learned}
        for event_id in await forgotten.events(db, agent, FactLearned.stream, [one.event_id for one in learned])
    }
    return [one for one in learned if one.event_id not in gone]


async def _unread(db: Write, event: Event, told: Told) -> list[EpisodeUnsettled]:
    """There is a mind: some of the agent's episodes that none has read are settled again, each once for each mind."""
    if told.model is None or isinstance(event, EpisodeUnsettled):
        return []
    return [
        EpisodeUnsettled.following(
            event,
            event_id=derived(EpisodeUnsettled.stream, event.agent_id, str(episode), told.model),
            episode_id=episode,
            why="a_mind_appeared",
        )
        for episode in await episodes.announce_unread(db, event.agent_id, model=told.model, limit=UNREAD_AT_ONCE)
    ]


def _lengthened(event: Event, before: Episode, told: Told) -> str | None:
    """What was done to a summary that says too little for an episode that is to age, if that was."""
    if not (isinstance(event, EpisodeUnsettled) and event.why == "before_ageing" and is_short(before)):
        return None
    was = len((before.summary or "").strip())
    short = f"its summary had {was} characters, and what is to speak for an old conversation has at least {SUMMARY_CHARACTERS}"
    added = "sentences of what was said stand behind it now, word for word"
    return f"{short}: {added if told.written_by == 'extract' else 'a new one was written'}"


def _reason(told: Told) -> str | None:
    dropped = sum(told.dropped.values())
    return f"{dropped} of {dropped + len(told.facts)} facts were dropped: {', '.join(sorted(told.dropped))}" if dropped else None


def _evidence(thought: Considered, told: Told) -> dict[str, Any]:
    said = thought.found.said
    return {
        "model": told.model,
        "prompt": question.VERSION if told.questions else None,
        "turns": len(said),
        "characters": sum(len(one.content) for one in said),
        "facts": len(told.facts),
        "dropped": told.dropped,
        "questions": told.questions,
        "tokens_in": told.tokens_in,
        "tokens_out": told.tokens_out,
        "milliseconds": told.milliseconds,
    }
