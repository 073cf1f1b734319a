"""What the HTTP service of Nous memory answers, as its client gives it (docs/api.md); fields this version does not know are ignored."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from .censors import Severity
from .usage import MemoryKind


class Answer(BaseModel):
    """What every answer is: frozen, and open to what a newer service adds."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Memory(Answer):
    """A memory that was told. `handle` is its id in the context, and how an answer may cite it; `at` is the world's time."""

    kind: MemoryKind
    id: UUID
    handle: str
    section: str
    text: str
    tokens: int
    at: datetime
    provenance: str
    confidence: float
    similarity: float | None
    score: float
    episode_id: UUID | None
    subject: str | None


class Censor(Answer):
    """A censor that applies. `matched` are the words it applies to."""

    id: UUID
    severity: Severity
    is_blocking: bool
    trigger_pattern: str
    reason: str
    matched: str


class NoRoom(Answer):
    """That a `budget` had room for none of `count` memories that bear on the question; one of `enough` tokens has for all."""

    count: int
    budget: int
    enough: int


class Context(Answer):
    """What is remembered for a turn or a question; `context` is the text for the model, `degraded` what recall had to do without.

    `no_room` is there when no memory was told for want of tokens alone.
    """

    recall_id: UUID
    frame: str
    context: str
    tokens: int
    memories: tuple[Memory, ...]
    censors: tuple[Censor, ...]
    is_blocked: bool
    degraded: str | None
    explained: dict[str, Any] | None = None
    no_room: NoRoom | None = None


class Turn(Context):
    """The same for a turn that has begun; `turn` is its id, for its result."""

    session_id: str
    turn: str
    episode_id: UUID | None


class Reference(Answer):
    """A memory that an answer drew on: its id was named, or its words were said."""

    kind: str
    id: UUID
    how: str
    overlap: float | None


class Result(Answer):
    """A turn that has ended, and what its answer drew on."""

    session_id: str
    turn: str
    turn_count: int
    episode_id: UUID | None
    referenced: tuple[Reference, ...]
    unknown_citations: tuple[str, ...] = ()


class Closed(Answer):
    """A session that has ended, and what the end made of it."""

    session_id: str
    became: str
    episode_id: UUID | None


class Reported(Answer):
    """An event that was taken in. `made` is what was filled in, such as the fact_id of a fact that came without one."""

    index: int
    status: Literal["taken", "rejected"]
    event_id: str | None
    made: dict[str, str]
    reason: str | None


class Ending(Answer):
    """What one worker made of an event."""

    worker: str
    ending: str
    outcome: str
    reason: str | None
    about: UUID | None
    recorded_at: datetime


class Standing(Answer):
    """What became of an event."""

    event_id: str
    events: tuple[str, ...]
    is_settled: bool
    endings: tuple[Ending, ...]
    waiting_for: tuple[str, ...]


class Kept(Answer):
    """A memory with every field; `now` is what it became part of, or what is true instead."""

    kind: str
    id: UUID
    now: UUID | None
    record: dict[str, Any]


class Expanded(Answer):
    """All that stands behind a memory, line by line, and the same for a model, in the fence; of what is long a page."""

    kind: str
    id: UUID
    at: datetime
    lines: tuple[str, ...]
    part: str | None
    text: str
    next_line: int | None = None


class Explained(Answer):
    """How a memory came to be so."""

    id: UUID
    story: dict[str, Any]
