"""The contract: every event, the stream it travels on, how it is read and published. Imports nothing else of this project.

Agents in any language need only this much of it: `XADD <stream> * data <JSON object>`.
"""

from .base import MAX_CONTENT_CHARACTERS, Event, Provenance
from .censors import CensorAdded, CensorEscalated, CensorRelaxed, CensorTriggered, Severity
from .decisions import DecisionOutcome, DecisionRecorded, DecisionReviewed, Stakes
from .episodes import EpisodeClosed, EpisodeRestored, EpisodeSummarized, EpisodeThawed, EpisodeUnsettled, SummaryWriter
from .facts import (
    FactConfirmed,
    FactJoined,
    FactLearned,
    FactMerged,
    FactPinned,
    FactReinstated,
    FactRestored,
    FactRetired,
    FactSplit,
    FactStored,
    FactSuperseded,
    FactUnpinned,
    FactUnsettled,
    Unsettling,
)
from .forgotten import AgentForgotten, FactForgotten
from .identity import derived
from .prepare import Prepared, is_new_each_time, made_for, prepare
from .procedures import ProcedureLearned, ProcedureRestored, ProcedureUsed
from .publish import publish
from .upkeep import EpisodeAged, FactUnused, MaintenanceDue, NotesPiledUp, TranscriptExpired
from .usage import ComparedMemory, MemoryKind, MemoryRecalled, MemoryReferenced, RecalledMemory, ReferencedMemory
from .wire import MAX_BODY_BYTES, MAX_CLOCK_AHEAD, MalformedEvent, body_of, decode, encode, entry_time, identity, kept_body

CATALOGUE: dict[str, type[Event]] = {
    kind.stream: kind
    for kind in (
        FactLearned,
        EpisodeClosed,
        CensorTriggered,
        DecisionRecorded,
        DecisionReviewed,
        ProcedureLearned,
        ProcedureUsed,
        MemoryRecalled,
        MemoryReferenced,
        FactStored,
        FactConfirmed,
        FactSuperseded,
        FactMerged,
        FactUnsettled,
        EpisodeSummarized,
        EpisodeUnsettled,
        CensorEscalated,
        MaintenanceDue,
        EpisodeAged,
        FactUnused,
        NotesPiledUp,
        TranscriptExpired,
        FactRestored,
        FactSplit,
        FactJoined,
        FactRetired,
        FactPinned,
        FactUnpinned,
        FactReinstated,
        FactForgotten,
        EpisodeRestored,
        EpisodeThawed,
        ProcedureRestored,
        CensorAdded,
        CensorRelaxed,
        AgentForgotten,
    )
}
"""Every event by its stream: first what agents publish, then what workers and people's commands do."""

FROM_AGENTS = frozenset(
    kind.stream
    for kind in (
        FactLearned,
        EpisodeClosed,
        CensorTriggered,
        DecisionRecorded,
        DecisionReviewed,
        ProcedureLearned,
        ProcedureUsed,
        MemoryRecalled,
        MemoryReferenced,
    )
)
"""What agents publish; all else is published by who did it."""

__all__ = [
    "CATALOGUE",
    "FROM_AGENTS",
    "MAX_BODY_BYTES",
    "MAX_CLOCK_AHEAD",
    "MAX_CONTENT_CHARACTERS",
    "AgentForgotten",
    "CensorAdded",
    "CensorEscalated",
    "CensorRelaxed",
    "CensorTriggered",
    "ComparedMemory",
    "DecisionOutcome",
    "DecisionRecorded",
    "DecisionReviewed",
    "EpisodeAged",
    "EpisodeClosed",
    "EpisodeRestored",
    "EpisodeSummarized",
    "EpisodeThawed",
    "EpisodeUnsettled",
    "Event",
    "FactConfirmed",
    "FactForgotten",
    "FactJoined",
    "FactLearned",
    "FactMerged",
    "FactPinned",
    "FactReinstated",
    "FactRestored",
    "FactRetired",
    "FactSplit",
    "FactStored",
    "FactSuperseded",
    "FactUnpinned",
    "FactUnsettled",
    "FactUnused",
    "MaintenanceDue",
    "MalformedEvent",
    "MemoryKind",
    "MemoryRecalled",
    "MemoryReferenced",
    "NotesPiledUp",
    "Prepared",
    "ProcedureLearned",
    "ProcedureRestored",
    "ProcedureUsed",
    "Provenance",
    "RecalledMemory",
    "ReferencedMemory",
    "Severity",
    "Stakes",
    "SummaryWriter",
    "TranscriptExpired",
    "Unsettling",
    "body_of",
    "decode",
    "derived",
    "encode",
    "entry_time",
    "identity",
    "is_new_each_time",
    "kept_body",
    "made_for",
    "prepare",
    "publish",
]
