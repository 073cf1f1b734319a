"""Plans: what is fetched for a turn and how many tokens it may take. A plan is data, and an agent may have another.

    signals ─▶ queries   of each kind so many: 8 of the kind asked for and 3 of the others, 5 of each when none is; none for a greeting
            ─▶ budget    tokens for all, and for a section where the frame says so
            ─▶ window    how many of the last turns count as just said
            ─▶ when      the time the question names: preferred, never required
            ─▶ the whole question, which is what is searched

The numbers are the spec's (001, D7 and plan_retrieval), which knows no passages. A passage is a piece of a conversation, so it is in the
section of episodes, and the best sixteen are told where facts or episodes, or nothing in particular, are asked for: with eight, less of the
evidence is told in 2,000 tokens than plain full text finds (measured, docs/quality.md).

Another plan for an agent: NOUS_RECALL_PLANS, or the call's own `Overrides`; what they leave out stays.

    {"*": {"window": {"decision": 10}}, "my-agent": {"tokens": {"question": 4000}, "sections": {"question": {"decisions": 0}}, "limit": 10}}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nous.errors import Misconfigured
from store.search import KINDS, Kind

from . import dates
from .dates import Span
from .framing import Frame
from .intent import Signals

Section = Literal["decisions", "facts", "procedures", "episodes"]
SECTIONS: tuple[Section, ...] = ("decisions", "facts", "procedures", "episodes")
"""In the order in which they are told, behind the censors that apply and the instructions of the frame."""

SECTION_OF: dict[Kind, Section] = {
    "decision": "decisions",
    "fact": "facts",
    "procedure": "procedures",
    "episode": "episodes",
    "passage": "episodes",
}

DOMINANT, OTHERS, OTHERWISE = 8, 3, 5
"""Memories of the kind that is asked for, of each other kind, and of each kind when none is (spec 001)."""

PASSAGES = 16

TOKENS: dict[Frame, int] = {
    "conversation": 3_000,
    "question": 6_000,
    "task": 8_000,
    "decision": 12_000,
    "creative": 6_000,
    "debug": 10_000,
}
WINDOW: dict[Frame, int] = {"conversation": 3, "question": 5, "task": 5, "decision": 8, "creative": 4, "debug": 6}
SECTION_TOKENS: dict[Frame, dict[Section, int]] = {
    "conversation": {"decisions": 500, "facts": 500, "procedures": 0, "episodes": 0},
    "decision": {"decisions": 3_500, "procedures": 2_000},
}
DATED: frozenset[Frame] = frozenset({"question", "task", "debug"})
"""Frames in which a date tells which memories are meant; in a decision or a story it is what is decided or told of."""

MOST_TOKENS = 200_000
MOST_MEMORIES = 200
_Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
_Memories = Annotated[int, Field(ge=0, le=MOST_MEMORIES)]
MOST_TURNS = 100
_Turns = Annotated[int, Field(ge=0, le=MOST_TURNS)]


class Overrides(BaseModel):
    """What is to be another way for an agent or a call. `limit` is for every kind; `dominant`, `others` and `otherwise` are the spec's.

    `least_relevance` is the embedder's own when absent; 0 tells the best there are, however little they bear on the question.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: dict[Frame, _Tokens] = {}
    sections: dict[Frame, dict[Section, _Tokens]] = {}
    window: dict[Frame, _Turns] = {}
    dominant: _Memories | None = None
    others: _Memories | None = None
    otherwise: _Memories | None = None
    limit: dict[Kind, _Memories] = {}
    skip: frozenset[Kind] = frozenset()
    leaves_out_what_was_said: bool = True
    has_instructions: bool = True
    least_relevance: Annotated[float, Field(ge=0, le=10)] | None = None

    def over(self, other: "Overrides") -> "Overrides":
        """The other, and where this one says something, this one."""
        own = {name: getattr(self, name) for name in self.model_fields_set}
        for name in ("tokens", "window", "limit"):
            own[name] = {**getattr(other, name), **getattr(self, name)}
        own["sections"] = {
            frame: {**other.sections.get(frame, {}), **self.sections.get(frame, {})} for frame in {*other.sections, *self.sections}
        }
        return other.model_copy(update=own)


@dataclass(frozen=True, slots=True)
class Query:
    """So many memories of a kind at most. `recency` from 0 (none) to 1: how much the newest is wanted."""

    kind: Kind
    limit: int
    recency: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is fetched for a turn. A section without a budget of its own has what is left of the whole; one of 0 is not fetched."""

    frame: Frame
    queries: tuple[Query, ...]
    tokens: int
    sections: Mapping[Section, int] = field(default_factory=dict)
    window: int = 0
    when: Span | None = None
    leaves_out_what_was_said: bool = True
    has_instructions: bool = True
    least_relevance: float | None = None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that are fetched."""
        return tuple(query.kind for query in self.queries)

    @property
    def skipped(self) -> tuple[Kind, ...]:
        """The kinds that are not."""
        return tuple(kind for kind in KINDS if kind not in self.kinds)


def plan(
    signals: Signals, question: str, now: datetime, *, overrides: Overrides | None = None, kinds: frozenset[Kind] | None = None
) -> Plan:
    """The plan for a turn: `question` as it was said at `now` (aware).

    `kinds` are the only ones wanted; None wants all. One that is wanted by name is fetched even where the frame has no tokens for it, and
    for a greeting too.
    """
    other = overrides or Overrides()
    frame = signals.frame
    sections: dict[Section, int] = {**SECTION_TOKENS.get(frame, {}), **other.sections.get(frame, {})}
    for kind in kinds or ():
        if sections.get(SECTION_OF[kind]) == 0 and SECTION_OF[kind] not in other.sections.get(frame, {}):
            del sections[SECTION_OF[kind]]
    wanted = [kind for kind in KINDS if kind not in other.skip and sections.get(SECTION_OF[kind]) != 0]
    is_greeting = signals.is_greeting and kinds is None
    if is_greeting:
        wanted, sections = [], dict.fromkeys(SECTIONS, 0)
    queries = [Query(kind, limit, signals.recency) for kind in wanted if (limit := _limit(kind, signals, other)) > 0]
    return Plan(
        frame=frame,
        queries=tuple(query for query in queries if kinds is None or query.kind in kinds),
        tokens=other.tokens.get(frame, TOKENS[frame]),
        sections=sections,
        window=other.window.get(frame, WINDOW[frame]),
        when=dates.span(question, now) if frame in DATED and not is_greeting else None,
        leaves_out_what_was_said=other.leaves_out_what_was_said,
        has_instructions=other.has_instructions and not is_greeting,
        least_relevance=other.least_relevance,
    )


def furthest_window(overrides: Overrides) -> int:
    """How many turns are looked back at most, whatever the frame."""
    return max({**WINDOW, **overrides.window}.values())


def overrides(plans: Mapping[str, Any], agent: str) -> Overrides:
    """What NOUS_RECALL_PLANS says of this agent, over what it says of all (`*`). Raises Misconfigured when it cannot be meant."""
    return _checked(plans, agent).over(_checked(plans, "*"))


def _checked(plans: Mapping[str, Any], agent: str) -> Overrides:
    try:
        return Overrides.model_validate(plans.get(agent, {}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise Misconfigured(
            f"NOUS_RECALL_PLANS does not do for {agent!r}: {where}: {first['msg']}; it is a JSON object of agents (* for all), each with"
            f" any of {', '.join(Overrides.model_fields)} (docs/settings.md)"
        ) from None


def _limit(kind: Kind, signals: Signals, other: Overrides) -> int:
    """How many of this kind are wanted."""
    if kind in other.limit:
        return other.limit[kind]
    dominant = signals.dominant
    wanted = PASSAGES if kind == "passage" else None
    if dominant is None:
        return _first(other.otherwise, wanted, OTHERWISE)
    if dominant == kind or (kind == "passage" and dominant in {"fact", "episode"}):
        return _first(other.dominant, wanted, DOMINANT)
    return _first(other.others, OTHERS)


def _first(*limits: int | None) -> int:
    return next(limit for limit in limits if limit is not None)
