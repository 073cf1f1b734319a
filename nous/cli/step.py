"""A step of a story: one thing that happened to a fact or a censor, as its receipt tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from store.mentions import Mention
from store.receipts import Receipt

from .facts import mention_as_data

STYLES = {"stored": "cyan", "confirmed": "green", "escalated": "red", "added": "cyan", "relaxed": "green"}
"""How an outcome is printed; any other is bold."""


@dataclass(frozen=True)
class Step:
    """One thing that happened: its receipt, what was said, and the wordings of the candidates it was compared with."""

    receipt: Receipt
    mention: Mention | None
    wordings: Mapping[str, str]

    @property
    def at(self) -> datetime:
        """When it was claimed, or else recorded."""
        return self.receipt.occurred_at or self.receipt.recorded_at

    @property
    def style(self) -> str:
        """How its outcome is printed."""
        return STYLES.get(self.receipt.outcome, "bold")

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """What it was compared with, nearest first."""
        return [{**one, "content": self.wordings.get(one["fact_id"])} for one in self.receipt.evidence.get("candidates", [])]

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        evidence = {name: value for name, value in self.receipt.evidence.items() if name != "candidates"}
        return {
            "occurred_at": self.receipt.occurred_at,
            "recorded_at": self.receipt.recorded_at,
            "worker": self.receipt.worker,
            "outcome": self.receipt.outcome,
            "reason": self.receipt.reason,
            "about": self.receipt.about,
            "event_id": self.receipt.event_id,
            "stream": self.receipt.stream,
            "entry_id": self.receipt.entry_id,
            "published": list(self.receipt.derived),
            **({"mention": mention_as_data(self.mention)} if self.mention else {}),
            **({"candidates": self.candidates} if "candidates" in self.receipt.evidence else {}),
            "evidence": evidence,
        }
