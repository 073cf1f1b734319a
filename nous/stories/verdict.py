"""How the work stands, in a few words: the same on the page, in `nous status` and in its `--watch`.

Of work alone: whether what came of it is healthy is what `nous audit` looks at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workers.runtime.look import Look
from workers.runtime.retention import Kept

Tone = Literal["bad", "wait", "good"]
"""bad needs a person, wait moves by itself, good needs nothing."""


@dataclass(frozen=True)
class Verdict:
    """How it stands."""

    tone: Tone
    title: str


def verdict(look: Look, streams: Sequence[Kept]) -> Verdict:
    """How it stands by this look, and by what the streams hold."""
    everyone = (*look.workers, look.archivist)
    if (
        not all(one.is_alive for one in everyone)
        or any(one.parked for one in look.workers)
        or any(one.held_s and one.needed_by for one in streams)
    ):
        return Verdict("bad", "It needs a person")
    if left := sum(one.lag + one.pending for one in everyone):
        return Verdict("wait", f"Working: {left:,} {'delivery' if left == 1 else 'deliveries'} to go")
    return Verdict("good", "All work is done") if look.is_settled else Verdict("wait", "Some of it waits")
