"""The first page: whether all work is done, what needs a person, how far every worker is, what streams hold, how much there is of all.

Its part below the head asks again every two seconds (`/live`).
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from . import attention
from .answers import Answer, Asked
from .glance import Seen

if TYPE_CHECKING:
    from .site import Site


async def page(site: "Site", _: Asked) -> Answer:
    """The whole page."""
    shown, data = _told(await site.glance.now())
    return Answer("overview.html", shown, data)


async def live(site: "Site", _: Asked) -> Answer:
    """The part that changes."""
    shown, data = _told(await site.glance.now())
    return Answer("overview_live.html", shown, data)


def _told(seen: Seen) -> tuple[Mapping[str, object], object]:
    verdict = attention.attention(seen)
    streams = sorted(seen.streams, key=lambda one: (-one.held_s, -one.entries, one.stream))
    kinds = {what: count for what, (count, _) in seen.totals.items()}
    data = {
        "at": seen.at,
        "verdict": verdict.as_data(),
        **seen.look.as_data(),
        "streams": [asdict(one) for one in streams],
        "totals": kinds,
    }
    everyone = (*seen.look.workers, seen.look.archivist)
    return {"seen": seen, "verdict": verdict, "workers": everyone, "streams": [one for one in streams if one.entries]}, data
