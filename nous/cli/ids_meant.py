"""Which ids a person means by the beginning of one, and which fact they mean by an id."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from nous.errors import UserMistake
from store import facts, mentions
from store.database import Read
from store.facts import Key

from . import place, screen

SHORTEST = 6
MOST = 20  # facts looked at, of all that an id or its beginning fits
_HEX = re.compile("[0-9a-f]{1,32}")


@dataclass(frozen=True)
class Span:
    """Every id from `first` to `last`."""

    first: UUID
    last: UUID

    def __contains__(self, one: UUID) -> bool:
        return self.first <= one <= self.last


def spanned(written: str) -> Span:
    """All ids that begin as `written` does. Raises UserMistake for what is no id, or too short to mean one."""
    digits = written.strip().lower().replace("-", "")
    if not _HEX.fullmatch(digits):
        raise UserMistake(f"{written!r} is not an id; write a UUID, or its first {SHORTEST} characters or more")
    if len(digits) < SHORTEST:
        raise UserMistake(f"{written!r} is too short to mean one id; write {SHORTEST} characters or more")
    return Span(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))


async def fact_meant(db: Read, written: str, *, agent: str | None) -> Key:
    """The fact a person means by an id it was published under, by its own, or by the beginning of either. Raises UserMistake.

    One id stands for several facts of an agent when it was published again after the first had stopped being true: it means the fact
    that bears it, or else the one claimed last.
    """
    span = spanned(written)
    found = await mentions.within(db, span.first, span.last, agent=agent, limit=MOST) or await _bearing(db, span, agent)
    if not found:
        whose = f" of agent {agent!r}" if agent else ""
        raise UserMistake(
            f"no fact{whose} came of {written!r}; {place.command()} facts --all shows what there is; what was skipped or parked became none"
        )
    if len(found) > 1 and len(await _ids(db, found, span)) > 1:
        which = screen.listed(f"{fact} of {whose!r}" for whose, fact in found[:5])
        raise UserMistake(f"{written!r} fits several facts, {which}; {_way_out(found, span)}")
    rows = await facts.by_key(db, found)
    return max(found, key=lambda one: (one[1] in span, rows[one].claimed_at, rows[one].claimed_by))


async def _bearing(db: Read, span: Span, agent: str | None) -> list[Key]:
    """The facts whose own id is meant, though nothing was published under it: an id made here for what became true again."""
    every = await facts.listed(db, agent=agent, inactive=True, limit=None)
    return [(fact.agent_id, fact.fact_id) for fact in every if fact.fact_id in span]


async def _ids(db: Read, found: Collection[Key], span: Span) -> set[Key]:
    """The ids in `span` that these facts were published under, each with its agent."""
    heard = await mentions.of_facts(db, found)
    return {(agent, one.mention_id) for (agent, _), ones in heard.items() for one in ones if one.mention_id in span}


def _way_out(found: Sequence[Key], span: Span) -> str:
    ways = ["write more of it"] if span.first != span.last else []
    if len({agent for agent, _ in found}) > 1:
        ways.append("add --agent")
    return ", or ".join(ways)
