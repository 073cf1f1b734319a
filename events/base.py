"""What every event is: a frozen fact in the past tense, about one agent, that happened at a known moment and has one effect.

The stream an event travels on is its class name in snake_case (`FactLearned` on `fact_learned`); it is never typed twice.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from .identity import derived

MAX_CONTENT_CHARACTERS = 8_000

_NO_CONTROL = r"[^\x00-\x1f\x7f-\x9f]*"


# One microsecond inside the calendar: its very ends are infinite to Postgres' driver, and come back without a time zone.
_FIRST = datetime.min.replace(tzinfo=UTC) + timedelta.resolution
_LAST = datetime.max.replace(tzinfo=UTC) - timedelta.resolution


def _in_utc(moment: datetime) -> datetime:
    try:
        return min(max(moment.astimezone(UTC), _FIRST), _LAST)
    except OverflowError:
        raise PydanticCustomError("moment", "outside the years 1 to 9999 once its offset is applied") from None


MAX_ID_CHARACTERS = 128
AgentId = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_ID_CHARACTERS, pattern=rf"^{_NO_CONTROL}[^\s\x00-\x1f\x7f-\x9f]{_NO_CONTROL}$")
]
EventId = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ID_CHARACTERS)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
MAX_COUNT = 2_147_483_647
Count = Annotated[int, Field(ge=0, le=MAX_COUNT)]
Content = Annotated[str, StringConstraints(max_length=MAX_CONTENT_CHARACTERS)]
ShortText = Annotated[str, StringConstraints(max_length=1_000)]
Confidence = Annotated[float, Field(ge=0, le=1)]
Provenance = Literal["user_stated", "episode_summary", "assistant_derived"]
"""Who vouches for a claim, strongest first."""

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


class Event(BaseModel):
    """The fields every event carries, or is given on arrival.

    Fields a consumer does not know are ignored, so producers can be upgraded first.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", json_schema_extra=lambda schema: _for_producers(schema))

    stream: ClassVar[str]

    event_id: EventId = Field(description="The idempotency key: one effect for each (worker, agent, event_id). Derived when absent.")
    agent_id: AgentId = Field(description="Whose memory this is; 1 to 128 characters, none of them a control character.")
    occurred_at: Moment = Field(description="When it happened, with a time zone. The entry's own time when absent.")
    caused_by: EventId | None = Field(default=None, description="The event_id this one follows from.")
    traceparent: ShortText | None = Field(default=None, description="W3C trace context, passed on untouched.")

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """Name the stream after the class."""
        cls.stream = _WORD.sub("_", cls.__name__).lower()

    @classmethod
    def derive_id(cls, body: Mapping[str, object], entry_id: str) -> str:
        """The id of an event that came without one: by default a new one for each stream entry."""
        return derived(cls.stream, str(body.get("agent_id")), entry_id)

    @classmethod
    def following(cls, cause: "Event", *, of: str = "", **fields: object) -> Self:
        """An event of this class that `cause` led to; its id follows from the cause's, so making it twice is harmless.

        `of` tells several of this class apart that one cause led to.
        """
        return cls.model_validate(
            {
                "event_id": derived(cls.stream, cause.agent_id, cause.event_id, *([of] if of else [])),
                "agent_id": cause.agent_id,
                "occurred_at": cause.occurred_at,
                "caused_by": cause.event_id,
                "traceparent": cause.traceparent,
                **fields,
            }
        )


def _for_producers(schema: dict[str, Any]) -> None:
    """In the published schema, what is given on arrival is not asked of a producer."""
    schema["required"] = [name for name in schema.get("required", ()) if name not in {"event_id", "occurred_at"}]


def stated(body: Mapping[str, object], *names: str) -> list[str]:
    """The named fields of a raw body as text, absent ones as empty, for deriving an id."""
    return ["" if body.get(name) is None else str(body[name]) for name in names]
