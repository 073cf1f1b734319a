"""A step of a story: one thing that happened to a fact or a censor, as its receipt tells it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from store.mentions import Mention
from store.receipts import Receipt

from .heard import mention_as_data
from .words import moment

APART = timedelta(minutes=1)  # what happened so soon after it was claimed is told at one time


@dataclass(frozen=True)
class Step:
    """One thing that happened: its receipt, what was said, and the wordings of the facts it speaks of.

    `rows` are the ids of the fact whose story it is, those that were merged into it among them.
    """

    receipt: Receipt
    mention: Mention | None
    wordings: Mapping[str, str]
    rows: Collection[str] = ()

    @property
    def at(self) -> datetime:
        """When it was worked: the order of a story."""
        return self.receipt.recorded_at

    @property
    def occurred_at(self) -> datetime:
        """When it was claimed, or else recorded."""
        return self.receipt.occurred_at or self.receipt.recorded_at

    @property
    def occurred(self) -> str:
        """When it was claimed, in words, where that is another time than that of its working."""
        if abs(self.at - self.occurred_at) <= APART:
            return ""
        return f"{'claimed' if self.receipt.stream.startswith('fact_') else 'occurred'} {moment(self.occurred_at)}"

    @property
    def is_about_another(self) -> bool:
        """Its receipt is about another fact, by which this one was changed."""
        return bool(self.rows) and str(self.receipt.about) not in self.rows

    @property
    def changes(self) -> list[dict[str, Any]]:
        """How the rows of this fact stand since, and how they stood."""
        return [one for one in self.receipt.evidence.get("changed", []) if one["fact_id"] in self.rows]

    @property
    def happened(self) -> str:
        """What happened to this fact: the receipt's outcome, or else what the receipt of another fact changed of this one."""
        if not self.is_about_another:
            return self.receipt.outcome
        now: dict[str, Any] = {name: value for one in self.changes for name, value in one["now"].items()}
        if any(one["was"].get("demoted_to") is not None and one["now"].get("demoted_to") is None for one in self.changes):
            return "reinstated"
        told = (("retired", now.get("superseded_by")), ("merged", now.get("merged_into")), ("disputed", now.get("disputes")))
        return next((word for word, is_so in (*told, ("revived", now.get("active"))) if is_so), self.receipt.outcome)

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
            "happened": self.happened,
            "reason": self.receipt.reason,
            "about": self.receipt.about,
            "event_id": self.receipt.event_id,
            "stream": self.receipt.stream,
            "entry_id": self.receipt.entry_id,
            "published": list(self.receipt.derived),
            **({"mention": mention_as_data(self.mention)} if self.mention else {}),
            **({"candidates": self.candidates} if "candidates" in self.receipt.evidence else {}),
            **({"changes": self.changes} if self.changes else {}),
            "evidence": evidence,
        }
