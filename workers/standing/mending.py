"""What a person decides of two facts that stand beside each other: that they are one, or that one ended the other.

    join    the two say the same: the older stays, with every wording and every claim of both      undone by split
    retire  the one is no longer true since the other was claimed, as after any supersession       undone by restore

It is one relation of two texts, by a person, and what follows is derived as ever (slots.py). Where the two facts are of several
wordings, each pair of them that was known to stand otherwise is decided with it: the latest that a person says holds.

    put ─▶ settle ─▶ is it so now? ─┬─ yes ─▶ told like any merge or supersession; what was freed is looked at again
                                    └─ no ──▶ nothing is changed, and a sentence says what stands in the way

A later claim ends an earlier one and never the other way round, and an assistant's never ends a user's: a person cannot turn that
about, and is told to say again what is true. So there are no rings, and no claim is made that nobody made.
"""

import textwrap
from uuid import UUID

from events import Event, FactJoined, FactRetired
from nous.errors import UserMistake
from store import relations
from store.database import Write
from store.facts import Fact
from store.relations import CONFLICTING, MERGING, Kind

from . import decisions, settling, trust
from .account import Account, Concern
from .settling import Change

QUOTED = 80  # characters of what a fact says, in a sentence that has more to say


async def join(db: Write, table: str, told: FactJoined) -> tuple[Change, tuple[Event, ...]]:
    """Make one fact of two; the older stays. Raises UserMistake when they are one already, or something was claimed in between."""
    one, other = await _both(db, told, told.joined_with)
    change = await _decided(db, table, told, one, other, "same")
    one, other = change.after[one.fact_id], change.after[other.fact_id]
    if (one.merged_into or one.fact_id) != (other.merged_into or other.fact_id):
        raise UserMistake(_said_at_two_times(one, other, change))
    return change, Account(change, [Concern(told, one)]).publishes(told)


async def retire(db: Write, table: str, told: FactRetired) -> tuple[Change, tuple[Event, ...]]:
    """Let a fact be no longer true since another was claimed. Raises UserMistake when it is not true now, or was claimed later."""
    fact, by = await _both(db, told, told.retired_by)
    if not fact.is_so:
        raise UserMistake(f"{fact.fact_id} is retired already, by {fact.superseded_by}; if that is wrong, first: {_restoring(fact)}")
    change = await _decided(db, table, told, fact, by, "updates")
    if change.after[fact.fact_id].superseded_by is None:
        raise UserMistake(_not_ended(fact, by))
    return change, Account(change, [Concern(told, fact)]).publishes(told)


async def _both(db: Write, told: FactJoined | FactRetired, other_id: UUID) -> tuple[Fact, Fact]:
    """Both facts. Raises UserMistake where they cannot be decided of: forgotten, a part of another, or the same words."""
    one, other = await decisions.row_of(db, told.agent_id, told.fact_id), await decisions.row_of(db, told.agent_id, other_id)
    if (one.merged_into or one.fact_id) == (other.merged_into or other.fact_id):
        raise UserMistake(_one_already(one, other))
    for fact in (one, other):
        if fact.forgotten_at:
            raise UserMistake(f"{fact.fact_id} was forgotten, and nothing of its words is left to decide about")
        if fact.merged_into:
            raise UserMistake(f"{fact.fact_id} is part of {fact.merged_into}; name that one")
    if one.text_key == other.text_key:
        raise UserMistake(_same_words(*sorted((one, other), key=lambda fact: fact.valid_from)))
    return one, other


async def _decided(db: Write, table: str, told: FactJoined | FactRetired, one: Fact, other: Fact, kind: Kind) -> Change:
    """Put down how the two stand, with every pair of their wordings that is known to stand otherwise; and what follows, written."""
    left, right = await settling.alike(db, told.agent_id, [one.text_key, other.text_key])
    family = MERGING if kind in MERGING else CONFLICTING
    pairs = {relations.pair(told.agent_id, this, that) for this in left for that in right if this != that}
    known = await relations.between(db, pairs)
    otherwise = {pair for pair, relation in known.items() if relation.relation not in family}
    put = sorted({relations.pair(told.agent_id, one.text_key, other.text_key), *otherwise})
    await relations.put(db, [decisions.decided(told, low, high, kind) for _, low, high in put])
    return await decisions.settled(db, table, told, {one.text_key, other.text_key})


# ── why not ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _one_already(one: Fact, other: Fact) -> str:
    whole, part = (other, one) if one.merged_into else (one, other)
    if whole.fact_id == part.fact_id:
        return f"{one.fact_id} is both of the two: they are one fact already"
    apart = f"nous fact split {part.fact_id} --because '…'"
    return f"{part.fact_id} is part of {part.merged_into}, so the two are one fact already; {apart} makes it a fact of its own"


def _same_words(earlier: Fact, later: Fact) -> str:
    return (
        f"{earlier.fact_id} and {later.fact_id} are the same words, said at two times and untrue in between; if they were true all along:"
        f" {_restoring(earlier)}"
    )


def _said_at_two_times(one: Fact, other: Fact, change: Change) -> str:
    """A claim between the two ends the earlier, so that one statement of both would be untrue in between."""
    earlier, later = sorted((one, other), key=lambda fact: fact.valid_from)
    between = change.after.get(earlier.superseded_by) if earlier.superseded_by else None
    if between is None:
        return f"{earlier.fact_id} and {later.fact_id} cannot be one: they hang together with others that are known to be several"
    was = change.before.get(earlier.fact_id)
    wrong = earlier if was and was.superseded_by == between.fact_id else between
    return (
        f"{earlier.fact_id} and {later.fact_id} would be one statement that was untrue in between: {between.fact_id}"
        f" {_said(between)} was claimed after the one and before the other, and ends what was said before it; if both are true, first:"
        f" {_restoring(wrong)}"
    )


def _not_ended(fact: Fact, by: Fact) -> str:
    again = f"say it again (nous publish fact_learned agent_id=… content=… provenance={trust.USER}), and then decide this"
    if by.claimed_at <= fact.claimed_at:
        return (
            f"{by.fact_id} {_said(by)} was last claimed before {fact.fact_id} {_said(fact)}, and a later claim ends an earlier one,"
            f" never the other way round; if it is what is true now, {again}"
        )
    return (
        f"{by.fact_id} {_said(by)} is only an assistant's claim, and none of those ends what a user stated; if it is what is true now,"
        f" {again}"
    )


def _said(fact: Fact) -> str:
    return repr(textwrap.shorten(fact.wording, QUOTED, placeholder="…"))


def _restoring(fact: Fact) -> str:
    return f"nous fact restore {fact.fact_id} --because '…'"
