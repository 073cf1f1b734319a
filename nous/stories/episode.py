"""An episode's story: how it was opened, what was said, how it ended, what a mind was asked about it, and what was learned from it.

turns ──▶ opened ──▶ closed, or put aside ──▶ asked and answered ──▶ title, summary, facts with their quotes ──▶ what became of each
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from uuid import UUID

from events import EpisodeClosed, FactLearned, derived
from nous.text import normalise
from providers.mind import Utterance
from recall import ending
from store import decisions, episodes, facts, mentions, outbox, receipts, retries, sessions, writings
from store.database import Read
from store.decisions import Decision
from store.episodes import Episode, How
from store.facts import Fact
from store.mentions import Mention
from store.passages import Passage
from store.receipts import Receipt
from store.sessions import Session
from store.writings import Put

from . import asked, source, subject
from .moment import Moment, in_order
from .words import Line, line, moment, one_line, plural, quoted

SHOWN_CHARACTERS = 120
FORGOTTEN = "(forgotten)"


@dataclass(frozen=True)
class Learned:
    """A fact that was taken from an episode, and what became of it. `fact` is the one it is today; None while, or when, it is none."""

    event_id: str
    content: str
    quote: str | None
    became: str
    fact: Fact | None = None
    mention: Mention | None = None

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "event_id": self.event_id,
            "content": self.content,
            "quote": self.quote,
            "became": self.became,
            "published_as": self.mention.mention_id if self.mention else None,
            "fact_id": self.fact.fact_id if self.fact else None,
            "active": self.fact.active if self.fact else None,
        }


@dataclass(frozen=True)
class Story:
    """An episode and what happened to it. `dropped` are facts a mind gave that were not taken, `linked` the decisions that belong to it.

    `passage` is the place of it that was asked about, if one was.
    """

    episode: Episode
    session: Session | None
    said: Sequence[Utterance]
    questions: Sequence[Put]
    learned: Sequence[Learned]
    dropped: Sequence[Mapping[str, object]]
    linked: Sequence[tuple[Decision | UUID, How]]
    moments: Sequence[Moment]
    passage: Passage | None = None

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "episode": self.episode.as_data(),
            "session": asdict(self.session) if self.session else None,
            "said": {
                "utterances": len(self.said),
                "by": dict(_speakers(self.said)),
                "first": asdict(self.said[0]) if self.said else None,
                "last": asdict(self.said[-1]) if self.said else None,
            },
            "facts": [one.as_data() for one in self.learned],
            "dropped": list(self.dropped),
            "decisions": [_link_as_data(one, how) for one, how in self.linked],
            "story": [one.as_data() for one in self.moments],
            **({"passage": self._passage_as_data(self.passage)} if self.passage else {}),
        }

    @staticmethod
    def _passage_as_data(one: Passage) -> dict[str, object]:
        return {"passage_id": one.passage_id, "place": one.place, "said_at": one.said_at, "content": one.content}


async def told_of_passage(db: Read, passage: Passage) -> Story:
    """The story of the episode a passage is of, beside its own words: it has none of its own; needs an overview."""
    found = await episodes.get(db, passage.agent_id, passage.episode_id)
    assert found is not None  # noqa: S101 - a passage refers to its episode
    return replace(await told(db, found), passage=passage)


async def told(db: Read, episode: Episode) -> Story:
    """The story of this episode; needs an overview."""
    agent, episode_id = episode.agent_id, episode.episode_id
    about = f"{source.OF_AN_EPISODE}{episode_id}"
    session = await sessions.get(db, agent, episode.session_key) if episode.session_key else None
    said = await source.words(db, episode)
    happened = await subject.happened(db, agent, episode_id, "episode_", "transcript_")
    questions = await writings.about(db, agent, about)
    learned = await _learned(db, episode, happened.receipts, questions, about)
    by_event = {one.event_id: [fact for fact in learned if _name(fact) in one.derived] for one in happened.receipts}
    lines = {event_id: [line_ for fact in some for line_ in _learned_lines(fact)] for event_id, some in by_event.items()}
    moments = [
        *_beginning(episode, session, said),
        *_ending(episode, session, {one.event_id for one in happened.receipts}),
        *map(asked.written, questions),
        *happened.moments(lines),
    ]
    return Story(
        episode=episode,
        session=session,
        said=said,
        questions=questions,
        learned=learned,
        dropped=_dropped(episode, questions, learned),
        linked=await _linked(db, episode),
        moments=in_order(moments),
    )


# ── how it went ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _beginning(episode: Episode, session: Session | None, said: Sequence[Utterance]) -> list[Moment]:
    lines = [line(_opened_by(episode, session))]
    if episode.opening:
        lines.append(line(f"it begins {quoted(episode.opening, most=SHOWN_CHARACTERS)}"))
    opened = Moment(
        episode.started_at, "opened", "", lines, {"trigger": episode.trigger, "session_id": session.session_id if session else None}
    )
    if not said:
        return [opened]
    times = [one.said_at for one in said if one.said_at]
    span = f", from {moment(min(times))} to {moment(max(times))}" if times else ""
    who = ", ".join(f"{speaker} ×{count}" for speaker, count in _speakers(said))
    spoken = [line(f"{plural(len(said), 'utterance')}{span}: {who}")]
    last = said[-1]
    spoken.append(Line(((f"the last, by {last.speaker or 'somebody'}: ", "faint"), (source.excerpt(last.content), "plain"))))
    return [opened, Moment(max(times, default=episode.started_at), "said", "", spoken, {"utterances": len(said)})]


def _opened_by(episode: Episode, session: Session | None) -> str:
    if session is None:
        return f"trigger {episode.trigger}: no turn was reported here, its closing brought what there is of it"
    return f"trigger {episode.trigger}: by a turn of session {session.session_id}, which began {moment(session.started_at)}"


def _ending(episode: Episode, session: Session | None, ended: Collection[str]) -> list[Moment]:
    moments = []
    closing = ending.closing(episode).event_id if episode.ended_at else ""
    told_by = [line(f"{EpisodeClosed.stream} {closing} tells of it", "faint")] if closing in ended else []
    if session and session.ended_at:
        how = "the session was given up, for nothing more was heard" if session.ending == "abandoned" else "the session ended"
        moments.append(Moment(session.ended_at, "ended", "", [line(how), *told_by], {"session_ending": session.ending}))
    if episode.put_aside:
        at = session.ended_at if session and session.ended_at else episode.recorded_at
        why = [line(f"because: {one_line(episode.put_aside)}", "telling")]
        moments.append(Moment(at, "put aside", "", why, {"put_aside": episode.put_aside}))
    return moments


def _speakers(said: Iterable[Utterance]) -> list[tuple[str, int]]:
    return Counter(one.speaker or "somebody" for one in said).most_common()


# ── what was learned ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _learned(db: Read, episode: Episode, happened: Iterable[Receipt], questions: Sequence[Put], about: str) -> list[Learned]:
    """Each fact that was published of it, or names it as its source, and what became of it."""
    agent = episode.agent_id
    named = [name.partition(":")[2] for one in happened for name in one.derived if name.startswith(f"{FactLearned.stream}:")]
    said = {one.event_id: one for one in (*await mentions.from_source(db, agent, about), *await mentions.of_events(db, agent, named))}
    ids = list(dict.fromkeys([*named, *said]))
    rows = await facts.survivors(db, {(agent, one.fact_id) for one in said.values()})
    given = {_event_id(episode, str(one["content"])): one for put in questions for one in asked.facts_in(put)}
    ended = {one.event_id: one for one in await receipts.of_events(db, [agent], ids) if one.stream == FactLearned.stream}
    waiting = {one.event_id for one in await retries.of_events(db, agent, ids)}
    unpublished = {one.event_id for one in await outbox.of_events(db, agent, ids)}

    def of(event_id: str) -> Learned:
        mention, receipt = said.get(event_id), ended.get(event_id)
        fact = rows.get((agent, mention.fact_id)) if mention else None
        where = "waiting" if event_id in waiting else "published, and not worked yet" if event_id in unpublished else "unknown"
        became = _became(fact, receipt) if receipt else where
        content = (mention.content or FORGOTTEN) if mention else str(given.get(event_id, {}).get("content", event_id))
        quote = mention.quote if mention else given.get(event_id, {}).get("quote")
        return Learned(event_id, content, quote, became, fact, mention)

    return [of(one) for one in ids]


def _event_id(episode: Episode, content: str) -> str:
    """The id of the event that tells of a fact of this episode (workers.episodes.settling)."""
    return derived(FactLearned.stream, episode.agent_id, str(episode.episode_id), normalise(content))


def _became(fact: Fact | None, receipt: Receipt) -> str:
    if fact is None:
        return f"{receipt.outcome}: {receipt.reason}" if receipt.reason else receipt.outcome
    since = "" if fact.active else f", superseded since by {fact.superseded_by}" if fact.superseded_by else ", not active since"
    return f"{receipt.outcome} as {fact.fact_id}{since}"


def _name(one: Learned) -> str:
    return f"{FactLearned.stream}:{one.event_id}"


def _learned_lines(one: Learned) -> list[Line]:
    quote = f" from {quoted(one.quote, most=SHOWN_CHARACTERS)}" if one.quote else ""
    return [Line(((f"  {quoted(one.content)}", "plain"), (quote, "faint"))), line(f"    {one_line(one.became)}", "faint")]


def _dropped(episode: Episode, questions: Iterable[Put], learned: Iterable[Learned]) -> list[dict[str, object]]:
    """The facts that a mind gave and nobody took, each once."""
    taken = {one.event_id for one in learned}
    given = {_event_id(episode, str(one["content"])): {**one, "model": put.model} for put in questions for one in asked.facts_in(put)}
    return [one for event_id, one in given.items() if event_id not in taken]


# ── decisions ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _linked(db: Read, episode: Episode) -> list[tuple[Decision | UUID, How]]:
    """The decisions that belong to it; one that was named and never recorded is its id."""
    links = await episodes.decisions_of(db, episode.agent_id, [episode.episode_id])
    return [(await decisions.get(db, episode.agent_id, one) or one, how) for _, one, how in links]


def _link_as_data(one: Decision | UUID, how: How) -> dict[str, object]:
    if isinstance(one, UUID):
        return {"decision_id": one, "how": how, "description": None, "noise": None}
    return {"decision_id": one.decision_id, "how": how, "description": one.description, "noise": one.noise}
