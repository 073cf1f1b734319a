"""What answers questions in words, and what every such thing promises.

    Question(about, prompt, answer type) ──ask──▶ Reply(an answer of that type, its tokens)
                                            ├───▶ MindAway  away, too slow or over its limits: asked again later
                                            └───▶ NoAnswer  what it said is no answer, twice: asked again later

A mind judges and changes nothing, and nothing is ever made up in its place: whoever asked still holds a "same" against the guard and
an "updates" against who said what, and takes "unsure" for an answer.

A question carries itself twice: as data in `about`, for a mind that goes by rules, and as a prompt, for one that reads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from events import Provenance
from nous.errors import NousError, Outage
from nous.text import form

A = TypeVar("A", bound=BaseModel)

Task = Literal["relation", "writing"]
"""What a model is wanted for; each may have its own: judging pairs is more often asked and easier."""

Relation = Literal["same", "refines", "updates", "contradicts", "compatible", "unsure"]
"""How the newer of two facts stands to the older.

same: one fact in two wordings. refines: one fact, and one of the two wordings says more. updates: both were true, each in its time.
contradicts: they cannot both have been true. compatible: two facts. unsure: the mind cannot tell; another mind may be asked.
"""


class NoAnswer(NousError):
    """What the mind said is no answer to the question, and its second try was none either; or it will not take the question.

    The tokens are what that cost: a budget counts them too.
    """

    def __init__(self, why: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(why)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


class MindAway(Outage):
    """The mind is away, and so many tokens were spent on a first answer before it was (seldom any)."""

    def __init__(self, why: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__("the model", why)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One fact as it was said. `said_at` is aware."""

    content: str
    said_at: datetime
    provenance: Provenance
    subject: str | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two claims of one agent, the older first."""

    older: Claim
    newer: Claim


@dataclass(frozen=True, slots=True)
class Comparison:
    """How do the two of each pair stand to each other?"""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """What somebody said in a conversation. `speaker` and `said_at` (aware) are None when nobody knows."""

    content: str
    speaker: str | None = None
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is to be remembered of this conversation, or of this part of one? `notes` are what was written of its parts before."""

    utterances: tuple[Utterance, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notes:
    """In which few notes is all said that these say? They are of how something is done that is called `name`."""

    name: str
    notes: tuple[str, ...]


class Judgement(BaseModel):
    """How the two of one pair stand to each other. `pair` counts from 1, `richer` says which wording has more if one refines the other."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pair: Annotated[int, Field(ge=1)]
    relation: Relation
    richer: Literal["older", "newer"] | None = None
    reason: Annotated[str, AfterValidator(lambda reason: form(reason)[:500])] = ""


class Judgements(BaseModel):
    """Exactly one judgement for each pair of a comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judgements: list[Judgement]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question for a model that reads. `version` changes with any word of it: kept answers belong to one version."""

    version: str
    system: str
    text: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Question(Generic[A]):
    """One question. `check` raises ValueError, saying what is wrong, for an answer that fits the type and not the question."""

    task: Task
    about: Comparison | Transcript | Notes
    prompt: Prompt
    answer: type[A]
    check: Callable[[A], None] = lambda answer: None  # noqa: ARG005

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its answer; read, never changed."""
        return _schema(self.answer)


@cache
def _schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Made once: a sixth of the processor time of asking went into making it (profiled under the load of `make chaos`)."""
    return answer.model_json_schema()


@dataclass(frozen=True, slots=True)
class Reply(Generic[A]):
    """An answer, and what it cost: tokens of every request made for it, and milliseconds from asking to having it."""

    answer: A
    tokens_in: int = 0
    tokens_out: int = 0
    milliseconds: int = 0


class Mind(Protocol):
    """Answers questions."""

    def model(self, task: Task) -> str:
        """The model asked for this, which kept answers are kept under; `offline` for the one without."""

    async def ask(self, question: Question[A]) -> Reply[A]:
        """An answer that fits the question. Raises MindAway and NoAnswer; both mean later."""

    async def close(self) -> None:
        """Let go of its connections."""
