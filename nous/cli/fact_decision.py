"""`nous fact restore | split`: what a person decides of two facts, which outranks every score and every mind, for ever.

    restore  a fact that was retired is true beside the one that had retired it (of what upkeep did: fact_upkeep.py)
    split    a wording that had become part of a fact is a fact of its own

The effect, the receipt and the letters are one transaction; what was freed is looked at again by the supersession rechecker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import providers
from events import Event, FactRestored, FactSplit
from nous import people
from nous.errors import UserMistake
from nous.settings import Settings
from nous.stories.heard import as_data, mentions_of
from nous.stories.ids_meant import Meant, fact_meant
from store import embedders, facts, mentions, vectors
from store.database import Database, Read
from store.embedders import Registered
from store.facts import Fact, subject_key
from store.keys import text_key
from store.mentions import Mention
from store.vectors import Asking, Vector
from workers.standing.settling import Change

from . import decision, fact_upkeep, place, screen

OPTIONS = {"reason": "--because"}
WORDINGS_LISTED = 8
RECHECKED_SHOWN = 3


@dataclass(frozen=True)
class Decided:
    """What was decided of a fact and another, how both stand since, and what else is said of the same subject."""

    told: Event
    outcome: str
    fact: Fact
    other: Fact
    change: Change
    namesakes: Sequence[Fact]

    @property
    def retired_by(self) -> Fact | None:
        """What the fact is retired by nevertheless."""
        return self.change.after.get(self.fact.superseded_by) if self.fact.superseded_by else None


async def restore(settings: Settings, written: str, *, reason: str, agent: str | None, is_json: bool) -> None:
    """Let a retired fact be true again, beside the one that retired it; what upkeep demoted or archived is as it was before."""
    hold_to_a_reason(reason)
    async with place.database(settings) as database:
        async with database.overview() as db:
            meant = await fact_meant(db, written, agent=agent)
        if meant.row == meant.fact and meant.fact.is_so and (meant.fact.demoted_at or meant.fact.archived_at):
            await fact_upkeep.reinstate(settings, database, meant.fact, reason=reason, is_json=is_json)
            return
        fact = _retired(meant)
        told = decision.event(FactRestored, fact.agent_id, OPTIONS, fact_id=fact.fact_id, beside=fact.superseded_by, reason=reason)
        async with database.write({fact.agent_id}) as db:
            registered = await embedders.active(db)
            done = await people.decide(db, told, table=registered.table)
            decided = await _decided(db, registered, told, done, told.beside)
        await decision.send(settings, database, done.letters)
        await _tell(database, decided, is_json=is_json)


async def split(settings: Settings, written: str, *, reason: str, agent: str | None, is_json: bool) -> None:
    """Make a wording that became part of a fact a fact of its own."""
    hold_to_a_reason(reason)
    async with place.database(settings) as database:
        async with database.overview() as db:
            meant = await fact_meant(db, written, agent=agent)
            wording = await _wording_meant(db, meant)
            registered = await embedders.active(db)
        told = decision.event(FactSplit, meant.fact.agent_id, OPTIONS, fact_id=wording, apart_from=meant.fact.fact_id, reason=reason)
        heard = await people.to_embed(database, told)
        vector = await _vector(settings, registered, heard) if heard else None
        async with database.write({told.agent_id}) as db:
            await embedders.hold(db, registered)
            done = await people.decide(db, told, table=registered.table, vector=vector)
            decided = await _decided(db, registered, told, done, told.apart_from)
        await decision.send(settings, database, done.letters)
        await _tell(database, decided, is_json=is_json)


def hold_to_a_reason(reason: str) -> None:
    """A reason that says something. Raises UserMistake."""
    if not reason.strip():
        raise UserMistake("--because does not do: it is empty, and what a person decides holds for ever, so it says why")


# ── what is meant ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _retired(meant: Meant) -> Fact:
    """The fact, if another one retired it. Raises UserMistake."""
    row, fact = meant.row, unforgotten(meant.fact)
    if row.merged_into:
        way = f"{place.command()} fact split {row.fact_id} --because '…' makes it a fact of its own"
        raise UserMistake(f"{row.fact_id} was not retired: it is part of {fact.fact_id}; {way}")
    if fact.superseded_by is None:
        undo = f"if it was split off, {place.command()} fact merge {fact.fact_id} OTHER --because '…' makes one of the two again"
        raise UserMistake(f"{fact.fact_id} is true now, so there is nothing to restore; {undo}")
    return fact


def unforgotten(fact: Fact) -> Fact:
    """The fact, unless it was forgotten. Raises UserMistake."""
    if fact.forgotten_at:
        raise UserMistake(f"{fact.fact_id} was forgotten on {screen.moment(fact.forgotten_at)} UTC, and nothing of its words is left")
    return fact


@dataclass(frozen=True)
class Wording:
    """Something a fact was told in that can be split off: under which id, and its words."""

    id: UUID
    content: str


async def _wording_meant(db: Read, meant: Meant) -> UUID:
    """The id of the wording to split off: the one that was named, or else the only one there is. Raises UserMistake."""
    fact = unforgotten(meant.fact)
    if meant.row.merged_into:
        return meant.row.fact_id
    rows, said = await _wordings(db, fact)
    named = [one for one in said if one.id in meant.published]
    found = named or (rows if len(rows) == 1 else [*rows, *said])
    if len(found) == 1:
        return found[0].id
    if not found:
        raise UserMistake(f"{meant.fact.fact_id} was only ever said in these words, so there is nothing to split off")
    listed = screen.listed(f"{one.id} “{screen.shown(one.content)}”" for one in found[:WORDINGS_LISTED])
    more = f", and {len(found) - WORDINGS_LISTED} more" if len(found) > WORDINGS_LISTED else ""
    raise UserMistake(f"{meant.fact.fact_id} has several wordings that can be split off; name one: {listed}{more}")


async def _wordings(db: Read, fact: Fact) -> tuple[list[Wording], list[Wording]]:
    """What can be split off: the rows that were merged into it, and what was confirmed in other words and never was a row."""
    parts = await facts.by_key(db, [row for row, _ in await facts.parts(db, [fact.key]) if row != fact.key])
    rows = sorted(parts.values(), key=lambda one: (one.valid_from, one.created_at))
    others: dict[bytes, Wording] = {}
    for one in (await mentions.of_facts(db, [fact.key])).get(fact.key, []):
        if (key := text_key(one.content, one.subject, one.attribute)) != fact.text_key:
            others.setdefault(key, Wording(one.mention_id, one.content))
    return [Wording(one.fact_id, one.wording) for one in rows], list(others.values())


async def _vector(settings: Settings, registered: Registered, heard: Mention) -> Vector:
    """The vector of a wording that never had one; the embedder is loaded for it. Raises Misconfigured and Outage."""
    embedder = providers.unfitted(settings)
    embedders.require(registered, name=embedder.name, dimension=embedder.dimension)
    with screen.err().status("loading the embedder…"):
        try:
            return await people.embedded(embedder, heard)
        finally:
            await embedder.close()


# ── what is written down, and told ────────────────────────────────────────────────────────────────────────────────────────


async def emit(database: Database, told: Event, outcome: str, fact: Fact, other: Fact, **more: object) -> None:
    """Print as JSON what was decided of a fact and another, how both stand since, and what `more` there is to say."""
    async with database.overview() as db:
        heard = await mentions_of(db, [fact.key, other.key])
    both = {"fact": as_data(fact, heard[fact.key]), "other": as_data(other, heard[other.key])}
    screen.emit({"outcome": outcome, "event_id": told.event_id, **both, **more})


async def _decided(db: Read, registered: Registered, told: Event, done: people.Decided, other: UUID) -> Decided:
    assert done.change is not None  # noqa: S101 - a decision of facts says what it changed
    rows: Mapping[UUID, Fact] = done.change.after
    fact = rows[done.about]
    asking = [Asking(fact.agent_id, fact.fact_id, fact.valid_from)]
    subject = subject_key(fact.subject)
    (near,) = await vectors.namesakes(db, registered.table, asking, [[subject] if subject else []], limit=RECHECKED_SHOWN + 1)
    found = await facts.by_key(db, [(fact.agent_id, one.fact_id) for one in near if one.fact_id != other])
    return Decided(told, done.outcome, fact, rows[other], done.change, list(found.values())[:RECHECKED_SHOWN])


async def _tell(database: Database, decided: Decided, *, is_json: bool) -> None:
    if is_json:
        await emit(database, decided.told, decided.outcome, decided.fact, decided.other, still_retired_by=decided.fact.superseded_by)
        return
    for line in _sentences(decided):
        print(line)


def _sentences(decided: Decided) -> list[str]:
    fact, other = decided.fact, decided.other
    how = "beside" if decided.outcome == "restored" else "from"
    done = f"{decided.outcome} “{screen.shown(fact.wording)}” {how} “{screen.shown(other.wording)}”; no mind is asked about these two again"
    again = f"merge {fact.fact_id} {other.fact_id}" if how == "from" else f"retire {fact.fact_id} --for {other.fact_id}"
    undo = f"  undone by: {place.command()} fact {again} --because '…'"
    return [done, f"  {fact.fact_id}  {_stands(decided)}", *_rechecked(decided), undo]


def _stands(decided: Decided) -> str:
    fact, by = decided.fact, decided.retired_by
    if by is None:
        return f"is true since {screen.moment(fact.valid_from)} UTC"
    said = f"“{screen.shown(by.wording)}” ({by.fact_id})"
    again = f"{place.command()} fact restore {fact.fact_id} --because '…'"
    return f"is still retired, by {said}; if that is wrong too, decide it as well: {again}"


def _rechecked(decided: Decided) -> list[str]:
    """What it will be compared with; what comes of it is in its story."""
    fact = decided.fact
    beside = [f"“{screen.shown(one.wording)}”" for one in decided.namesakes]
    of_subject = f", and with what else is said of {screen.shown(fact.subject)}" if fact.subject else ""
    named = f": {screen.listed(beside)}" if beside and fact.subject else ""
    return [
        f"  it is looked at again by a running worker: compared with its likely twins{of_subject}{named}",
        f"  another fact may retire it then, and can be decided about in the same way: {place.command()} explain fact {fact.fact_id}",
    ]
