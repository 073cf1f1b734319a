"""What a settling changed, told to the events it is due to: what became of each fact, what is published, what the receipt says.

A change is due to the event about the fact itself, or else about the fact it gave way to, or else to the first of the page.

A fact that stands is looked at again, once for a page, when something may never have been compared with it:

    may_have_missed   its check says so (check.py)
    freed             it stands again: what was claimed meanwhile never met it
    retired_another   what was hidden behind that one is next
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from events import Event, FactMerged, FactSuperseded, FactUnsettled, Unsettling
from store.facts import BY_UPKEEP, Fact

from .settling import Change

PUBLISHES = (FactSuperseded, FactMerged, FactUnsettled)
TOLD = ("active", "superseded_by", "merged_into", "disputes", "valid_from", "valid_to", "content")


@dataclass(frozen=True, slots=True)
class Concern:
    """An event and the fact it is about; whether that was compared with others, and whether these may have hidden another."""

    event: Event
    fact: Fact
    is_compared: bool = False
    may_have_missed: bool = False


class Account:
    """One agent's changes, and the events of the page with the facts they are about."""

    def __init__(self, change: Change, concerned: Sequence[Concern]) -> None:
        self.change = change
        self._concerned = concerned
        self._first = concerned[0].event
        self._by_fact = {one.fact.fact_id: one.event for one in reversed(concerned)}

    def due_to(self, fact: Fact) -> Event:
        """The event that this fact's change is due to."""
        before = self.change.before.get(fact.fact_id)
        concerned = [fact.fact_id, fact.merged_into, fact.superseded_by]
        concerned += [before.merged_into, before.superseded_by] if before else []
        return next((self._by_fact[one] for one in concerned if one and one in self._by_fact), self._first)

    def event_id(self, fact: Fact) -> str:
        """Its id."""
        return self.due_to(fact).event_id

    def became(self, fact: Fact) -> tuple[str, str] | None:
        """What changed about the event's fact, the most telling first, and why; None if nothing did."""
        now = self.change.after.get(fact.fact_id, fact)
        others = [one for one in self._superseded if one.superseded_by == now.fact_id]
        if now.fact_id in self.change.merged:
            return "merged", f"it says the same as {now.merged_into}"
        if others:
            return "superseded", f"it is said instead of {', '.join(str(one.fact_id) for one in others[:5])}"
        if now.fact_id in self.change.superseded:
            return "retired", f"{now.superseded_by} was claimed later"
        if now.fact_id in self.change.revived:
            return "revived", "nothing claimed later says otherwise any more"
        if now.disputes:
            return "disputed", f"an assistant said so, and the user stated {now.disputes}"
        return None

    def publishes(self, event: Event) -> tuple[Event, ...]:
        """What follows from this event: each fact retired or merged, and what is looked at again."""
        return (
            *(_superseded(event, fact) for fact in self._due(event) if fact.fact_id in self.change.superseded),
            *(_merged(event, fact) for fact in self._due(event) if fact.fact_id in self.change.merged),
            *(_again(event, fact_id, why) for fact_id, why in self._again.get(event.event_id, ())),
        )

    def as_evidence(self, event: Event) -> list[dict[str, Any]]:
        """Each fact that changed by this event: how it stands now, and how it stood."""
        return [_told(fact, self.change.before.get(fact.fact_id)) for fact in self._due(event)]

    def _due(self, event: Event) -> Sequence[Fact]:
        return self._by_event.get(event.event_id, ())

    @cached_property
    def _again(self) -> Mapping[str, Sequence[tuple[UUID, Unsettling]]]:
        """By event the facts that are looked at again, and why: each once."""
        again: dict[str, list[tuple[UUID, Unsettling]]] = {}
        seen: set[UUID] = set()
        for event_id, fact, why in self._unsettled():
            whole = self.change.after[fact.merged_into] if fact.merged_into else fact
            if whole.is_so and whole.fact_id not in seen:
                seen.add(whole.fact_id)
                again.setdefault(event_id, []).append((whole.fact_id, why))
        return again

    def _unsettled(self) -> Iterator[tuple[str, Fact, Unsettling]]:
        """Every reason there is, by event and fact as it stands now; what looks farthest comes first."""
        after = self.change.after
        for one in self._concerned:
            if one.may_have_missed:  # one that nothing bears on is not in the change, and stands as it did
                yield one.event.event_id, after.get(one.fact.fact_id, one.fact), "may_have_missed"
        compared = {one.fact.fact_id for one in self._concerned if one.is_compared}
        for fact_id in sorted(self.change.revived - compared, key=str):
            yield self.event_id(after[fact_id]), after[fact_id], "freed"
        for fact in sorted(self._superseded, key=lambda one: str(one.superseded_by)):
            if fact.superseded_by:
                yield self.event_id(fact), after[fact.superseded_by], "retired_another"

    @cached_property
    def _superseded(self) -> Sequence[Fact]:
        return [fact for fact in self.change.changed if fact.fact_id in self.change.superseded]

    @cached_property
    def _by_event(self) -> Mapping[str, Sequence[Fact]]:
        due: dict[str, list[Fact]] = {}
        for fact in self.change.changed:
            due.setdefault(self.event_id(fact), []).append(fact)
        return due


def _superseded(event: Event, fact: Fact) -> Event:
    return FactSuperseded.following(
        event, of=str(fact.fact_id), fact_id=fact.fact_id, superseded_by=fact.superseded_by, valid_to=fact.valid_to
    )


def _merged(event: Event, fact: Fact) -> Event:
    return FactMerged.following(event, of=str(fact.fact_id), fact_id=fact.fact_id, merged_into=fact.merged_into)


def _again(event: Event, fact_id: UUID, why: Unsettling) -> Event:
    return FactUnsettled.following(event, of=str(fact_id), fact_id=fact_id, why=why)


def _told(fact: Fact, before: Fact | None) -> dict[str, Any]:
    names = (*TOLD, *BY_UPKEEP) if before else TOLD
    now = {name: getattr(fact, name) for name in names}
    return {
        "fact_id": str(fact.fact_id),
        "now": {name: value for name, value in now.items() if before is None or getattr(before, name) != value},
        "was": {name: getattr(before, name) for name in names if before and getattr(before, name) != now[name]},
    }
