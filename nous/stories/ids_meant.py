"""Which ids are meant by the beginning of one or by a handle, as recall tells them, and which thing, or which fact, by an id.

5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10   5b0f0d3e   f-5b0f0d3e   [f-5b0f0d3e]
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from events import FactLearned
from nous.called import command
from nous.errors import UserMistake
from recall import handles
from store import censors, decisions, episodes, facts, mentions, passages, procedures, receipts
from store.censors import Censor
from store.database import Read
from store.decisions import Decision
from store.episodes import Episode
from store.facts import Fact, Key
from store.passages import Passage
from store.procedures import Procedure
from store.receipts import Receipt

from . import evidence, words

SHORTEST = 6
MOST = 20  # facts looked at, of all that an id or its beginning fits
LONGEST = 80  # characters shown of what is no id
_HEX = re.compile("[0-9a-f]{1,32}")

T = TypeVar("T")


class NothingMeant(UserMistake):
    """Nothing has the id that was written."""


class NotAnId(UserMistake):
    """What was written cannot be the id of anything: nothing was looked for."""


class SeveralMeant(UserMistake):
    """What was written fits several."""


@dataclass(frozen=True)
class Span:
    """Every id from `first` to `last`."""

    first: UUID
    last: UUID

    def __contains__(self, one: UUID) -> bool:
        return self.first <= one <= self.last


def bare(written: str) -> str:
    """An id without the brackets and the spaces it is told in."""
    return written.strip().removeprefix("[").removesuffix("]").strip()


def spanned(written: str, noun: str) -> Span:
    """All ids that begin as `written` does, of things called so. Raises NotAnId, and NothingMeant for the handle of another kind."""
    if named := handles.read(written):
        kind, digits = named
        if kind != noun:
            raise NothingMeant(f"{written.strip()!r} is the id of {words.a(kind)}, not of {words.a(noun)}")
    else:
        digits = bare(written).lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        raise NotAnId(
            f"{written.strip()[:LONGEST]!r} is not an id; write a UUID, its first {SHORTEST} characters or more, or it as recall tells it,"
            " such as f-5b0f0d3e"
        )
    if len(digits) < SHORTEST:
        raise NotAnId(f"{written!r} is too short to mean one id; write {SHORTEST} characters or more")
    return Span(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))


@dataclass(frozen=True)
class Meant:
    """A fact that a person means: the row their id leads to, the fact this row is part of now, and the published ids they may mean."""

    row: Fact
    fact: Fact
    published: frozenset[UUID]


async def fact_meant(db: Read, written: str, *, agent: str | None) -> Meant:
    """The fact meant by an id it was published under, by its own, by the beginning of either, or by its handle. Raises UserMistake.

    One id stands for several facts of an agent when it was published again after the first had stopped being true: it means the fact
    that bears it, or else the one claimed last.
    """
    span = spanned(written, "fact")
    found = await mentions.within(db, span.first, span.last, agent=agent, limit=MOST)
    found = found or await facts.within(db, span.first, span.last, agent=agent, limit=MOST)
    if not found:
        raise NothingMeant(await _why_none(db, written, agent))
    rows, survivors, said = await facts.by_key(db, found), await facts.survivors(db, found), await _ids(db, found, span)
    meant = sorted({fact.key for fact in survivors.values()})
    if len(meant) > 1 and len(said or meant) > 1:
        which = words.listed(f"{fact} of {whose!r}" for whose, fact in meant[:5])
        ids = {one for _, one in said} or {one for _, one in meant}
        raise SeveralMeant(f"{written!r} fits several facts, {which}; {way_out(ids, {whose for whose, _ in meant})}")
    key = max(found, key=lambda one: (rows[one].forgotten_at is None, one[1] in span, rows[one].claimed_at, rows[one].claimed_by))
    return Meant(rows[key], survivors[key], frozenset(one for whose, one in said if whose == key[0]))


async def _why_none(db: Read, written: str, agent: str | None) -> str:
    """Why no fact came of an id: what its receipt says, when it has one."""
    nothing = f"no fact{f' of agent {agent!r}' if agent else ''} came of {written!r}"
    told = await _endings_without_fact(db, written.strip().lower(), agent)
    if told:
        how = [f"event {one.event_id} of {one.agent_id!r} was {one.outcome} by {evidence.by(one)}: {one.reason}" for one in told]
        return f"{nothing}; {'; '.join(how)}"
    hint = "" if agent else ", and with --agent its reason is looked up"
    return f"{nothing}; {command()} facts --all shows what there is; what was skipped or parked became none{hint}"


async def _endings_without_fact(db: Read, written: str, agent: str | None) -> list[Receipt]:
    """The receipts of the event of that id, and of the event without content that was published under that fact_id."""
    agents = [agent] if agent else await facts.agents(db)
    told = await receipts.of_events(db, agents, [written, *(_of_nothing(one, written) for one in agents)])
    return [one for one in told if one.about is None and one.stream == FactLearned.stream]


def _of_nothing(agent: str, fact_id: str) -> str:
    """The event_id of a fact_learned that came without one and without content."""
    return FactLearned.derive_id({"agent_id": agent, "fact_id": fact_id, "content": ""}, "")


async def _ids(db: Read, found: Collection[Key], span: Span) -> set[Key]:
    """The ids in `span` that these facts were published under, each with its agent."""
    heard = await mentions.of_facts(db, found)
    return {(agent, one.mention_id) for (agent, _), ones in heard.items() for one in ones if one.mention_id in span}


async def episode_meant(db: Read, written: str, *, agent: str | None) -> Episode:
    """The episode a person means by an id or the beginning of one. Raises UserMistake."""
    span = spanned(written, "episode")
    found = await episodes.within(db, span.first, span.last, agent=agent, limit=MOST)
    keyed = {(one.agent_id, one.episode_id): one for one in found}
    return the_one(keyed, written, noun="episode", agent=agent, shown_by="episodes --all")


async def decision_meant(db: Read, written: str, *, agent: str | None) -> Decision:
    """The decision a person means by an id or the beginning of one. Raises UserMistake."""
    span = spanned(written, "decision")
    found = await decisions.within(db, span.first, span.last, agent=agent, limit=MOST)
    keyed = {(one.agent_id, one.decision_id): one for one in found}
    return the_one(keyed, written, noun="decision", agent=agent, shown_by="decisions")


async def procedure_meant(db: Read, written: str, *, agent: str | None) -> Procedure:
    """The procedure a person means by an id or the beginning of one. Raises UserMistake."""
    span = spanned(written, "procedure")
    found = await procedures.within(db, span.first, span.last, agent=agent, limit=MOST)
    keyed = {(one.agent_id, one.procedure_id): one for one in found}
    return the_one(keyed, written, noun="procedure", agent=agent, shown_by="procedures")


async def censor_meant(db: Read, written: str, *, agent: str | None) -> Censor:
    """The censor a person means by an id or the beginning of one. Raises UserMistake."""
    span = spanned(written, "censor")
    keyed = {(one.agent_id, one.censor_id): one for one in await censors.listed(db, agent=agent) if one.censor_id in span}
    return the_one(keyed, written, noun="censor", agent=agent, shown_by="censor list")


async def passage_meant(db: Read, written: str, *, agent: str | None) -> Passage:
    """The passage meant by an id or the beginning of one. Raises UserMistake."""
    span = spanned(written, "passage")
    keys = await passages.within(db, span.first, span.last, agent=agent, limit=MOST)
    return the_one(await passages.by_key(db, keys), written, noun="passage", agent=agent, shown_by="episodes")


def the_one(found: Mapping[Key, T], written: str, *, noun: str, agent: str | None, shown_by: str) -> T:
    """The only one of those an id fits. Raises UserMistake when there is none, naming the command that shows them, or several."""
    if not found:
        whose = f"agent {agent!r} has" if agent else "there is"
        raise NothingMeant(f"{whose} no {noun} {written!r}; {command()} {shown_by} shows them")
    if len(found) > 1:
        which = words.listed(f"{one} of {whose!r}" for whose, one in list(found)[:5])
        clearer = way_out({one for _, one in found}, {whose for whose, _ in found})
        raise SeveralMeant(f"{written!r} fits several {noun}s, {which}; {clearer}")
    return next(iter(found.values()))


def way_out(several: Collection[object], agents: Collection[str]) -> str:
    """What makes it clear which is meant: more of the id if it is several ids, the agent if it is several agents'."""
    ways = ["write more of it"] if len(several) > 1 else []
    if len(agents) > 1:
        ways.append("add --agent")
    return ", or ".join(ways)
