"""What a settling changed, told to the events it is due to: what became of each fact, what is published, what the receipt says.

A change is due to the event about the fact itself, or else about the fact it gave way to, or else to the first of the page.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from uuid import UUID

from events import Event, FactMerged, FactSuperseded, FactUnsettled
from store.facts import BY_UPKEEP, Fact

from .settling import Change

PUBLISHES = (FactSuperseded, FactMerged, FactUnsettled)
TOLD = ("active", "superseded_by", "merged_into", "disputes", "valid_from", "valid_to", "content")


class Account:
    """One agent's changes, and the events of the page with the facts they are about."""

    def __init__(self, change: Change, about: Sequence[tuple[Event, UUID]]) -> None:
        self.change = change
        self._first = about[0][0]
        self._by_fact = {fact_id: event for event, fact_id in reversed(about)}

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
        """What follows from this event: each fact retired or merged, and a look again at whatever retired another."""
        retired = [fact for fact in self._due(event) if fact.fact_id in self.change.superseded]
        merged = [fact for fact in self._due(event) if fact.fact_id in self.change.merged]
        heads = {fact.superseded_by for fact in retired if fact.superseded_by}
        return (
            *(_superseded(event, fact) for fact in retired),
            *(_merged(event, fact) for fact in merged),
            *(_again(event, head) for head in sorted(heads, key=str) if self.change.after[head].active),
        )

    def as_evidence(self, event: Event) -> list[dict[str, Any]]:
        """Each fact that changed by this event: how it stands now, and how it stood."""
        return [_told(fact, self.change.before.get(fact.fact_id)) for fact in self._due(event)]

    def _due(self, event: Event) -> Sequence[Fact]:
        return self._by_event.get(event.event_id, ())

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


def _again(event: Event, head: UUID) -> Event:
    return FactUnsettled.following(event, of=str(head), fact_id=head, why="retired_another")


def _told(fact: Fact, before: Fact | None) -> dict[str, Any]:
    names = (*TOLD, *BY_UPKEEP) if before else TOLD
    now = {name: getattr(fact, name) for name in names}
    return {
        "fact_id": str(fact.fact_id),
        "now": {name: value for name, value in now.items() if before is None or getattr(before, name) != value},
        "was": {name: getattr(before, name) for name in names if before and getattr(before, name) != now[name]},
    }
