"""`nous fact merge | retire`: what a person decides of two facts that stand beside each other, which outranks every mind, for ever.

    merge   the two are one: the older stays                       undone by nous fact split
    retire  the one is no longer true since the other was claimed  undone by nous fact restore

The effect, the receipt and the letters are one transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from events import Event, FactJoined, FactRetired
from nous import people
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories.ids_meant import Meant, NothingMeant, fact_meant
from store import embedders, facts
from store.database import Database, Read
from store.facts import Fact

from . import decision, fact_decision, place, screen


@dataclass(frozen=True)
class Decided:
    """What was decided, and how the two stand since; `other` is what retired the fact: of several times it was said, the one that did."""

    told: Event
    outcome: str
    fact: Fact
    other: Fact


async def merge(settings: Settings, written: str, other: str, *, reason: str, agent: str | None, is_json: bool) -> None:
    """Make one fact of two. Raises UserMistake."""
    fact_decision.hold_to_a_reason(reason)
    async with place.database(settings) as database:
        one, two = await _both(database, written, other, agent=agent)
        ids = {"fact_id": one.fact.fact_id, "joined_with": two.fact.fact_id}
        told = decision.event(FactJoined, one.fact.agent_id, fact_decision.OPTIONS, **ids, reason=reason)
        decided = await _decide(settings, database, told, one.fact, two.fact)
        part, whole = (decided.fact, decided.other) if decided.fact.merged_into else (decided.other, decided.fact)
        lines = [
            f"merged “{screen.shown(part.wording)}” into “{screen.shown(whole.wording)}”; no mind is asked about these two again",
            f"  {whole.fact_id}  is true since {screen.moment(whole.valid_from)} UTC, and was heard {whole.confirmation_count + 1} times",
        ]
        await _tell(database, decided, lines, undo=f"split {part.fact_id}", is_json=is_json)


async def retire(settings: Settings, written: str, *, by: str, reason: str, agent: str | None, is_json: bool) -> None:
    """Let a fact be no longer true since another was claimed. Raises UserMistake."""
    fact_decision.hold_to_a_reason(reason)
    async with place.database(settings) as database:
        one, two = await _both(database, written, by, agent=agent)
        for meant in (one, two):
            _hold_to_a_whole(meant)
        ids = {"fact_id": one.fact.fact_id, "retired_by": two.fact.fact_id}
        told = decision.event(FactRetired, one.fact.agent_id, fact_decision.OPTIONS, **ids, reason=reason)
        decided = await _decide(settings, database, told, one.fact, two.fact)
        fact, instead = decided.fact, decided.other
        assert fact.valid_to is not None  # noqa: S101 - what another ended has an end
        lines = [
            f"retired “{screen.shown(fact.wording)}” for “{screen.shown(instead.wording)}”; no mind is asked about these two again",
            f"  {fact.fact_id}  was true from {screen.moment(fact.valid_from)} to {screen.moment(fact.valid_to)} UTC",
            *_not_at_hand(instead),
        ]
        await _tell(database, decided, lines, undo=f"restore {fact.fact_id}", is_json=is_json)


# ── what is meant ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _both(database: Database, written: str, other: str, *, agent: str | None) -> tuple[Meant, Meant]:
    """The facts that are meant, both of one agent and neither forgotten. Raises UserMistake."""
    async with database.overview() as db:
        one = await fact_meant(db, written, agent=agent)
        two = await _of_the_same_agent(db, other, one.fact)
    for meant in (one, two):
        fact_decision.unforgotten(meant.fact)
    return one, two


async def _of_the_same_agent(db: Read, written: str, fact: Fact) -> Meant:
    try:
        return await fact_meant(db, written, agent=fact.agent_id)
    except NothingMeant:
        found = (await fact_meant(db, written, agent=None)).fact
        whose = f"{fact.fact_id} is a fact of agent {fact.agent_id!r}, and {found.fact_id} one of {found.agent_id!r}"
        raise UserMistake(f"{whose}; nothing is decided across agents") from None


def _hold_to_a_whole(meant: Meant) -> None:
    """A wording that is part of a fact was not meant by itself. Raises UserMistake."""
    if meant.row.merged_into:
        apart = f"{place.command()} fact split {meant.row.fact_id} --because '…'"
        raise UserMistake(
            f"{meant.row.fact_id} is part of {meant.fact.fact_id}; name that one, or make it a fact of its own first: {apart}"
        )


# ── what is written down, and told ────────────────────────────────────────────────────────────────────────────────────────


async def _decide(settings: Settings, database: Database, told: Event, one: Fact, two: Fact) -> Decided:
    async with database.write({told.agent_id}) as db:
        done = await people.decide(db, told, table=(await embedders.active(db)).table)
        fact = (await facts.by_key(db, [one.key]))[one.key]
        beside = (fact.agent_id, fact.superseded_by or two.fact_id)
        other = (await facts.by_key(db, [beside]))[beside]
    await decision.send(settings, database, done.letters)
    return Decided(told, done.outcome, fact, other)


def _not_at_hand(instead: Fact) -> list[str]:
    """What is true instead is not told either: it ended too, or upkeep archived it."""
    if instead.archived_at:
        again = f"{place.command()} fact restore {instead.fact_id} --because '…'"
        return [f"  {instead.fact_id}  is archived, so neither is told; {again} has it at hand again"]
    if instead.valid_to:
        return [f"  {instead.fact_id}  was true until {screen.moment(instead.valid_to)} UTC, when {instead.superseded_by} retired it"]
    return []


async def _tell(database: Database, decided: Decided, lines: Sequence[str], *, undo: str, is_json: bool) -> None:
    undone_by = f"{place.command()} fact {undo} --because '…'"
    if is_json:
        await fact_decision.emit(database, decided.told, decided.outcome, decided.fact, decided.other, undone_by=undone_by)
        return
    for line in [*lines, f"  undone by: {undone_by}"]:
        print(line)
