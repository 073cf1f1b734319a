"""What judges how a new fact stands to older ones, and what every such thing promises.

    Question(new, candidates) ──relate──▶ Answer(one judgement for each candidate, in their order)

A mind judges and changes nothing. Whoever asked still holds its "same" against the guard, its "updates" against who said what,
and takes "unsure" for an answer: both facts stay.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from events import Provenance

Relation = Literal["same", "refines", "updates", "contradicts", "compatible", "unsure"]
"""How the new fact stands to a candidate.

same: one fact in two wordings. refines: one fact, and one of the two wordings says more. updates: both were true, each in its time.
contradicts: they cannot both have been true. compatible: two facts. unsure: the mind cannot tell; another mind may be asked.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One fact as it was said. `said_at` is aware."""

    content: str
    said_at: datetime
    provenance: Provenance
    subject: str | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """How does `new` stand to each of `candidates`? All are of one agent."""

    new: Claim
    candidates: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the new fact stands to one candidate, and why, in a sentence for the person who asks later."""

    relation: Relation
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One judgement for each candidate, in their order, and the tokens they cost."""

    judgements: tuple[Judgement, ...]
    tokens_in: int = 0
    tokens_out: int = 0


class Mind(Protocol):
    """Judges how a new fact stands to older ones."""

    @property
    def name(self) -> str:
        """Whose answer it is: the model and the version of its prompt, where it has them."""

    async def relate(self, question: Question) -> Answer:
        """Exactly one judgement for each candidate. Raises Outage when the mind is away, and never makes an answer up."""
