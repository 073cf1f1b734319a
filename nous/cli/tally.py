"""What was sent and what was not, counted as it goes, and the three ways of printing it: sums, ids a line, JSON."""

import sys
from dataclasses import dataclass

from . import screen
from .ready import Ready

REJECTS_TOLD = 20


@dataclass
class Tally:
    """What was sent to a stream and what was rejected: how many, and the first and the last of it."""

    stream: str
    sent: int = 0
    rejected: int = 0
    made: int = 0
    first: tuple[str, str] | None = None
    last: tuple[str, str] | None = None

    def count(self, ready: Ready, entry_id: str) -> None:
        """One was sent."""
        self.sent += 1
        self.made += bool(ready.made)
        self.last = (ready.event_id, entry_id)
        self.first = self.first or self.last

    def reject(self, line: int, reason: str) -> None:
        """One was not; the first few are told at once."""
        self.rejected += 1
        if self.rejected <= REJECTS_TOLD:
            print(f"line {line}: {screen.shown(reason)}", file=sys.stderr)

    def __str__(self) -> str:
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        return f"{screen.plural(self.sent, 'event')} sent to {self.stream}{rejected}"


class Sums:
    """Counts at the end, and the first and the last id."""

    def sent(self, ready: Ready, entry_id: str) -> None:
        """Nothing."""

    def rejected(self, line: int, reason: str) -> None:
        """Nothing."""

    def end(self, tally: Tally) -> None:
        """The sums."""
        print(tally)
        if tally.made:
            print(f"  {tally.made:,} came without a fact_id, and got the one that follows from agent_id and content")
        if tally.first and tally.last and tally.first != tally.last:
            print(f"  first {tally.first[0]}  (entry {tally.first[1]})")
            print(f"  last  {tally.last[0]}  (entry {tally.last[1]})")
        elif tally.first:
            print(f"  event {tally.first[0]}  (entry {tally.first[1]})")


class Ids(Sums):
    """A line an event, as they are sent; the sums on standard error."""

    def sent(self, ready: Ready, entry_id: str) -> None:
        """Both ids."""
        print(ready.event_id, entry_id)

    def end(self, tally: Tally) -> None:
        """The sums."""
        print(tally, file=sys.stderr)


class Json(Sums):
    """One JSON object, written as the events are sent: a file of any size fits."""

    def __init__(self) -> None:
        print('{"events": [', end="")
        self.separator = "\n"
        self.rejects: list[tuple[int, str]] = []

    def sent(self, ready: Ready, entry_id: str) -> None:
        """One element."""
        one = screen.as_json({"line": ready.line, "event_id": ready.event_id, "entry_id": entry_id, **ready.made}, indent=None)
        print(self.separator, one, sep="", end="")
        self.separator = ",\n"

    def rejected(self, line: int, reason: str) -> None:
        """Kept for the end."""
        self.rejects.append((line, reason))

    def end(self, tally: Tally) -> None:
        """The rest of the object."""
        rejects = [{"line": line, "reason": reason} for line, reason in self.rejects]
        rest = {"stream": tally.stream, "sent": tally.sent, "rejected": tally.rejected, "rejects": rejects}
        print("],", screen.as_json(rest, indent=None)[1:])
