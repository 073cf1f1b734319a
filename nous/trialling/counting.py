"""A reading in numbers: what it knows of the gold, what of it is junk, what it says again, and what it cost.

    facts ─┬─ near a gold fact, with its names and numbers (worth) ──────▶ covered
           ├─ no claim at all (nous.junk) ───────────────────────────────▶ junk, by kind
           └─ near an earlier fact of the agent, and each has the other's
              names and numbers and denies nothing ──────────────────────▶ duplicate

Earlier are facts of the same agent by the same criterion, in the order in which the conversations began: what a store would be told again.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nous.junk import why_junk
from providers.embedder import Embedder
from store.vectors import Vector
from workers.episodes import question
from workers.episodes.question import Criterion
from workers.episodes.reading import Told

from . import worth
from .reading import Reading

NOT_SAID = "quote not said"


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One reading, counted; `known` is what its facts know of the gold, `junk` counts them by kind."""

    facts: int
    quote_not_said: int
    dropped: int
    known: worth.Known
    junk: Mapping[str, int] = field(default_factory=dict)
    duplicates: int = 0
    questions: int
    tokens_in: int
    tokens_out: int
    milliseconds: int


async def counted(readings: Sequence[Reading], embedder: Embedder) -> list[Counted]:
    """Each reading that was answered, counted. The embedder must be open."""
    vectors = await _vectors(readings, embedder)
    again = _said_again(readings, vectors, at_least=embedder.check_similarity)

    def known(one: Reading) -> worth.Known:
        conversation = one.conversation
        return worth.known(conversation.gold, one.facts, vectors, at_least=embedder.check_similarity, names=conversation.speakers)

    return [_counted(one, one.told, known(one), again[place]) for place, one in enumerate(readings) if one.told]


def junk(told: Told, criterion: Criterion) -> Mapping[str, int]:
    """How many of its facts are junk (nous.junk), by kind."""
    prompt = question.facts_by(criterion)
    kinds = (why_junk(one.fact.content, subject=one.fact.subject, prompt=prompt) for one in told.facts)
    return Counter(kind for kind in kinds if kind)


async def _vectors(readings: Sequence[Reading], embedder: Embedder) -> dict[str, Vector]:
    wanted = sorted({text for one in readings for text in (*one.conversation.gold, *one.facts)})
    return dict(zip(wanted, await embedder.embed(wanted), strict=True)) if wanted else {}


def _counted(one: Reading, told: Told, known: worth.Known, duplicates: int) -> Counted:
    return Counted(
        facts=len(told.facts),
        quote_not_said=told.dropped.get(NOT_SAID, 0),
        dropped=sum(told.dropped.values()),
        known=known,
        junk=junk(told, one.criterion),
        duplicates=duplicates,
        questions=told.questions,
        tokens_in=told.tokens_in,
        tokens_out=told.tokens_out,
        milliseconds=told.milliseconds,
    )


# ── said again ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _said_again(readings: Sequence[Reading], vectors: Mapping[str, Vector], *, at_least: float) -> list[int]:
    """Of each reading how many facts were said before."""
    known: dict[tuple[str, str], list[str]] = {}
    counts = [0] * len(readings)
    for place in sorted(range(len(readings)), key=lambda place: readings[place].conversation.began):
        one = readings[place]
        before = known.setdefault((one.conversation.agent, one.criterion.version), [])
        for fact in one.facts:
            counts[place] += _is_known(fact, before, vectors, at_least=at_least, names=one.conversation.speakers)
            before.append(fact)
    return counts


def _is_known(fact: str, before: Sequence[str], vectors: Mapping[str, Vector], *, at_least: float, names: frozenset[str]) -> bool:
    if not before:
        return False
    similar = np.array([vectors[one] for one in before], np.float32) @ vectors[fact]
    near = [one for one, cosine in zip(before, similar, strict=True) if cosine >= at_least]
    return any(worth.keeps(one, fact, names=names) and worth.keeps(fact, one, names=names) for one in near)
