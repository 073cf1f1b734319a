"""What a person decides of two facts: that both are true, or that they are two. It outranks every score and every mind, for ever.

    restore  a fact that was retired is true beside the one that had retired it
    split    a wording that had become part of another fact is a fact of its own

The opposite of each is mending.py's: that one ended the other, or that they are one.

Of one fact they decide what upkeep may do to it: pin, so that it is let be, and reinstate, so that what was done is undone.

Restoring and splitting relate texts, not rows, so no later mention of the same words undoes it. What is freed is looked at again:
something else may have retired it meanwhile.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from events import Event, FactJoined, FactPinned, FactReinstated, FactRestored, FactRetired, FactSplit, FactUnpinned, FactUnsettled
from nous.errors import UserMistake
from nous.text import content_hash
from store import facts, mentions, relations, vectors
from store.database import Read, Write
from store.facts import Fact
from store.keys import text_key
from store.mentions import Mention
from store.relations import MERGING, Kind, Relation
from store.vectors import Vector
from workers.memories import keeping

from . import settling
from .settling import Change

Deciding = FactRestored | FactSplit | FactJoined | FactRetired
"""What a person decides of two facts."""


async def restore(db: Write, table: str, told: FactRestored) -> tuple[Change, tuple[Event, ...]]:
    """Let a retired fact be true again beside the one that retired it. Raises UserMistake when it is not retired by that one."""
    fact, beside = await row_of(db, told.agent_id, told.fact_id), await row_of(db, told.agent_id, told.beside)
    if fact.superseded_by != beside.fact_id:
        raise UserMistake(_not_retired(fact))
    if fact.text_key == beside.text_key:
        raise UserMistake(f"{fact.fact_id} and {beside.fact_id} are the same words, and one fact cannot be two")
    await relations.put(db, [decided(told, fact.text_key, beside.text_key)])
    change = await settled(db, table, told, {fact.text_key, beside.text_key})
    return change, freed(told, {fact.fact_id, *change.revived})


async def split(db: Write, table: str, told: FactSplit, *, vector: Vector | None) -> tuple[Change, tuple[Event, ...]]:
    """Make a wording a fact of its own; with it goes what it had been one with before a person joined it to the other.

    `vector` is the wording's, needed where it was confirmed and never had a row.
    Raises UserMistake when it is not part of that fact, or is the same words.
    """
    apart = await row_of(db, told.agent_id, told.apart_from)
    row = (await facts.by_key(db, {(told.agent_id, told.fact_id)})).get((told.agent_id, told.fact_id))
    if row is None or row.merged_into != apart.fact_id:
        row = await _made(db, table, told, apart, vector)
    if row.text_key == apart.text_key:
        raise UserMistake(_same_words(row.wording, apart))
    texts = await _texts(db, apart)
    side = await _side(db, row, texts)
    others = texts - side
    await relations.put(db, [decided(told, one, other) for one in sorted(side) for other in sorted(others)])
    change = await settled(db, table, told, {row.text_key, *others})
    return change, freed(told, {row.fact_id, apart.fact_id, *change.revived})


async def pin(db: Write, told: FactPinned | FactUnpinned, *, is_pinned: bool) -> list[dict[str, Any]]:
    """Let upkeep leave a fact alone, or no longer; gives what changed of it, and of what is part of it. Raises UserMistake."""
    fact = await row_of(db, told.agent_id, told.fact_id)
    if fact.merged_into or (is_pinned and not fact.active):
        raise UserMistake(_not_pinnable(fact))
    parts = (await facts.by_key(db, [row for row, _ in await facts.parts(db, [fact.key])])).values()
    pinned = [one for one in parts if one.pinned_at]
    if bool(pinned) == is_pinned:
        raise UserMistake(f"{fact.fact_id} is {'pinned already' if is_pinned else 'not pinned'}, so there is nothing to do")
    before = [fact] if is_pinned else sorted(pinned, key=lambda one: str(one.fact_id))
    at = told.occurred_at if is_pinned else None
    after = [replace(one, pinned_at=at).recorded(told.occurred_at, by=told.event_id) for one in before]
    await facts.keep(db, after)
    return [change for was, now in zip(before, after, strict=True) if (change := keeping.changed(was, now))]


async def reinstate(db: Write, told: FactReinstated) -> tuple[Fact, Fact, tuple[Event, ...]]:
    """Undo what upkeep did to a fact; gives it before and after. What was archived is looked at again. Raises UserMistake."""
    before = await row_of(db, told.agent_id, told.fact_id)
    if before.demoted_at is None and before.archived_at is None:
        raise UserMistake(f"{before.fact_id} is neither demoted nor archived, so there is nothing to undo")
    same = await facts.by_text(db, told.agent_id, [before.text_key])
    if twin := next((one for one in same if one.active and one != before), None):
        raise UserMistake(f"{twin.fact_id} says the same, word for word, and is active; one fact cannot be two")
    after = before.at_hand(since=told.occurred_at).recorded(told.occurred_at, by=told.event_id)
    await facts.keep(db, [after])
    return before, after, freed(told, [before.fact_id]) if before.archived_at else ()


async def wording(db: Read, agent: str, fact: Fact, mention: UUID) -> Mention | None:
    """What was published under this id and became part of `fact`, in words that have no row of their own; None if nothing was."""
    return next((one for row, one in await _heard(db, fact) if one.mention_id == mention and _text(one) != row.text_key), None)


async def _heard(db: Read, fact: Fact) -> list[tuple[Fact, Mention]]:
    """Everything that was heard of a fact and of what is part of it, each with the row it was heard as."""
    rows = await facts.by_key(db, {part for part, _ in await facts.parts(db, [fact.key])})
    heard = await mentions.of_facts(db, rows)
    return [(rows[key], one) for key, ones in heard.items() for one in ones]


async def _made(db: Write, table: str, told: FactSplit, apart: Fact, vector: Vector | None) -> Fact:
    """A row for a wording that was confirmed; every mention in these words comes with it."""
    heard = await _heard(db, apart)
    row, found = next(((row, one) for row, one in heard if one.mention_id == told.fact_id), (apart, None))
    if found is None:
        raise UserMistake(f"{told.fact_id} is not part of {apart.fact_id}; nous explain fact {apart.fact_id} shows what is")
    if _text(found) == row.text_key:
        raise UserMistake(_same_words(found.content, apart))
    if vector is None or await facts.by_text(db, told.agent_id, [_text(found)]):
        raise UserMistake(f"{found.content!r} is another fact already; nous facts --all --agent {told.agent_id} shows it")
    same = sorted((one for _, one in heard if _text(one) == _text(found)), key=lambda one: (one.occurred_at, one.event_id))
    made = _as_fact(same, told)
    await facts.insert(db, [made])
    await vectors.insert(db, table, [(made.agent_id, made.fact_id, vector)])
    await mentions.move(db, told.agent_id, {one.event_id: made.fact_id for one in same})
    return made


def _as_fact(same: Sequence[Mention], told: FactSplit) -> Fact:
    """The row of these mentions as it begins; settling counts them."""
    first, last = same[0], same[-1]
    return Fact(
        agent_id=told.agent_id,
        fact_id=told.fact_id,
        content=first.content,
        content_hash=content_hash(first.content),
        subject=first.subject,
        attribute=first.attribute,
        provenance=first.provenance,
        confidence=first.confidence,
        source=first.source,
        active=True,
        superseded_by=None,
        merged_into=None,
        valid_from=first.occurred_at,
        valid_to=None,
        claimed_at=last.occurred_at,
        claimed_by=last.event_id,
        confirmation_count=len(same) - 1,
        last_confirmed=last.occurred_at if len(same) > 1 else None,
        created_at=told.occurred_at,
        text_key=_text(first),
        stored_by=first.event_id,
        own_content=None,
        disputes=None,
        recorded_at=told.occurred_at,
        recorded_by=told.event_id,
    )


async def row_of(db: Read, agent: str, fact_id: UUID) -> Fact:
    """The row of this id. Raises UserMistake when there is none."""
    row = (await facts.by_key(db, {(agent, fact_id)})).get((agent, fact_id))
    if row is None:
        raise UserMistake(f"agent {agent!r} has no fact {fact_id}; nous facts --all --agent {agent} shows what there is")
    return row


async def _texts(db: Read, fact: Fact) -> set[bytes]:
    """The texts of a fact and of all that is part of it."""
    reached = await relations.reachable(db, fact.agent_id, {fact.text_key})
    rows = await facts.by_text(db, fact.agent_id, reached)
    return {row.text_key for row in rows if fact.fact_id in (row.fact_id, row.merged_into)}


async def _side(db: Read, row: Fact, texts: set[bytes]) -> set[bytes]:
    """What is split off together: the text, with what it was one with before a person joined it to the others, if one did."""
    known = [one for one in await relations.among(db, row.agent_id, texts) if one.relation in MERGING]
    joined = [one for one in known if one.decided_by == "person" and row.text_key in (one.low_key, one.high_key)]
    last = max(joined, key=lambda one: (one.recorded_at, one.event_id), default=None)
    before = [{one.low_key, one.high_key} for one in known if last and one.event_id != last.event_id]
    side = {row.text_key}
    while more := {key for pair in before if pair & side for key in pair} - side:
        side |= more
    return side if side < texts else {row.text_key}


async def settled(db: Write, table: str, told: Event, texts: Iterable[bytes]) -> Change:
    """What follows for these texts, written. Raises UserMistake when a claim they rest on is not kept."""
    change = await settling.find(db, told.agent_id, set(texts))
    if unclaimed := change.before.keys() - change.after.keys():
        raise UserMistake(_unclaimed(unclaimed))
    await settling.write(db, table, change, due_to=lambda _: told.event_id, now=told.occurred_at)
    return change


def decided(told: Deciding, one: bytes, other: bytes, kind: Kind = "compatible") -> Relation:
    """How a person says that two texts stand; without a `kind`, that both are true."""
    agent, low, high = relations.pair(told.agent_id, one, other)
    return Relation(agent, low, high, kind, None, "person", None, None, told.reason, told.event_id, told.occurred_at)


def freed(told: Event, fact_ids: Iterable[UUID]) -> tuple[Event, ...]:
    """Each is looked at again: what was decided, and what hung on it."""
    return tuple(FactUnsettled.following(told, of=str(one), fact_id=one, why="freed") for one in sorted(fact_ids))


def _text(mention: Mention) -> bytes:
    return text_key(mention.content, mention.subject, mention.attribute)


def _same_words(content: str, apart: Fact) -> str:
    return f"{content!r} is what {apart.fact_id} says, word for word; the same words cannot be two facts"


def _unclaimed(fact_ids: Iterable[UUID]) -> str:
    one, *others = sorted(map(str, fact_ids))
    more = f", nor of {len(others)} more" if others else ""
    return (
        f"the claim that {one} was stored by is not kept{more}, so how it stands cannot be told, and nothing was changed. No event leaves"
        f" it so: rows were written or erased by hand, or came back in part. nous replay makes them anew from the archive, beside these"
    )


def _not_pinnable(fact: Fact) -> str:
    if fact.forgotten_at:
        return f"{fact.fact_id} was forgotten, so there is nothing to keep"
    if fact.merged_into:
        return f"{fact.fact_id} is part of {fact.merged_into}; pin that one"
    if fact.archived_at:
        return f"{fact.fact_id} is archived; first: nous fact restore {fact.fact_id} --because '…'"
    return f"{fact.fact_id} is retired by {fact.superseded_by}, and upkeep touches only what is active"


def _not_retired(fact: Fact) -> str:
    if fact.active:
        return f"{fact.fact_id} is true now, so there is nothing to restore"
    if fact.merged_into:
        return (
            f"{fact.fact_id} was not retired: it is part of {fact.merged_into}; nous fact split {fact.fact_id} makes it a fact of its own"
        )
    return f"{fact.fact_id} is retired by {fact.superseded_by}; look again: nous explain fact {fact.fact_id}"
