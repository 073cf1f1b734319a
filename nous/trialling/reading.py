"""Two criteria for what is a fact, tried on the same conversations: the positive question and the exclusion list (spec 004).

    conversation ─┬─ read by one criterion ────┬─▶ facts, what was dropped, tokens ──▶ held against gold, looked over for junk
                  └─ read by the other ────────┘

Each reading goes the way of an episode (reading): the same prompts but for the criterion, the same answer, the same quotes. Nothing is
kept. What one of the two got no answer to is left out of both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

from nous.junk import why_junk
from providers.embedder import Embedder
from providers.mind import A, Mind, MindAway, NoAnswer, Question, Reply, Utterance
from store.episodes import Episode
from store.vectors import Vector

from . import question, reading, worth
from .exclusion import CRITERION as EXCLUSION
from .question import POSITIVE, Criterion
from .reading import Told
from .sources import Said

NOT_SAID = "quote not said"
NAMELESS = UUID(int=0)

Style = Literal["positive", "exclusion"]
STYLES: tuple[Style, ...] = get_args(Style)
CRITERIA: Mapping[Style, Criterion] = {"positive": POSITIVE, "exclusion": EXCLUSION}


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What was said, and what ought to be known of it, if somebody wrote that down. `name` says where it comes from."""

    name: str
    said: tuple[Utterance, ...]
    began: datetime
    gold: tuple[str, ...] = ()

    @property
    def is_voiced(self) -> bool:
        """Whether anybody said anything whose words count."""
        return Said(self.said).is_voiced

    @property
    def speakers(self) -> frozenset[str]:
        """Who speaks, by name."""
        return frozenset(one.speaker for one in self.said if one.speaker)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a mind made of a conversation by one criterion; None when it gave no answer, and why; `away` is the mind's own error."""

    conversation: Conversation
    style: Style
    told: Told | None
    tokens_in: int
    tokens_out: int
    why: str = ""
    away: MindAway | None = None

    @property
    def is_away(self) -> bool:
        """Whether the mind was away."""
        return self.away is not None

    @property
    def facts(self) -> list[str]:
        """The facts that have their quote."""
        return [one.fact.content for one in self.told.facts] if self.told else []


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One reading, counted; `known` is what its facts know of the gold, `junk` counts them by kind."""

    facts: int
    quote_not_said: int
    dropped: int
    known: worth.Known
    junk: Mapping[str, int] = field(default_factory=dict)
    questions: int
    tokens_in: int
    tokens_out: int
    milliseconds: int


async def read(conversation: Conversation, style: Style, mind: Mind, *, part_characters: int) -> Reading:
    """Let a mind read it as it reads an episode. What gets no answer is part of the result."""
    asking = _Asking(mind)
    told, error = None, None
    try:
        told = await reading.read(
            _episode(conversation),
            conversation.said,
            ask=asking.ask,
            model=mind.model("writing"),
            part_characters=part_characters,
            criterion=CRITERIA[style],
        )
    except (NoAnswer, MindAway) as trouble:
        error = trouble
    return Reading(
        conversation=conversation,
        style=style,
        told=told if isinstance(told, Told) else None,
        tokens_in=asking.tokens_in,
        tokens_out=asking.tokens_out,
        why=str(error or ""),
        away=error if isinstance(error, MindAway) else None,
    )


class _Asking:
    """Asks a mind and nobody else, and counts what that costs, answered or not."""

    def __init__(self, mind: Mind) -> None:
        self.mind = mind
        self.tokens_in = self.tokens_out = 0

    async def ask(self, asked: Question[A], /) -> Reply[A]:
        try:
            reply = await self.mind.ask(asked)
        except (NoAnswer, MindAway) as error:
            self._count(error.tokens_in, error.tokens_out)
            raise
        self._count(reply.tokens_in, reply.tokens_out)
        return reply

    def _count(self, tokens_in: int, tokens_out: int) -> None:
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out


def _episode(conversation: Conversation) -> Episode:
    """The row it would have."""
    return Episode(
        agent_id="trial",
        episode_id=NAMELESS,
        trigger="trial",
        started_at=conversation.began,
        created_at=conversation.began,
        recorded_at=conversation.began,
        recorded_by="trial",
    )


# ── counted ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def measured(readings: Sequence[Reading], embedder: Embedder) -> list[Measured]:
    """Each reading that was answered, counted. The embedder must be open; where there is no gold it is not asked."""
    wanted = sorted({text for one in readings if one.conversation.gold for text in (*one.conversation.gold, *one.facts)})
    vectors: dict[str, Vector] = dict(zip(wanted, await embedder.embed(wanted), strict=True)) if wanted else {}

    def known(one: Reading) -> worth.Known:
        conversation, at_least = one.conversation, embedder.check_similarity
        return worth.known(conversation.gold, one.facts, vectors, at_least=at_least, names=conversation.speakers)

    return [_measured(one, one.told, known(one)) for one in readings if one.told]


def _measured(one: Reading, told: Told, known: worth.Known) -> Measured:
    return Measured(
        facts=len(told.facts),
        quote_not_said=told.dropped.get(NOT_SAID, 0),
        dropped=sum(told.dropped.values()),
        known=known,
        junk=junk(told, CRITERIA[one.style]),
        questions=told.questions,
        tokens_in=told.tokens_in,
        tokens_out=told.tokens_out,
        milliseconds=told.milliseconds,
    )


def junk(told: Told, criterion: Criterion) -> Mapping[str, int]:
    """How many of its facts are junk (nous.junk), by kind."""
    prompt = question.facts_by(criterion)
    kinds = (why_junk(one.fact.content, subject=one.fact.subject, prompt=prompt) for one in told.facts)
    return Counter(kind for kind in kinds if kind)


def answered_by_both(readings: Iterable[Reading]) -> list[tuple[Reading, Reading]]:
    """The readings of each conversation that have an answer by either criterion, the positive one first."""
    by_conversation: dict[int, dict[Style, Reading]] = {}
    for one in readings:
        if one.told:
            by_conversation.setdefault(id(one.conversation), {})[one.style] = one
    return [(both["positive"], both["exclusion"]) for both in by_conversation.values() if len(both) == len(STYLES)]
