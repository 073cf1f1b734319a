"""What routes share of what they take and give."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError, to_jsonable_python

from events import MemoryKind, Severity
from events.base import Moment
from events.wire import mended
from nous import moments
from nous.text import is_blank
from recall.matching import Match
from recall.plans import MOST_TOKENS
from recall.remembering import Remembered, Served

MOST_CHARACTERS = 1_048_576  # of a turn, as of a transcript

Words = Annotated[
    str, BeforeValidator(lambda said: mended(said) if isinstance(said, str) else said), StringConstraints(max_length=MOST_CHARACTERS)
]
"""What somebody said, as Postgres can hold it: without NUL, lone surrogates replaced."""


def _written(at: object) -> object:
    """A moment that was written is read as everywhere (nous/moments.py); what came otherwise is left to be refused."""
    if not isinstance(at, str):
        return at
    try:
        return moments.read(at)
    except ValueError as wrong:
        raise PydanticCustomError("moment", "{wrong}", {"wrong": str(wrong)}) from None


When = Annotated[
    Moment,
    BeforeValidator(_written),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}),
]
"""A moment with its time zone, or a date alone, which is its midnight in UTC."""


def _asking(said: str) -> str:
    if is_blank(said):
        raise PydanticCustomError("empty", "it is empty, and so asks nothing; send what is to be known, in a sentence")
    return said


Asking = AfterValidator(_asking)
"""Of a question: that it asks something."""


class Taken(BaseModel):
    """What is sent: a field that nobody knows is refused, for it may be a misspelt one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Given(BaseModel):
    """What is answered."""

    model_config = ConfigDict(frozen=True)


class Memory(Given):
    """A memory that was told."""

    kind: MemoryKind
    id: UUID
    handle: str = Field(description="How the context names it, and how an answer may cite it.")
    section: str = Field(description="The part of the context it stands in.")
    text: str
    tokens: int
    at: datetime = Field(description="The world's time: true since, begun, decided, learned, said.")
    provenance: str = Field(description="Who vouches for it.")
    confidence: float
    similarity: float | None = Field(description="Plain cosine with the question; null without a vector.")
    score: float = Field(description="What it was ranked by.")
    episode_id: UUID | None
    subject: str | None

    @classmethod
    def of(cls, one: Served) -> "Memory":
        """As it was told."""
        named = {name: getattr(one, name) for name in cls.model_fields if name != "id"}
        return cls(id=one.memory_id, **named)


class Censor(Given):
    """A censor that applies to the turn."""

    id: UUID
    severity: Severity
    is_blocking: bool
    trigger_pattern: str
    reason: str
    matched: str = Field(description="The words it applies to.")

    @classmethod
    def of(cls, match: Match) -> "Censor":
        """As it applies."""
        one = match.censor
        fields = {"severity": one.severity, "trigger_pattern": one.trigger_pattern, "reason": one.reason}
        return cls.model_validate({**fields, "id": one.censor_id, "is_blocking": match.is_blocking, "matched": match.matched})


class NoRoom(Given):
    """That the budget has room for none of what bears on the question."""

    count: int = Field(description="So many memories bear on it.")
    budget: int = Field(description="Tokens there were.")
    enough: int = Field(description="A budget of so many tokens has room for all of them.")


class Context(Given):
    """What is remembered for a turn or a question."""

    recall_id: UUID = Field(description="The recall; what an answer drew on is counted under it.")
    frame: str
    context: str = Field(description="The text for the model: censors, instructions of the frame, memories in their fence.")
    tokens: int
    memories: tuple[Memory, ...]
    censors: tuple[Censor, ...]
    is_blocked: bool = Field(description="Whether a censor stops this turn.")
    degraded: str | None = Field(description="What recall had to do without, such as the embedder.")
    explained: dict[str, Any] | None = Field(default=None, description="With explain: every factor, and why what was found was not told.")
    no_room: NoRoom | None = Field(default=None, description="Where no memory is told for want of tokens alone: how many would do.")


def told(recall_id: UUID, remembered: Remembered) -> dict[str, Any]:
    """The fields of a Context."""
    return {
        "recall_id": recall_id,
        "frame": remembered.frame,
        "context": remembered.text,
        "tokens": remembered.tokens,
        "memories": tuple(Memory.of(one) for one in remembered.memories),
        "censors": tuple(Censor.of(one) for one in remembered.censors),
        "is_blocked": remembered.is_blocked,
        "degraded": remembered.degraded,
        "explained": plain(remembered.explained) if remembered.explained is not None else None,
        "no_room": NoRoom(**asdict(remembered.no_room)) if remembered.no_room else None,
    }


def plain(data: Any) -> Any:
    """Data for JSON; what JSON has no word for is written out."""
    return to_jsonable_python(data, bytes_mode="base64", inf_nan_mode="strings", fallback=str)


Frame = Literal["conversation", "question", "task", "decision", "creative", "debug"]
Budget = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
