"""Recall, measured: LoCoMo's questions put to the store, over facts, over what was said, and over both as recall serves them.

conversation ──▶ an agent with its facts, episodes and passages ──▶ each question searched and ranked ──▶ where the evidence stands
                                                               └──▶ the same by cosine alone, and by BM25 alone, in the same run
                                                               └──▶ told by recall within so many tokens, plan and fence and all
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from nous import ids
from nous.errors import Misconfigured
from nous.settings import Settings
from nous.terms import terms
from nous.text import content_hash
from providers import Embedder
from providers.offline import OfflineMind
from recall.intent import signals
from recall.ranking import Weights, certainty, rank
from recall.remembering import Tools, remember
from recall.tokens import counted
from store import episodes, facts, passages, vectors
from store.episodes import Episode
from store.facts import Fact
from store.keys import text_key
from store.search import Found, Kind, search
from workers.runtime import filling
from workers.runtime.app import kit
from workers.runtime.worker import Kit

from . import worked
from .locomo_questions import ANSWERABLE, UNANSWERABLE, Conversation, Memory, Question, load
from .places import NAMES, TOKENS, Shown, area, interval, within, worth
from .vectors import BUNDLED, bundled

NOW = datetime(2024, 1, 1, tzinfo=UTC)
EVERYTHING = 100_000
OVER: dict[str, tuple[Kind, ...]] = {"facts": ("fact",), "turns": ("passage",), "both": ("fact", "passage")}
COSINE, BM25, SERVED = "cosine alone", "BM25 alone", "served"
TOPIC = "served, topic words alone"  # instead of the whole question
ALONE = (COSINE, BM25)
ORDERS = (*ALONE, SERVED, TOPIC)
AROUND_A_MEMORY = 12  # tokens that an id, an age and a name take beside its words

Key = tuple[Kind, UUID]


@dataclass(frozen=True)
class Row:
    """One order over one kind of memory: means over the questions that have an answer."""

    embedder: str
    over: str
    order: str
    questions: int
    values: dict[str, float]
    abstention: float

    def margin(self, others: Sequence["Row"]) -> float:
        """How far this order is above the better of the others where it is least above, AUC of abstention among it."""
        mine = {**self.values, "AUC": self.abstention}
        best = {name: max({**one.values, "AUC": one.abstention}[name] for one in others) for name in mine}
        return min(mine[name] - best[name] for name in mine)


@dataclass(frozen=True)
class Recalled:
    """Everything of one embedder: rows; by category, how the order served does over both; and what recall tells in so many tokens."""

    embedder: str
    rows: list[Row]
    categories: dict[int, tuple[int, dict[str, float]]]
    told: dict[int, float] = field(default_factory=dict)


def measure(data: Path) -> list[Recalled] | None:
    """Both bundled embedders; None where the folder has no LoCoMo conversations."""
    found = load(data)
    if not found:
        return None
    measured = []
    for name in BUNDLED:
        with suppress(Misconfigured):  # its extra is not installed
            measured.append(asyncio.run(_measured(bundled(name), found)))
    return measured


def report(measured: Sequence[Recalled], console: Console, *, curves: bool) -> None:
    """The tables."""
    for one in measured:
        table = Table(title=f"LoCoMo questions, {one.embedder}", title_justify="left")
        for name in ("over", "order"):
            table.add_column(name)
        for name in (*NAMES, "AUC"):
            table.add_column(name, justify="right")
        for row in one.rows:
            table.add_row(row.over, row.order, *(f"{value:.3f}" for value in (*row.values.values(), row.abstention)))
        console.print(table)
        for served in (row for row in one.rows if row.order == SERVED):
            low, high = interval(served.values["recall@10"], served.questions)
            margin = served.margin([row for row in one.rows if row.over == served.over and row.order in ALONE])
            console.print(
                f"{served.over}: recall@10 of {served.questions} questions, at 95 % between {low:.3f} and {high:.3f};"
                f" above the better of the others by at least {margin:+.3f}"
            )
        for category, (count, values) in one.categories.items():
            console.print(f"category {category}, {count} questions: " + ", ".join(f"{name} {value:.3f}" for name, value in values.items()))
        console.print("told by recall within its budget: " + ", ".join(f"{share:.3f} in {most}" for most, share in one.told.items()))


def as_json(measured: Sequence[Recalled]) -> list[dict[str, Any]]:
    """The same for a machine."""
    return [
        {
            "embedder": one.embedder,
            "rows": [
                {
                    "over": row.over,
                    "order": row.order,
                    "questions": row.questions,
                    **row.values,
                    "AUC": row.abstention,
                    "recall@10 interval": interval(row.values["recall@10"], row.questions),
                }
                for row in one.rows
            ],
            "categories": {str(number): {"questions": count, **values} for number, (count, values) in one.categories.items()},
            "told": {str(most): share for most, share in one.told.items()},
        }
        for one in measured
    ]


# ── measuring ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Put:
    """What was found of one question by one order, and how sure that is: its top score, or what recall says of its first."""

    question: Question
    order: Sequence[Shown]
    able: int
    top: float


async def _measured(chosen: Embedder, conversations: Sequence[Conversation]) -> Recalled:
    texts = [text for one in conversations for text in (*one.texts, *map(_topic, one.questions))]
    async with _filled(chosen, texts, conversations) as (made, known):
        put: dict[tuple[str, str], list[Put]] = {}
        for one in conversations:
            for question in one.questions:
                for over, kinds in OVER.items():
                    for order, what in (await _asked(made, one.name, question, kinds, known)).items():
                        put.setdefault((over, order), []).append(what)
        told = await _told(made, chosen, conversations, known)
    rows = [_row(chosen.name, over, order, put[over, order]) for over in OVER for order in ORDERS]
    categories = {
        number: (len(some), _means(some))
        for number in ANSWERABLE
        if (some := [one for one in put["both", SERVED] if one.question.category == number])
    }
    return Recalled(chosen.name, rows, categories, told)


@asynccontextmanager
async def _filled(
    chosen: Embedder, texts: Sequence[str], conversations: Sequence[Conversation]
) -> AsyncIterator[tuple[Kit, dict[Key, Memory]]]:
    """A store in which each conversation is an agent's memory."""
    async with worked.store(chosen, texts) as store, kit(Settings(), store.stack.database_url, store.embedder, OfflineMind()) as made:
        known: dict[Key, Memory] = {}
        for one in conversations:
            known |= await _remembered(made, one)
        while await filling.fill(made):
            pass
        yield made, known


async def _remembered(made: Kit, one: Conversation) -> dict[Key, Memory]:
    known: dict[Key, Memory] = {}
    rows = []
    for number, memory in enumerate(one.facts):
        fact = a_fact(one.name, number, memory)
        rows.append(fact)
        known["fact", fact.fact_id] = memory
    directions = await made.embedder.embed([memory.content for memory in one.facts])
    async with made.database.write([one.name]) as db:
        await facts.insert(db, rows)
        new = [(one.name, fact.fact_id, vector) for fact, vector in zip(rows, directions, strict=True)]
        await vectors.insert(db, made.registered.table, new)
        for number, session in enumerate(one.sessions):
            episode = ids.derived("episode", one.name, str(number))
            await episodes.put(db, _episode(one.name, episode, session[0].said_at))
            await passages.put(db, one.name, episode, [(memory.content, memory.said_at) for memory in session])
            known |= {("passage", passages.id_of(one.name, episode, place)): memory for place, memory in enumerate(session)}
    return known


async def _asked(made: Kit, agent: str, question: Question, kinds: Sequence[Kind], known: dict[Key, Memory]) -> dict[str, Put]:
    """The orders of what is found for a question; by one score alone everything is in its order, not the best fifty."""
    words = _topic(question)
    said, topic = terms(question.words), terms(words)
    vector, of_topic = await made.embedder.embed([question.words, words])
    async with made.database.read([agent]) as db:
        everything = await search(db, agent, kinds, vector=vector, embedder=made.registered, terms=said, pool=EVERYTHING)
        found = await search(db, agent, kinds, vector=vector, embedder=made.registered, terms=said)
        by_topic = await search(db, agent, kinds, vector=of_topic, embedder=made.registered, terms=topic)
    able = sum(bool(known[one.kind, one.memory_id].turns & question.evidence) for one in everything)

    def by(score: Callable[[Found], float]) -> Put:
        ordered = sorted(everything, key=lambda one: -score(one))
        return Put(question, [_shown(one, known) for one in ordered], able, score(ordered[0]))

    def ranked(some: Sequence[Found], searched: Sequence[str]) -> Put:
        order = rank(some, weights=Weights(), recency=0.0, boosts={}, now=NOW, terms=len(set(searched)))
        return Put(question, [_shown(one.found, known) for one in order], able, certainty(order) or 0.0)

    return {
        COSINE: by(lambda one: one.similarity or 0.0),
        BM25: by(lambda one: one.words + 1e-6 * (one.similarity or 0.0)),  # what says none of the words comes in the order of the other
        SERVED: ranked(found, said),
        TOPIC: ranked(by_topic, topic),
    }


async def _told(made: Kit, chosen: Embedder, conversations: Sequence[Conversation], known: dict[Key, Memory]) -> dict[int, float]:
    """What recall itself tells, in texts of at most so many tokens, counted as those of the orders are."""
    await chosen.open()
    try:
        tools = Tools(made.database, chosen, made.settings.model_copy(update={"recall_token_margin": 1.0}))
        told: dict[int, list[float]] = {most: [] for most in TOKENS}
        for one in conversations:
            for question in one.questions:
                if question.category == UNANSWERABLE:
                    continue
                for most in TOKENS:
                    answer = await remember(tools, one.name, question.words, frame="question", budget=most)
                    order = [
                        Shown(0, known[each.kind, each.memory_id].turns) for each in answer.memories if (each.kind, each.memory_id) in known
                    ]
                    told[most].append(within(order, question.evidence, most))
    finally:
        await chosen.close()
    return {most: sum(shares) / len(shares) for most, shares in told.items()}


def _topic(question: Question) -> str:
    """The topic words of a question, or all of them where it has none."""
    return " ".join(signals(question.words, frame="question").keywords) or question.words


def _row(embedder: str, over: str, order: str, put: Sequence[Put]) -> Row:
    answered = [one for one in put if one.question.category != UNANSWERABLE]
    tops = [one.top for one in answered], [one.top for one in put if one.question.category == UNANSWERABLE]
    return Row(embedder, over, order, len(answered), _means(answered), area(*tops))


def _means(put: Sequence[Put]) -> dict[str, float]:
    values = [worth(one.order, one.question.evidence, able=one.able) for one in put]
    return {name: sum(one[name] for one in values) / len(values) for name in NAMES}


def _shown(one: Found, known: dict[Key, Memory]) -> Shown:
    return Shown(counted(one.text, margin=1.0) + AROUND_A_MEMORY, known[one.kind, one.memory_id].turns)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_fact(agent: str, number: int, memory: Memory) -> Fact:
    """An observation as a stored fact."""
    return Fact(
        agent_id=agent,
        fact_id=ids.derived("fact", agent, str(number)),
        content=memory.content,
        content_hash=content_hash(memory.content),
        subject=memory.subject,
        attribute=None,
        provenance="episode_summary",
        confidence=0.5,
        source=None,
        active=True,
        superseded_by=None,
        merged_into=None,
        valid_from=memory.said_at,
        valid_to=None,
        claimed_at=memory.said_at,
        claimed_by=f"event-{number}",
        confirmation_count=0,
        last_confirmed=None,
        created_at=NOW,
        text_key=text_key(memory.content, memory.subject, str(number)),
        stored_by=f"event-{number}",
        own_content=None,
        disputes=None,
        recorded_at=NOW,
        recorded_by=f"event-{number}",
    )


def _episode(agent: str, episode: UUID, began: datetime) -> Episode:
    return Episode(agent, episode, "user_message", began, NOW, NOW, "event", ended_at=began)
