"""A question, read: what it is after, by which plan it is answered, what was just said, and its vector. No transaction is open meanwhile.

The whole question is what is searched, not its topic words: where those lose the question, the memory is lost (measured, docs/quality.md).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from events.wire import mended
from nous import clock
from nous.aside import aside
from nous.errors import UserMistake
from nous.fence import without_recalled
from nous.settings import Settings
from nous.terms import terms
from store.search import KINDS, Kind
from store.vectors import Vector

from . import intent, plans, repeated, reported
from .framing import Frame, shortened
from .intent import Signals
from .overlap import REPEATED
from .plans import MOST_TOKENS, Overrides, Plan
from .repeated import Said
from .tools import Tools
from .vectors import tried

LONGEST_CHARACTERS = 1_048_576
"""Of a question: as long as a turn may be."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`own` is the question without what was recalled into it, with its `terms`; `doubt` says what the embedder could not give."""

    agent: str
    question: str
    own: str
    terms: Sequence[str]
    signals: Signals
    plan: Plan
    now: datetime
    as_of: datetime | None
    said: Said
    least_relevance: float
    vector: Vector | None
    doubt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a question is to be answered, as the call says."""

    frame: str | None = None
    otherwise: Frame = "conversation"
    budget: int | None = None
    as_of: datetime | None = None
    kinds: Collection[Kind] | None = None
    overrides: Overrides | None = None


async def read(tools: Tools, agent: str, question: str, conversation: Sequence[str], wish: Wish) -> Asked:
    """Read a question. Raises UserMistake for what cannot be meant, Misconfigured for NOUS_RECALL_PLANS that do not do."""
    reported.require_ids(agent, "any")
    question = _checked(question)
    as_of = None if wish.as_of is None else reported.moment(wish.as_of)
    now = as_of or clock.now()
    length = len(question) + sum(map(len, conversation))
    signals, plan, own, found_by, said = await aside(length, _understood, tools, agent, question, conversation, now, wish)
    vectors, doubt = await _vectors(tools, [own, *said]) if plan.queries and own else (None, "")
    return Asked(
        agent=agent,
        question=question,
        own=own,
        terms=found_by,
        signals=signals,
        plan=plan,
        now=now,
        as_of=as_of,
        said=Said(said, vectors[1:] if vectors else None, tools.embedder.check_similarity, _overlap(tools.settings)),
        least_relevance=_least_relevance(tools, plan, signals),
        vector=vectors[0] if vectors else None,
        doubt=doubt,
    )


def _understood(
    tools: Tools, agent: str, question: str, conversation: Sequence[str], now: datetime, wish: Wish
) -> tuple[Signals, Plan, str, Sequence[str], list[str]]:
    """What it is after, its plan, the question without what was recalled into it and its terms, and what was just said."""
    signals = intent.signals(question, frame=wish.frame, otherwise=wish.otherwise)
    plan = _planned(tools, agent, question, now, signals, wish)
    own = shortened(without_recalled(question)).strip()
    said = repeated.statements([mended(turn) for turn in conversation], window=plan.window) if plan.leaves_out_what_was_said else []
    return signals, plan, own, terms(own), said


def _least_relevance(tools: Tools, plan: Plan, signals: Signals) -> float:
    """What a memory needs to be told; none where the question names no topic, such as `what do you know about me?`."""
    if not signals.keywords:
        return 0.0
    return tools.embedder.least_relevance if plan.least_relevance is None else plan.least_relevance


def _overlap(settings: Settings) -> float:
    return REPEATED if settings.repeated_overlap is None else settings.repeated_overlap


def _planned(tools: Tools, agent: str, question: str, now: datetime, signals: Signals, wish: Wish) -> Plan:
    overrides = plans.overrides(tools.settings.recall_plans, agent)
    if wish.overrides is not None:
        overrides = wish.overrides.over(overrides)
    kinds = None if wish.kinds is None else frozenset(map(_kind, wish.kinds))
    plan = plans.plan(signals, question, now.astimezone(UTC), overrides=overrides, kinds=kinds)
    if wish.frame is None and wish.otherwise == "question":  # put to memory alone, it begins no work that instructions are for
        plan = replace(plan, has_instructions=False)
    if wish.budget is None:
        return plan
    if not 0 <= wish.budget <= MOST_TOKENS:
        raise UserMistake(f"a budget of {wish.budget:,} tokens does not do; it is 0 to {MOST_TOKENS:,}, and absent the frame's own")
    return replace(plan, tokens=wish.budget)


def _kind(named: str) -> Kind:
    for kind in KINDS:
        if kind == named:
            return kind
    raise UserMistake(f"there is no kind of memory {named[:80]!r}; the kinds are {', '.join(KINDS)}; leave them out for all")


def _checked(question: str) -> str:
    if len(question) > LONGEST_CHARACTERS:
        raise UserMistake(f"the question has {len(question):,} characters and the limit is {LONGEST_CHARACTERS:,}; ask what is to be known")
    return mended(question)


async def _vectors(tools: Tools, texts: list[str]) -> tuple[list[Vector] | None, str]:
    vectors, why = await tried(tools.vectors, texts, within_s=tools.settings.recall_patience_s)
    return vectors, f"by words alone, without meaning: {why}" if why else ""
