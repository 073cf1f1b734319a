"""Settling: everything that can stand otherwise is looked at under the agent's lock, and what differs is written.

texts ─▶ all that merge or conflict with them, and so on ─▶ slots ─▶ Change ─▶ written, each fact with the event it is due to
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from uuid import UUID

from store import facts, mentions, relations, vectors
from store.database import Read, Write
from store.facts import Fact
from store.mentions import Said
from store.relations import Relation

from . import slots


@dataclass(frozen=True)
class Change:
    """What settling changes in one agent's memory: facts before and after, new ones and of which they are copies, moved mentions."""

    agent: str
    before: Mapping[UUID, Fact]
    after: Mapping[UUID, Fact]
    copies: Mapping[UUID, UUID]
    moved: Mapping[str, UUID]

    @cached_property
    def changed(self) -> list[Fact]:
        """The facts that stand otherwise now, new ones included."""
        return [fact for fact_id, fact in self.after.items() if self.before.get(fact_id) != fact]

    @cached_property
    def superseded(self) -> frozenset[UUID]:
        """Those that have been retired now, or by another fact than before."""
        return frozenset(fact.fact_id for fact in self.changed if fact.superseded_by and self._differs(fact, "superseded_by"))

    @cached_property
    def merged(self) -> frozenset[UUID]:
        """Those that have become part of another now."""
        return frozenset(fact.fact_id for fact in self.changed if fact.merged_into and self._differs(fact, "merged_into"))

    @cached_property
    def revived(self) -> frozenset[UUID]:
        """Those that are active now and were not: nothing retires them any more, or they are new, the later claims of one that was."""
        return frozenset(fact.fact_id for fact in self.changed if fact.active and self._differs(fact, "active"))

    def _differs(self, fact: Fact, name: str) -> bool:
        before = self.before.get(fact.fact_id)
        return bool(getattr(before, name, None) != getattr(fact, name))


async def find(db: Read, agent: str, texts: Collection[bytes]) -> Change:
    """What has to change so that these texts, and all they merge or conflict with, stand as their claims and relations say."""
    rows, said, related = await _all_concerned(db, agent, texts)
    settled = slots.settle(rows.values(), said, related)
    after = {fact_id: _still_forgotten(fact, rows) for fact_id, fact in settled.facts.items()}
    return Change(agent, before=rows, after=after, copies=settled.copies, moved=settled.moved)


async def alike(db: Read, agent: str, texts: Collection[bytes]) -> list[set[bytes]]:
    """For each of these texts it and all that say the same, as their relations are now."""
    numbers = slots.numbered(*await _all_concerned(db, agent, texts))
    return [{key for key, number in numbers.items() if number == numbers.get(one)} | {one} for one in texts]


async def _all_concerned(db: Read, agent: str, texts: Collection[bytes]) -> tuple[dict[UUID, Fact], list[Said], list[Relation]]:
    """The rows, the claims and the relations of these texts and of all they merge or conflict with."""
    reached = await relations.reachable(db, agent, texts)
    rows = {fact.fact_id: fact for fact in await facts.by_text(db, agent, reached)}
    return rows, await mentions.said(db, agent, rows), await relations.among(db, agent, reached)


def _still_forgotten(fact: Fact, before: Mapping[UUID, Fact]) -> Fact:
    """What was forgotten keeps its place: others stay retired by it, and it never comes back itself."""
    if fact.forgotten_at is None:
        return fact
    return before.get(fact.fact_id) or replace(fact, active=False, disputes=None)


async def write(db: Write, table: str, change: Change, *, due_to: Callable[[Fact], str], now: datetime) -> None:
    """Write it; `due_to` names the event that a fact's change is due to. `table` holds the vectors."""
    changed = [replace(fact, recorded_at=now, recorded_by=due_to(fact)) for fact in change.changed]
    known = [fact for fact in changed if fact.fact_id in change.before]
    await facts.change(db, [fact for fact in known if not fact.active])
    await facts.insert(db, [replace(fact, created_at=now) for fact in changed if fact.fact_id in change.copies])
    await facts.change(db, [fact for fact in known if fact.active])
    await vectors.copy(db, table, change.agent, change.copies)
    await mentions.move(db, change.agent, change.moved)
    current, past = _vectors(change)
    await vectors.mark(db, table, change.agent, current=current, past=past)


def _vectors(change: Change) -> tuple[list[UUID], list[UUID]]:
    """The facts whose words are true now, and those whose are not, as far as that may have changed."""
    now = {fact_id: _is_current(fact_id, change.after) for fact_id in change.after}
    before = {fact_id: _is_current(fact_id, change.before) for fact_id in change.before}
    differ = [fact_id for fact_id in now if now[fact_id] != before.get(fact_id, True)]
    return [one for one in differ if now[one]], [one for one in differ if not now[one]]


def _is_current(fact_id: UUID, rows: Mapping[UUID, Fact]) -> bool:
    fact = rows[fact_id]
    return rows[fact.merged_into].is_so if fact.merged_into else fact.is_so
