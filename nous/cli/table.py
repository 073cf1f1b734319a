"""`nous workers`: who listens to what, what it does, and how it can end."""

import workers
from workers.runtime import archivist, streams

from . import screen

EVERY_WORKER_ALSO = ("skipped", "parked")


def workers_table(*, is_json: bool) -> None:
    """Print every worker."""
    if is_json:
        screen.emit(
            [
                {
                    "worker": one.name,
                    "stream": one.on.stream,
                    "does": one.does,
                    "outcomes": [*one.outcomes, *EVERY_WORKER_ALSO],
                    "publishes": [event.stream for event in one.publishes],
                }
                for one in workers.table().values()
            ]
            + [{"worker": streams.ARCHIVIST, "stream": None, "does": archivist.DOES, "outcomes": [], "publishes": []}]
        )
        return
    console = screen.out()
    for one in workers.table().values():
        console.print(one.name, style="bold")
        rows = screen.rows(2)
        rows.add_row("listens on", one.on.stream)
        rows.add_row("does", one.does)
        rows.add_row("ends in", f"{', '.join(one.outcomes)}; or {screen.listed(EVERY_WORKER_ALSO)}".replace(" and ", ", "))
        rows.add_row("publishes", ", ".join(event.stream for event in one.publishes) or "nothing")
        console.print(rows)
        console.print()
    console.print(streams.ARCHIVIST, style="bold")
    rows = screen.rows(2)
    rows.add_row("listens on", "every stream")
    rows.add_row("does", archivist.DOES)
    console.print(rows)
    console.print()
