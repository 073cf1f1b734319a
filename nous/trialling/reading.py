"""One conversation read by one criterion, as an episode is read: the same prompts but for the criterion, the same answer, the same quotes.

    conversation ──▶ a mind, in one question or in parts ──▶ facts with their quotes, what was dropped, tokens
                                                        └──▶ no answer, and why

Nothing is kept, and no answer that was kept before is taken.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from providers.mind import A, Mind, MindAway, NoAnswer, Question, Reply, Utterance
from store.episodes import Episode
from workers.episodes import reading
from workers.episodes.question import Criterion
from workers.episodes.reading import Told
from workers.episodes.sources import Said

from .criteria import Both

AGENT = "trial"
"""Whose conversation it is, where nobody says."""

NAMELESS = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Probe:
    """A question that will be put to memory, and the facts any of which answers it."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What was said, what ought to be known of it and what will be asked about it, if somebody wrote that down.

    `name` says where it comes from. What is extracted from all conversations of an agent is asked together.
    """

    name: str
    said: tuple[Utterance, ...]
    began: datetime
    gold: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    agent: str = AGENT

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
    criterion: Criterion
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


async def read(conversation: Conversation, criterion: Criterion, mind: Mind, *, part_characters: int) -> Reading:
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
            criterion=criterion,
        )
    except (NoAnswer, MindAway) as trouble:
        error = trouble
    return Reading(
        conversation=conversation,
        criterion=criterion,
        told=told if isinstance(told, Told) else None,
        tokens_in=asking.tokens_in,
        tokens_out=asking.tokens_out,
        why=str(error or ""),
        away=error if isinstance(error, MindAway) else None,
    )


Pair = tuple[Reading, Reading]
"""The readings of one conversation by a and by b."""


def paired(readings: Iterable[Reading], criteria: Both) -> list[Pair]:
    """The readings of each conversation by both."""
    by: dict[tuple[int, str], Reading] = {(id(one.conversation), one.criterion.version): one for one in readings}
    firsts = [one for (_, version), one in by.items() if version == criteria.a.version]
    return [(one, by[id(one.conversation), criteria.b.version]) for one in firsts]


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
        agent_id=conversation.agent,
        episode_id=NAMELESS,
        trigger="trial",
        started_at=conversation.began,
        created_at=conversation.began,
        recorded_at=conversation.began,
        recorded_by="trial",
    )
