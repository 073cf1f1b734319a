"""Lineage: everything that comes from a fact, or that the fact comes from. It is what is forgotten with it.

    fact ── every row of it, and of the same text at another time
     └─ mentions ─┬─ the events they were heard in, and those that followed with words in them
                  └─ a quote of an episode ─┬─ the stretch of what was said
                                            └─ other facts whose quote overlaps it: they rest on the same words, and so on

What merely holds the same words (a decision, another conversation) is no part of it.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from . import episodes, facts, mentions, sessions, spans, transcripts
from .database import Read
from .episodes import Episode
from .facts import Fact
from .mentions import Mention
from .sessions import Turn
from .transcripts import Cold

WORDLESS = frozenset(
    {
        "fact_confirmed",
        "fact_superseded",
        "fact_merged",
        "fact_unsettled",
        "episode_unsettled",
        "episode_aged",
        "transcript_expired",
        "memory_recalled",
        "memory_referenced",
        "fact_forgotten",
        "agent_forgotten",
    }
)
"""Events that carry ids, numbers and times: nothing of them is to be erased, and what they set off goes on."""

EPISODE = "episode:"
_NO_WORDS = ("_id", "_ids", "_at")

EventKey = tuple[str, str]
"""(stream, event_id), within one agent."""


@dataclass(frozen=True)
class Told:
    """An episode with what was said in it, as far as that is at hand, and what was put away."""

    episode: Episode
    turns: tuple[Turn, ...]
    away: Cold | None = None

    @property
    def texts(self) -> list[str]:
        """What was said, each turn by itself, and the transcript that came."""
        at_hand = [*(turn.content for turn in self.turns), *([self.episode.detail] if self.episode.detail else [])]
        return [*at_hand, *(self.away.transcript.texts if self.away else [])]


@dataclass(frozen=True)
class Lineage:
    """What is forgotten together. `events` are erased; of `reworded` the words are taken out, and the rest stays."""

    agent_id: str
    facts: tuple[Fact, ...]
    mentions: tuple[Mention, ...]
    episodes: tuple[Told, ...]
    events: frozenset[EventKey]
    reworded: frozenset[EventKey]

    @property
    def fact_ids(self) -> list[UUID]:
        """The ids of its facts."""
        return [fact.fact_id for fact in self.facts]

    @property
    def wordings(self) -> tuple[str, ...]:
        """Every wording of its facts, and every quote they rest on; the longest first."""
        said = [one for mention in self.mentions for one in (mention.content, mention.quote or "")]
        said += [one for fact in self.facts for one in (fact.content, fact.own_content or "")]
        return tuple(sorted({one for one in said if one.strip()}, key=lambda one: (-len(one), one)))


async def of(db: Read, agent: str, *, fact_ids: Iterable[UUID] = (), event_ids: Collection[str] = ()) -> Lineage:
    """What hangs together with these facts, or with what these events said."""
    wanted = {*fact_ids, *(one.fact_id for one in await mentions.of_events(db, agent, event_ids))} if event_ids else set(fact_ids)
    told: dict[UUID, Told] = {}
    while True:
        rows = await _rows(db, agent, wanted)
        heard = [one for ones in (await mentions.of_facts(db, [(agent, row) for row in rows])).values() for one in ones]
        for episode in {one for mention in heard if (one := _episode(mention))} - told.keys():
            if found := await _told(db, agent, episode):
                told[episode] = found
        beside = {one for found in told.values() for one in await _on_the_same_words(db, found, heard)}
        if beside <= rows.keys():
            break
        wanted = {*rows, *beside}
    kept = tuple(sorted(told.values(), key=lambda one: one.episode.started_at))
    events, reworded = await _events(db, agent, rows, heard), await _closings(db, agent, kept)
    return Lineage(
        agent_id=agent,
        facts=tuple(sorted(rows.values(), key=lambda one: (one.valid_from, one.created_at, str(one.fact_id)))),
        mentions=tuple(sorted(heard, key=lambda one: (one.occurred_at, one.event_id))),
        episodes=kept,
        events=frozenset(events | await _summaries(db, agent, kept)),
        reworded=frozenset(reworded - events),
    )


async def _rows(db: Read, agent: str, wanted: Collection[UUID]) -> dict[UUID, Fact]:
    """These facts whole: with what they are part of, what is part of them, and every row that says the same text."""
    rows: dict[UUID, Fact] = {}
    missing = set(wanted)
    while missing:
        found = {key[1]: one for key, one in (await facts.by_key(db, {(agent, one) for one in missing})).items() if not one.forgotten_at}
        parts = await facts.parts(db, [(agent, one.merged_into or one.fact_id) for one in found.values()])
        same = await facts.by_text(db, agent, {one.text_key for one in found.values()})
        rows |= found
        missing = {row for (_, row), _ in parts} | {one.fact_id for one in same}
        missing -= rows.keys() | {one for one in missing if one in wanted and one not in found}
        missing -= {one for _, one in await facts.forgotten(db, {(agent, one) for one in missing})}
    return rows


def _episode(mention: Mention) -> UUID | None:
    if not (mention.source or "").startswith(EPISODE):
        return None
    try:
        return UUID((mention.source or "").removeprefix(EPISODE))
    except ValueError:
        return None


async def _told(db: Read, agent: str, episode_id: UUID) -> Told | None:
    episode = await episodes.get(db, agent, episode_id)
    if episode is None:
        return None
    turns = await sessions.turns(db, agent, episode.session_key) if episode.session_key else []
    return Told(episode, tuple(turns), await transcripts.cold(db, agent, episode_id))


async def _on_the_same_words(db: Read, told: Told, heard: Collection[Mention]) -> set[UUID]:
    """The facts of this episode whose quote shares words with a quote of these mentions, where it was said."""
    source = f"{EPISODE}{told.episode.episode_id}"
    quotes = {one.quote for one in heard if one.source == source and one.quote}
    others = [one for one in await mentions.from_source(db, told.episode.agent_id, source) if one.quote and one.quote not in quotes]
    same = {one.fact_id for one in await mentions.from_source(db, told.episode.agent_id, source) if one.quote in quotes}
    texts = [(said, spans.found(said, quotes)) for said in told.texts]
    for one in others:
        if any(spans.overlap(there, spans.found(said, [one.quote or ""])) for said, there in texts if there):
            same.add(one.fact_id)
    return same


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _events(db: Read, agent: str, rows: Collection[UUID], heard: Collection[Mention]) -> set[EventKey]:
    """The events these wordings were heard in, what followed with words in it, and what people decided of these facts."""
    roots = {("fact_learned", one.event_id) for one in heard}
    told = await db.execute(
        text(
            "SELECT stream, event_id, derived FROM bus.receipts WHERE agent_id = :agent AND (about = ANY(CAST(:facts AS uuid[]))"
            " OR stream = 'fact_learned' AND event_id = ANY(CAST(:roots AS text[])))"
        ),
        {"agent": agent, "facts": list(rows), "roots": [event_id for _, event_id in roots]},
    )
    found = set(roots)
    for row in told:
        found.add((row.stream, row.event_id))
        found |= {key for key in map(_derived, row.derived) if key[0] == "fact_stored"}
    return {key for key in found if key[0] not in WORDLESS}


async def _summaries(db: Read, agent: str, told: Collection[Told]) -> set[EventKey]:
    """What told of the summaries of these episodes."""
    rows = await db.execute(
        text("SELECT derived FROM bus.receipts WHERE agent_id = :agent AND about = ANY(CAST(:episodes AS uuid[]))"),
        {"agent": agent, "episodes": [one.episode.episode_id for one in told]},
    )
    return {key for row in rows for key in map(_derived, row.derived) if key[0] == "episode_summarized"}


async def _closings(db: Read, agent: str, told: Collection[Told]) -> set[EventKey]:
    """What closed these episodes: it may have brought the transcript."""
    if not told:
        return set()
    ids = [one.episode.episode_id for one in told]
    rows = await db.execute(
        text(
            "SELECT stream, event_id FROM bus.receipts WHERE agent_id = :agent AND stream = 'episode_closed'"
            " AND about = ANY(CAST(:episodes AS uuid[]))"
            " UNION SELECT stream, event_id FROM bus.events WHERE agent_id = :agent AND stream = 'episode_closed'"
            " AND lower(encode(body, 'escape')) LIKE ANY(CAST(:named AS text[]))"
            " UNION SELECT stream, event_id FROM bus.retries WHERE agent_id = :agent AND stream = 'episode_closed'"
            " AND lower(encode(body, 'escape')) LIKE ANY(CAST(:named AS text[]))"
        ),
        {"agent": agent, "episodes": ids, "named": [f"%{name}%" for one in ids for name in (str(one), one.hex)]},
    )
    return {(row.stream, row.event_id) for row in rows}


def _derived(written: str) -> EventKey:
    stream, _, event_id = written.partition(":")
    return stream, event_id


def without_words(body: bytes, event_id: str, wordings: Collection[str]) -> bytes | None:
    """The body of an event with marks in place of these words, under the id it has; None for one that is no JSON object."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    said = {name: spans.redacted_in(value, list(wordings)) for name, value in fields.items() if not name.endswith(_NO_WORDS)}
    return json.dumps(fields | said | {"event_id": event_id}, ensure_ascii=False).encode()


async def elsewhere(db: Read, live: Lineage) -> Lineage:
    """The same lineage in another store, such as a replay: what its events became there, and all that it is of here."""
    found = await of(db, live.agent_id, event_ids=[event_id for stream, event_id in live.events if stream == "fact_learned"])
    told = {one.episode.episode_id: one for one in found.episodes}
    for episode in {one.episode.episode_id for one in live.episodes} - told.keys():
        if one := await _told(db, live.agent_id, episode):
            told[episode] = one
    return Lineage(
        agent_id=live.agent_id,
        facts=found.facts,
        mentions=(*live.mentions, *(one for one in found.mentions if one not in live.mentions)),
        episodes=tuple(told.values()),
        events=live.events | found.events,
        reworded=(live.reworded | found.reworded) - live.events - found.events,
    )
