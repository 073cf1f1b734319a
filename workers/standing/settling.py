"""Settling: everything that can stand otherwise is looked at under the agent's lock, and what differs is written.

texts ─▶ all that merge or conflict with them, and so on ─▶ slots ─▶ Change ─▶ written, each fact with the event it is due to
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from store import facts, mentions, relations, vectors
from store.database import Read, Write
from store.facts import Fact

from . import slots


@dataclass(frozen=True)
class Change:
    """What settling changes in one agent's memory: facts before and after, new ones and of which they are copies, moved mentions."""

    agent: str
    before: Mapping[UUID, Fact]
    after: Mapping[UUID, Fact]
    copies: Mapping[UUID, UUID]
    moved: Mapping[str, UUID]

    def changed(self) -> list[Fact]:
        """The facts that stand otherwise now, new ones included."""
        return [fact for fact_id, fact in self.after.items() if self.before.get(fact_id) != fact]

    def superseded(self) -> list[Fact]:
        """Those that have been retired now, or by another fact than before."""
        return [fact for fact in self.changed() if fact.superseded_by and fact.superseded_by != self._was(fact, "superseded_by")]

    def merged(self) -> list[Fact]:
        """Those that have become part of another now."""
        return [fact for fact in self.changed() if fact.merged_into and fact.merged_into != self._was(fact, "merged_into")]

    def revived(self) -> list[Fact]:
        """Those that are active again."""
        return [fact for fact in self.changed() if fact.active and fact.fact_id in self.before and not self._was(fact, "active")]

    def survivor(self, fact_id: UUID) -> Fact | None:
        """The fact it is part of now, itself unless it was merged; None for one that is not concerned."""
        fact = self.after.get(fact_id)
        return self.after[fact.merged_into] if fact and fact.merged_into else fact

    def _was(self, fact: Fact, name: str) -> object:
        before = self.before.get(fact.fact_id)
        return getattr(before, name) if before else None


async def find(db: Read, agent: str, texts: Collection[bytes]) -> Change:
    """What has to change so that these texts, and all they merge or conflict with, stand as their claims and relations say."""
    reached = await relations.reachable(db, agent, texts)
    rows = {fact.fact_id: fact for fact in await facts.by_text(db, agent, reached)}
    said = await mentions.said(db, agent, rows)
    settled = slots.settle(rows.values(), said, await relations.among(db, agent, reached))
    return Change(agent, before=rows, after=settled.facts, copies=settled.copies, moved=settled.moved)


async def write(db: Write, table: str, change: Change, *, due_to: Callable[[Fact], str], now: datetime) -> None:
    """Write it; `due_to` names the event that a fact's change is due to. `table` holds the vectors."""
    changed = [replace(fact, recorded_at=now, recorded_by=due_to(fact)) for fact in change.changed()]
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
    return rows[fact.merged_into].active if fact.merged_into else fact.active
