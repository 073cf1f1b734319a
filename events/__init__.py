"""The contract: every event, the stream it travels on, how it is read and published. Imports nothing else of this project.

Agents in any language need only this much of it: `XADD <stream> * data <JSON object>`.
"""

from .base import MAX_CONTENT_CHARACTERS, Event, Provenance
from .censors import CensorAdded, CensorEscalated, CensorRelaxed, CensorTriggered, Severity
from .episodes import EpisodeClosed
from .facts import FactConfirmed, FactLearned, FactMerged, FactRestored, FactSplit, FactStored, FactSuperseded, FactUnsettled, Unsettling
from .identity import derived
from .publish import publish
from .wire import MAX_BODY_BYTES, MalformedEvent, body_of, decode, encode, entry_time, kept_body

CATALOGUE: dict[str, type[Event]] = {
    kind.stream: kind
    for kind in (
        FactLearned,
        EpisodeClosed,
        CensorTriggered,
        FactStored,
        FactConfirmed,
        FactSuperseded,
        FactMerged,
        FactUnsettled,
        CensorEscalated,
        FactRestored,
        FactSplit,
        CensorAdded,
        CensorRelaxed,
    )
}
"""Every event by its stream: first what agents publish, then what workers and people's commands do."""

__all__ = [
    "CATALOGUE",
    "MAX_BODY_BYTES",
    "MAX_CONTENT_CHARACTERS",
    "CensorAdded",
    "CensorEscalated",
    "CensorRelaxed",
    "CensorTriggered",
    "EpisodeClosed",
    "Event",
    "FactConfirmed",
    "FactLearned",
    "FactMerged",
    "FactRestored",
    "FactSplit",
    "FactStored",
    "FactSuperseded",
    "FactUnsettled",
    "MalformedEvent",
    "Provenance",
    "Severity",
    "Unsettling",
    "body_of",
    "decode",
    "derived",
    "encode",
    "entry_time",
    "kept_body",
    "publish",
]
