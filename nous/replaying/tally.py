"""What a replay tells: each decision as it is made, and in the end what it did and could not do."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Made:
    """One decision of a replay, beside the outcome that the live store has; None when that has no receipt of it."""

    agent_id: str
    worker: str
    event_id: str
    outcome: str
    reason: str | None
    live: str | None


@dataclass
class Tally:
    """What a replay of one or more agents did.

    fed        root events that were fed
    receipts   decisions that were made
    otherwise  those whose outcome is another than live; the stores may be alike in spite of it
    others     which those are, and what each came to
    extra      events that followed here and not live
    missing    deliveries of events that followed live and not here
    embedded   texts whose vector was not recorded
    unasked    questions that were never asked before
    absent     events that had an effect and are not in the archive
    waiting    deliveries that did not settle
    failed     what could not be done again, and why
    """

    fed: int = 0
    receipts: int = 0
    otherwise: int = 0
    extra: int = 0
    missing: int = 0
    embedded: int = 0
    unasked: dict[str, None] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether every event that is needed was there, and settled."""
        return not (self.absent or self.waiting or self.failed)
