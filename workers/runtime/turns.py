"""The turns of a process's loops: whether each still turns, or has long been stuck or failing (health.py tells)."""

import time
from dataclasses import dataclass, field

STUCK_AFTER_S = 1_800.0  # what is worked alone may ask a mind at length, and meet other writers ten times
WATCH_STUCK_AFTER_S = 120.0  # watching is short
FAILING_AFTER_S = 60.0


@dataclass
class Turn:
    """One loop of a process: since when its present step runs, and since when and why every step of it has failed (time.monotonic)."""

    name: str
    since: float = field(default_factory=time.monotonic)
    failing_since: float | None = None
    why: str = ""

    def begins(self) -> None:
        """A step begins."""
        self.since = time.monotonic()

    def went_well(self) -> None:
        """The step ended, or waits for something that is away."""
        self.failing_since = None

    def failed(self, why: str) -> None:
        """The step failed in a way that nobody expected."""
        self.failing_since, self.why = self.failing_since or time.monotonic(), why

    def problem(self) -> str | None:
        """What is wrong with it, in a sentence."""
        now = time.monotonic()
        if self.failing_since is not None and now - self.failing_since > FAILING_AFTER_S:
            return f"{self.name} has failed for {now - self.failing_since:.0f} s: {self.why}"
        limit_s = WATCH_STUCK_AFTER_S if self.name.endswith(".watch") else STUCK_AFTER_S
        if now - self.since > limit_s:
            return f"{self.name} has been stuck for {now - self.since:.0f} s"
        return None
