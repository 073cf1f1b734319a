"""A moment of a story: one thing that happened, what is to be said of it, and all of it for machines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from store.receipts import Receipt

from . import evidence
from .words import Line, spoken


@dataclass(frozen=True)
class Moment:
    """One thing that happened. `data` is it for machines.

    `by` is the worker it happened at, or who decided it; empty of what happened elsewhere.
    """

    at: datetime
    happened: str
    by: str = ""
    lines: Sequence[Line] = ()
    data: Mapping[str, object] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"at": self.at, "happened": self.happened, **({"worker": self.by} if self.by else {}), **self.data}


def in_order(moments: Iterable[Moment]) -> list[Moment]:
    """By time; what happened at the same time stays as it was told."""
    return sorted(moments, key=lambda one: one.at)


def of_receipt(receipt: Receipt, lines: Sequence[Line]) -> Moment:
    """The moment at which an event ended at a worker."""
    return Moment(receipt.recorded_at, spoken(receipt.outcome), evidence.by(receipt), lines, receipt_as_data(receipt))


def receipt_as_data(receipt: Receipt) -> dict[str, object]:
    """A receipt for JSON."""
    return {
        "occurred_at": receipt.occurred_at,
        "recorded_at": receipt.recorded_at,
        "worker": receipt.worker,
        "outcome": receipt.outcome,
        "reason": receipt.reason,
        "about": receipt.about,
        "event_id": receipt.event_id,
        "stream": receipt.stream,
        "entry_id": receipt.entry_id,
        "published": list(receipt.derived),
        "evidence": dict(receipt.evidence),
    }
