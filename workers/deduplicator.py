"""Deduplicator: what was known is confirmed, what is new is stored, and in doubt it is stored. It asks no model.

    fact_learned ─┬─ empty ─────────────────────────────────────────────▶ skipped
                  ├─ its fact_id stands for other content ──────────────▶ parked
                  ├─ heard before, word for word ───────────────────────▶ confirmed
                  ├─ cosine at or above CONFIRM_SIMILARITY, guard agrees ▶ confirmed
                  └─ anything else ─────────────────────────────────────▶ stored, recallable at once;
                                                                           from CHECK_SIMILARITY up a twin is likely

    a match that is no longer active ─┬─ claimed later than it was retired ▶ stored: it is true again
                                      ├─ claimed while it was true ────────▶ mentioned: one more wording, nothing else
                                      └─ archived by upkeep ───────────────▶ confirmed: it is active again

Both thresholds belong to the embedder (cosine, -1 to 1; measured, docs/quality.md). Every wording is kept as a mention, whatever
became of it. Claims of an agent are decided one after another, each seeing what the ones before it did.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np

from events import FactConfirmed, FactLearned, FactStored, FactUnsettled
from nous import clock, ids
from nous.guard import Verdict, agree
from nous.text import content_hash, is_blank, normalise
from providers.embedder import Vectors
from store import facts, mentions, relations, vectors
from store.database import Read, Write
from store.facts import Fact, Key
from store.keys import text_key
from store.mentions import Mention
from store.vectors import Near, Vector
from workers.memories import keeping
from workers.runtime import metrics
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, RetryLater, Skip, Worker

OUTCOMES = ("stored", "confirmed", "mentioned")
NEAREST = 8
TRUST = ("assistant_derived", "episode_summary", "user_stated")  # least first

# ── think: vectors for what was not heard before, in one batch ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Thought:
    """The hash of an event's words, and their vector if they are new to its agent."""

    digest: bytes
    vector: Vector | None


async def embed(events: Sequence[FactLearned], kit: Kit) -> Sequence[Thought]:
    """A hash for each event, and a vector for each whose words are new to its agent."""
    keys = [(event.agent_id, content_hash(event.content)) for event in events]
    wanted: dict[tuple[str, bytes], str] = {}
    for key, event in zip(keys, events, strict=True):
        if not is_blank(event.content):
            wanted.setdefault(key, event.content)
    async with kit.database.read({agent for agent, _ in wanted}) as db:
        known = await _wordings(db, wanted)
    new = list(
        dict.fromkeys(key for key, event in zip(keys, events, strict=True) if key in wanted and not _is_known(event, known.get(key, ())))
    )
    made: Iterable[Vector] = ()
    if new:
        with metrics.embedding():
            made = _as_stored(await kit.embedder.embed([wanted[key] for key in new]))
    found = dict(zip(new, made, strict=True))
    return [Thought(digest=key[1], vector=found.get(key)) for key in keys]


def _is_known(event: FactLearned, said: Iterable[Fact]) -> bool:
    return any(fact.is_so and is_about_the_same(fact, event) for fact in said)


async def _wordings(db: Read, wanted: Iterable[tuple[str, bytes]]) -> dict[tuple[str, bytes], list[Fact]]:
    """The facts that each of these wordings became."""
    heard = await mentions.by_content(db, list(wanted))
    rows = await facts.by_key(db, {(agent, fact) for (agent, _), ids in heard.items() for fact in ids})
    return {key: [rows[key[0], fact] for fact in ids if (key[0], fact) in rows] for key, ids in heard.items()}


def _as_stored(made: Vectors) -> Vectors:
    """Vectors as the half-precision column will hold them, so that a page and a later search see the same numbers."""
    return made.astype(np.float16).astype(np.float32)


# ── write: decide each claim, one after another ───────────────────────────────────────────────────────────────────────────


async def deduplicate(db: Write, jobs: Sequence[Job[FactLearned, Thought]], kit: Kit) -> Sequence[Ending]:
    """Confirm what is known, store what is new, and keep every wording."""
    claims = [Claim(job.event, job.thought.digest, job.thought.vector) for job in jobs]
    memory = await _remember(db, claims, kit)
    endings = await _with_unsettled(db, memory, claims, [memory.settle(claim) for claim in claims])
    await facts.insert(db, [memory.facts[key] for key in memory.added])
    await facts.confirm(db, [memory.facts[key] for key in sorted(memory.changed - set(memory.added))])
    await vectors.insert(
        db,
        kit.registered.table,
        [
            (claim.agent, fact_id, claim.vector)
            for stored in memory.stored_now.values()
            for fact_id, claim in stored
            if claim.vector is not None
        ],
    )
    await mentions.insert(db, memory.heard_now)
    return endings


@dataclass(frozen=True, eq=False)
class Claim:
    """An event on its way to becoming a fact. `vector` is None when its words were known."""

    event: FactLearned
    digest: bytes
    vector: Vector | None

    @property
    def agent(self) -> str:
        """Whose claim it is."""
        return self.event.agent_id


@dataclass(frozen=True)
class Candidate:
    """A fact that may say what a claim says, and what the guard says of the two."""

    fact: Fact
    similarity: float
    verdict: Verdict


@dataclass(frozen=True)
class Seen:
    """What stands near a claim, nearest first: `alike` from CHECK_SIMILARITY up; `others`, below it, are known by their id only."""

    alike: Sequence[Candidate] = ()
    others: Sequence[Near] = ()

    def as_evidence(self) -> list[dict[str, object]]:
        """For the receipt."""
        looked_at = [_evidence(one.fact.fact_id, one.similarity) | {"guard": str(one.verdict)} for one in self.alike]
        return looked_at + [_evidence(near.fact_id, near.similarity) for near in self.others]


def _evidence(fact_id: UUID, similarity: float) -> dict[str, object]:
    return {"fact_id": str(fact_id), "similarity": round(similarity, 4)}


@dataclass
class Memory:
    """What the agents of this transaction know, and what has been decided so far."""

    kit: Kit
    facts: dict[Key, Fact]
    by_words: dict[tuple[str, bytes], set[UUID]]
    words_of: dict[tuple[str, UUID], bytes]
    near: dict[Claim, list[Near]]
    alike: "Likeness"
    stored_now: dict[str, list[tuple[UUID, Claim]]] = field(default_factory=dict)
    added: list[Key] = field(default_factory=list)
    changed: set[Key] = field(default_factory=set)
    heard_now: list[Mention] = field(default_factory=list)

    def settle(self, claim: Claim) -> Ending:
        """Decide one claim."""
        event = claim.event
        if is_blank(event.content):
            return Skip("the content is empty")
        if self.words_of.get((claim.agent, event.fact_id), claim.digest) != claim.digest:
            return GiveUp(f"fact_id {event.fact_id} already stands for other content of agent {claim.agent!r}; publish it under a new id")
        if same := self._same_words(claim):
            return self._match(claim, same, similarity=1.0, seen=Seen())
        if claim.vector is None:
            return RetryLater(timedelta(0), "its words were known a moment ago and are not any more")
        seen = self._nearest(claim)
        agreed = [one for one in seen.alike if self._may_confirm(one, event)]
        if agreed:
            best = max(agreed, key=lambda one: (self._surviving(one.fact).is_so, one.similarity))
            return self._match(claim, best.fact, similarity=best.similarity, seen=seen)
        return self._store(claim, seen)

    def _may_confirm(self, candidate: Candidate, event: FactLearned) -> bool:
        if not candidate.verdict.agrees or not is_about_the_same(self._surviving(candidate.fact), event):
            return False
        return candidate.similarity >= self.kit.embedder.confirm_similarity

    def _same_words(self, claim: Claim) -> Fact | None:
        """The row of these very words; one whose fact is active before one whose is not, the latest claimed before the others."""
        ids = self.by_words.get((claim.agent, claim.digest), set())
        rows = [self.facts[claim.agent, fact_id] for fact_id in sorted(ids)]
        about_it = [row for row in rows if is_about_the_same(self._surviving(row), claim.event)]
        return max(about_it, key=lambda row: self._closeness(row, claim.event), default=None)

    def _closeness(self, row: Fact, event: FactLearned) -> tuple[bool, int, datetime, str, bool]:
        fact = self._surviving(row)
        return fact.is_so, _nearness(fact, event), fact.claimed_at, fact.claimed_by, row.merged_into is None

    def _surviving(self, fact: Fact) -> Fact:
        while fact.merged_into is not None:
            fact = self.facts[fact.agent_id, fact.merged_into]
        return fact

    def _nearest(self, claim: Claim) -> Seen:
        """The nearest facts, those stored a moment ago included."""
        just_now = [Near(fact_id, self.alike.between(claim, other)) for fact_id, other in self.stored_now.get(claim.agent, [])]
        ranked = sorted([*self.near[claim], *just_now], key=lambda near: (-near.similarity, str(near.fact_id)))[:NEAREST]
        alike = [near for near in ranked if near.similarity >= self.kit.embedder.check_similarity]
        return Seen([self._candidate(claim, near) for near in alike], ranked[len(alike) :])

    def _candidate(self, claim: Claim, near: Near) -> Candidate:
        fact = self.facts[claim.agent, near.fact_id]
        return Candidate(fact, near.similarity, agree(fact.content, claim.event.content))

    def _match(self, claim: Claim, row: Fact, *, similarity: float, seen: Seen) -> Ending:
        """The claim is heard as one of `row`, and counts for the fact that row is part of."""
        fact = self._surviving(row)
        if not fact.is_so:
            retired_at = fact.valid_to or fact.claimed_at
            if claim.event.occurred_at > retired_at and claim.vector is not None:
                return self._store(claim, seen)
            if claim.event.occurred_at > retired_at:
                return RetryLater(timedelta(0), "it is true again and has no vector yet")
            self._hear(claim, row, similarity, "mentioned")
            return Done("mentioned", about=fact.fact_id, reason="it was claimed while that was still true", evidence=self._evidence(seen))
        confirmed = confirm(fact, claim.event)
        self.facts[fact.agent_id, fact.fact_id] = confirmed
        self.changed.add((fact.agent_id, fact.fact_id))
        self._hear(claim, row, similarity, "confirmed")
        why = "the same words" if similarity == 1.0 else f"similarity {similarity:.3f} and the guard agrees"
        came_back = keeping.changed(fact, confirmed)
        return Done(
            "confirmed",
            about=fact.fact_id,
            reason=f"{why}; heard again, it is {keeping.undone(fact)}" if came_back else why,
            evidence=self._evidence(seen) | ({"changed": [came_back]} if came_back else {}),
            publishes=(
                FactConfirmed.following(
                    claim.event,
                    fact_id=fact.fact_id,
                    mention_id=claim.event.fact_id,
                    confirmation_count=confirmed.confirmation_count,
                    similarity=min(similarity, 1.0),
                ),
            ),
        )

    def _store(self, claim: Claim, seen: Seen) -> Ending:
        event = claim.event
        fact = _new_fact(claim, self._free_id(claim))
        key = (fact.agent_id, fact.fact_id)
        self.facts[key] = fact
        self.added.append(key)
        self.stored_now.setdefault(claim.agent, []).append((fact.fact_id, claim))
        self._hear(claim, fact, 1.0, "stored")
        twin = next((one for one in seen.alike if one.fact.active), None)
        is_almost_merged = twin is not None and twin.similarity >= self.kit.embedder.confirm_similarity
        return Done(
            "stored",
            about=fact.fact_id,
            reason=_twin_reason(twin, is_almost_merged=is_almost_merged) if twin else None,
            evidence=self._evidence(seen) | {"twin": str(twin.fact.fact_id) if twin else None, "almost_merged": is_almost_merged},
            publishes=(
                FactStored.following(
                    event,
                    fact_id=fact.fact_id,
                    content=fact.content,
                    subject=fact.subject,
                    attribute=fact.attribute,
                    provenance=fact.provenance,
                    confidence=fact.confidence,
                    likely_twin=twin.fact.fact_id if twin else None,
                    similarity=min(twin.similarity, 1.0) if twin else None,
                ),
            ),
        )

    def _free_id(self, claim: Claim) -> UUID:
        """The id the agent gave; one that follows from the event when that is a fact already, which these words became before."""
        is_taken = (claim.agent, claim.event.fact_id) in self.facts
        return ids.derived("fact", claim.agent, claim.event.event_id) if is_taken else claim.event.fact_id

    def _hear(self, claim: Claim, fact: Fact, similarity: float, outcome: str) -> None:
        event = claim.event
        self.by_words.setdefault((claim.agent, claim.digest), set()).add(fact.fact_id)
        self.words_of[claim.agent, event.fact_id] = claim.digest
        self.heard_now.append(
            Mention(
                agent_id=claim.agent,
                event_id=event.event_id,
                mention_id=event.fact_id,
                fact_id=fact.fact_id,
                content=event.content,
                content_hash=claim.digest,
                subject=event.subject,
                attribute=event.attribute,
                provenance=event.provenance,
                confidence=event.confidence,
                source=event.source,
                quote=event.quote,
                similarity=min(similarity, 1.0),
                outcome=outcome,
                occurred_at=event.occurred_at,
                heard_at=clock.now(),
            )
        )

    def _evidence(self, seen: Seen) -> dict[str, Any]:
        embedder = self.kit.embedder
        return {
            "embedder": embedder.name,
            "confirm_similarity": embedder.confirm_similarity,
            "check_similarity": embedder.check_similarity,
            "candidates": seen.as_evidence(),
        }


async def _with_unsettled(db: Read, memory: Memory, claims: Sequence[Claim], endings: Sequence[Ending]) -> list[Ending]:
    """The endings; another claim of a fact that merges or conflicts with others also says that these are to be looked at again."""
    touched = {
        claim: memory.facts[claim.agent, ending.about]
        for claim, ending in zip(claims, endings, strict=True)
        if isinstance(ending, Done) and ending.about and ending.outcome != "stored"
    }
    linked = await relations.linked(db, {(fact.agent_id, fact.text_key) for fact in touched.values()})
    return [
        _unsettling(ending, claim.event, touched[claim])
        if isinstance(ending, Done) and claim in touched and (claim.agent, touched[claim].text_key) in linked
        else ending
        for claim, ending in zip(claims, endings, strict=True)
    ]


def _unsettling(ending: Done, event: FactLearned, fact: Fact) -> Done:
    unsettled = FactUnsettled.following(event, fact_id=fact.fact_id, why="claimed_again")
    return replace(ending, publishes=(*ending.publishes, unsettled))


# ── pure rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_about_the_same(fact: Fact, event: FactLearned) -> bool:
    """Whether the claim may be about what the fact is about: subject and attribute are the same, or one of the two does not say."""
    return _may_be_one(fact.subject, event.subject) and _may_be_one(fact.attribute, event.attribute)


def _may_be_one(old: str | None, new: str | None) -> bool:
    return not old or not new or normalise(old) == normalise(new)


def _nearness(fact: Fact, event: FactLearned) -> int:
    """How many of subject and attribute the two state alike, rather than not at all."""
    stated = [(fact.subject, event.subject), (fact.attribute, event.attribute)]
    return sum(bool(old and new) for old, new in stated)


def confirm(fact: Fact, event: FactLearned) -> Fact:
    """The fact after one more claim of it. Any order of the same claims ends in the same trust, counts and times.

    What upkeep had done to it is over, whenever the claim was made: it was heard.
    """
    fact, (provenance, confidence) = fact.at_hand(since=clock.now()), _trust(fact, event)
    claimed_at, claimed_by = max((fact.claimed_at, fact.claimed_by), (event.occurred_at, event.event_id))
    return replace(
        fact,
        provenance=provenance,
        confidence=confidence,
        valid_from=min(fact.valid_from, event.occurred_at),
        claimed_at=claimed_at,
        claimed_by=claimed_by,
        confirmation_count=fact.confirmation_count + 1,
        last_confirmed=claimed_at,
        recorded_at=clock.now(),
        recorded_by=event.event_id,
    )


def _trust(fact: Fact, event: FactLearned) -> tuple[str, float]:
    """The better of the two claims: by who vouches for it, then by confidence; an assistant repeating itself adds none."""
    old, new = TRUST.index(fact.provenance), TRUST.index(event.provenance)
    if new > old:
        return event.provenance, event.confidence
    if new < old:
        return fact.provenance, fact.confidence
    if event.provenance == "assistant_derived":
        return fact.provenance, _earliest_confidence(fact, event)
    return fact.provenance, max(fact.confidence, event.confidence)


def _earliest_confidence(fact: Fact, event: FactLearned) -> float:
    """What the assistant thought the first time it said so; of two claims of one moment, the more careful."""
    if event.occurred_at < fact.valid_from:
        return event.confidence
    return min(fact.confidence, event.confidence) if event.occurred_at == fact.valid_from else fact.confidence


def _new_fact(claim: Claim, fact_id: UUID) -> Fact:
    event, now = claim.event, clock.now()
    return Fact(
        agent_id=claim.agent,
        fact_id=fact_id,
        content=event.content,
        content_hash=claim.digest,
        subject=event.subject,
        attribute=event.attribute,
        provenance=event.provenance,
        confidence=event.confidence,
        source=event.source,
        active=True,
        superseded_by=None,
        merged_into=None,
        valid_from=event.occurred_at,
        valid_to=None,
        claimed_at=event.occurred_at,
        claimed_by=event.event_id,
        confirmation_count=0,
        last_confirmed=None,
        created_at=now,
        text_key=text_key(event.content, event.subject, event.attribute),
        stored_by=event.event_id,
        own_content=None,
        disputes=None,
        recorded_at=now,
        recorded_by=event.event_id,
    )


def _twin_reason(twin: Candidate, *, is_almost_merged: bool) -> str:
    likeness = f"similarity {twin.similarity:.3f} to {twin.fact.fact_id}"
    if not is_almost_merged:
        return f"likely twin: {likeness}"
    return f"almost merged: {likeness}, but {'it is said of something else' if twin.verdict.agrees else twin.verdict}"


class Likeness:
    """Cosine between the claims of one transaction, for those that have vectors."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._place: dict[Claim, tuple[str, int]] = {}
        rows: dict[str, list[Vector]] = {}
        for claim in claims:
            if claim.vector is not None:
                mine = rows.setdefault(claim.agent, [])
                self._place[claim] = (claim.agent, len(mine))
                mine.append(claim.vector)
        self._cosines = {agent: (made := _unit(np.stack(mine))) @ made.T for agent, mine in rows.items()}

    def between(self, left: Claim, right: Claim) -> float:
        """Cosine of two claims of one agent."""
        agent, row = self._place[left]
        return float(self._cosines[agent][row, self._place[right][1]])


def _unit(made: Vectors) -> Vectors:
    lengths: Vectors = np.linalg.norm(made, axis=1, keepdims=True)
    return made / lengths


# ── what the agents of a transaction know ─────────────────────────────────────────────────────────────────────────────────


async def _remember(db: Write, claims: Sequence[Claim], kit: Kit) -> Memory:
    by_words = await mentions.by_content(db, list({(claim.agent, claim.digest) for claim in claims}))
    words_of = await mentions.by_mention_id(db, list({(claim.agent, claim.event.fact_id) for claim in claims}))
    asked = [claim for claim in claims if claim.vector is not None]
    found = await vectors.nearest(
        db,
        kit.registered.table,
        [(claim.agent, claim.vector) for claim in asked if claim.vector is not None],
        limit=NEAREST,
        floor=kit.embedder.check_similarity,
    )
    near: dict[Claim, list[Near]] = {claim: [] for claim in claims} | dict(zip(asked, found, strict=True))
    keys = {(agent, fact) for (agent, _), ids in by_words.items() for fact in ids}
    check = kit.embedder.check_similarity
    keys |= {(claim.agent, one.fact_id) for claim, ones in near.items() for one in ones if one.similarity >= check}
    keys |= await facts.forgotten(db, {(claim.agent, claim.event.fact_id) for claim in claims})  # of no words, and its id is taken
    return Memory(kit=kit, facts=await _with_survivors(db, keys), by_words=by_words, words_of=words_of, near=near, alike=Likeness(claims))


async def _with_survivors(db: Read, keys: set[Key]) -> dict[Key, Fact]:
    """These facts, and those they were merged into."""
    known: dict[Key, Fact] = {}
    missing = keys
    while missing:
        known |= await facts.by_key(db, missing)
        missing = {(fact.agent_id, fact.merged_into) for fact in known.values() if fact.merged_into} - known.keys()
    return known


worker = Worker(on=FactLearned, think=embed, write=deduplicate, outcomes=OUTCOMES, publishes=(FactStored, FactConfirmed, FactUnsettled))
