"""Which root events a replay is fed: all of them, unless something is said."""

from dataclasses import dataclass
from datetime import datetime

from store.archive import Archived


@dataclass(frozen=True)
class Wanted:
    """`since` is within and `until` is not, by arrival; `before` is the event that a replay stops before."""

    streams: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    event_ids: frozenset[str] = frozenset()
    before: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out, up to where it stops."""
        return self == Wanted(before=self.before)

    def takes(self, row: Archived) -> bool:
        """Whether this one is fed."""
        return (
            (not self.streams or row.stream in self.streams)
            and (self.since is None or row.arrived_at >= self.since)
            and (self.until is None or row.arrived_at < self.until)
            and (not self.event_ids or row.event_id in self.event_ids)
        )
