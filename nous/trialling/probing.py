"""Probes: what each prompt extracted in a store of its own, and questions put to it as recall puts them.

    readings by a ─▶ fact_learned ─▶ deduplicator ─▶ an agent of a store that is there for the trial alone ─┐
    readings by b ─▶ fact_learned ─▶ deduplicator ─▶ another agent of it, who sees nothing of the first's ──┤
                                                                                                            ▼
    each question ─▶ read, searched and ranked (recall) ─▶ in which places stand facts that say an answer (worth)?

All facts of an agent stand together, so that a question has the others to be told from. Whether one fact ends another is not asked: that
would be another mind's work, and the same for both. Ranking goes by its default weights and the default plan; nothing was used yet.

    p@1   the first says an answer
    p@3   of the answers, three at most, those that the first three say
    MRR   one divided by the place of the first that says one; 0 when none does
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from events import FactLearned, derived
from nous import embedded, ids
from nous.errors import Outage
from nous.settings import Settings
from nous.text import normalise
from providers.embedder import Embedder
from providers.offline import OfflineMind
from recall import asking, looking
from recall.asking import Wish
from recall.tools import Tools
from store import embedders
from store.database import Database
from store.migrate import migrate
from workers.deduplicator import deduplicate, embed
from workers.episodes.sources import Sourced
from workers.runtime.worker import Job, Kit

from . import worth
from .reading import Conversation, Pair, Probe, Reading

PAGE = 100
"""Facts that are learned in one transaction."""

FIRST = 3
PATIENCE_S = 600.0
"""For the embedder: a question that is searched by words alone would be another measurement."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One question: each from 0 to 1 (see above)."""

    p_at_1: float
    p_at_3: float
    reciprocal: float


Both = tuple[list[Placed], list[Placed]]
"""The probes of one conversation by a and by b."""


async def probed(pairs: Sequence[Pair], kit: Kit, *, advance: Callable[[], None]) -> list[Both]:
    """The probes of each of these conversations, in their order, on an empty store; `advance` is called at each question.

    Raises Outage when the embedder is away.
    """
    tools = Tools(kit.database, kit.embedder, kit.settings)
    found: list[list[list[Placed]]] = []
    for side, readings in (("a", [one for one, _ in pairs]), ("b", [one for _, one in pairs])):
        await _learn(readings, kit, side)
        found.append([await _placed(one.conversation, tools, side, advance) for one in readings])
    return list(zip(*found, strict=True))


@asynccontextmanager
async def store(settings: Settings, embedder: Embedder) -> AsyncIterator[Kit]:
    """A store in a folder of its own, gone after the block. Raises Misconfigured when none can be made here."""
    settings = settings.model_copy(update={"recall_plans": {}, "recall_patience_s": PATIENCE_S, "recall_mind": False})
    with tempfile.TemporaryDirectory(prefix="nous-trial-") as folder, embedded.running(Path(folder) / "home", durable=False) as stack:
        await migrate(stack.database_url, embedder=embedder.name, dimension=embedder.dimension)
        database = Database(stack.database_url, pool=1)
        try:
            async with database.read(()) as db:
                registered = await embedders.active(db)
            yield Kit(database=database, embedder=embedder, registered=registered, settings=settings, mind=OfflineMind())
        finally:
            await database.close()


# ── learned ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _learn(readings: Sequence[Reading], kit: Kit, side: str) -> None:
    """All their facts, the earliest conversation first, as the deduplicator hears them."""
    by_agent: dict[str, list[FactLearned]] = {}
    for one in sorted(readings, key=lambda one: one.conversation.began):
        facts = one.told.facts if one.told else ()
        by_agent.setdefault(_agent(one.conversation, side), []).extend(_learned(one.conversation, side, fact) for fact in facts)
    for agent, events in by_agent.items():
        for at in range(0, len(events), PAGE):
            page = events[at : at + PAGE]
            thoughts = await embed(page, kit)
            async with kit.database.write([agent]) as db:
                await deduplicate(db, [Job(event, thought) for event, thought in zip(page, thoughts, strict=True)], kit)


def _learned(conversation: Conversation, side: str, one: Sourced) -> FactLearned:
    """The event that the summarizer would publish."""
    agent, episode = _agent(conversation, side), _episode(conversation)
    of = (agent, str(episode), normalise(one.fact.content))
    return FactLearned(
        event_id=derived(FactLearned.stream, *of),
        agent_id=agent,
        occurred_at=one.source.said_at or conversation.began,
        fact_id=ids.derived(FactLearned.stream, *of),
        content=one.fact.content,
        subject=one.fact.subject or None,
        attribute=one.fact.attribute or None,
        provenance=one.source.provenance,
        confidence=one.fact.confidence,
        source=f"episode:{episode}",
        quote=one.fact.quote,
    )


def _episode(conversation: Conversation) -> UUID:
    return ids.derived("trial", conversation.agent, conversation.name)


def _agent(conversation: Conversation, side: str) -> str:
    """One agent for each side, as no agent sees what another knows."""
    return f"{side}-{ids.derived('trial', conversation.agent)}"


# ── asked ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _placed(conversation: Conversation, tools: Tools, side: str, advance: Callable[[], None]) -> list[Placed]:
    placed = []
    for probe in conversation.probes:
        told = await _recalled(probe, tools, _agent(conversation, side))
        placed.append(places(await _said(probe, told, tools, conversation.speakers), len(probe.answers)))
        advance()
    return placed


async def _recalled(probe: Probe, tools: Tools, agent: str) -> list[str]:
    """What recall finds for the question, the best first. Raises Outage rather than do without meaning."""
    asked = await asking.read(tools, agent, probe.question, (), Wish(otherwise="question"))
    seen = await looking.look(tools, asked, None)
    if doubt := asked.doubt or seen.doubt:
        raise Outage(f"the embedder {tools.embedder.name}", doubt)
    return [one.found.text for one in seen.ranked]


async def _said(probe: Probe, told: Sequence[str], tools: Tools, names: frozenset[str]) -> list[frozenset[int]]:
    """Of each memory in its order, which answers it says."""
    texts = list(dict.fromkeys([*probe.answers, *told]))
    vectors = dict(zip(texts, await tools.vectors.of(texts, within_s=PATIENCE_S), strict=True))
    at_least = tools.embedder.check_similarity
    covered = [worth.known(probe.answers, [one], vectors, at_least=at_least, names=names).covered for one in told]
    return [frozenset(place for place, is_so in enumerate(one) if is_so) for one in covered]


def places(said: Sequence[frozenset[int]], answers: int) -> Placed:
    """What an order is worth of which each memory says these of so many answers; an answer that is said twice counts once."""
    first = next((place for place, one in enumerate(said, 1) if one), None)
    among = frozenset[int]().union(*said[:FIRST])
    return Placed(float(first == 1), min(len(among) / min(FIRST, answers), 1.0), 1 / first if first else 0.0)
