"""Contradicting pairs said in conversations, and what recall tells of them afterwards: the same look as `contexts`, through episodes.

    pairs of a set ──▶ an agent closes a conversation for each older fact, then one for each newer ──▶ summarised, facts learned, retired
    each pair ──▶ asked in the words of the fact that was retired ──▶ recall.remembering ──▶ which of the two the text holds, unmarked

What an episode keeps still says what is no longer so: its turns, its summary. Told with a mark in the same line it counts as told rightly,
without one it counts as superseded. The mind reads each turn as one fact in its own words and repeats them in the summary, the worst a
summary can do; what it would say in other words no mark could find, and is not measured here.
"""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from uuid import UUID

from rich.console import Console

from events import EpisodeClosed, derived
from providers import Embedder
from providers.mind import A, Question, Reply, Transcript
from recall.outdated import MARK
from recall.remembering import Tools, remember
from store import unembedded
from workers.runtime.filling import fill

from . import contexts, worked
from .cases import Case
from .contexts import Contexts, Known, asked, shared_out
from .minds import OracleMind
from .vectors import BUNDLED, bundled
from .worked import CHAIN, Store, Work

THROUGH = ("episode_summarizer", *CHAIN)


class ReadingMind(OracleMind):
    """Judges by the labels; of a conversation it takes every turn for a fact and repeats them all in the summary."""

    name = "reading"

    async def ask(self, question: Question[A]) -> Reply[A]:
        """The judgements, or what is to be remembered."""
        if not isinstance(question.about, Transcript):
            return await super().ask(question)
        said = [one.content for one in question.about.utterances]
        given = {
            "title": "What was told",
            "summary": f"The user told the agent this: {' '.join(said)}",
            "notes": " ".join(said),
            "facts": [{"content": one, "quote": one, "confidence": 1.0} for one in said],
        }
        answer = question.answer.model_validate({name: value for name, value in given.items() if name in question.answer.model_fields})
        question.check(answer)
        return Reply(answer)


def measure(data: Path) -> Contexts | None:
    """Every pair to retire below `data`; None where there is none."""
    cases = contexts.to_retire(data)
    return asyncio.run(_measured(bundled(BUNDLED[0]), cases)) if cases else None


def report(found: Contexts, console: Console, *, curves: bool) -> None:
    """The table."""
    contexts.report(found, console, curves=curves, said="in conversations")


as_json = contexts.as_json


async def _measured(chosen: Embedder, cases: Sequence[Case]) -> Contexts:
    async with worked.store(chosen, ()) as store:
        await chosen.open()
        try:
            return await of(store, chosen, cases, ReadingMind(cases))
        finally:
            await chosen.close()


async def of(store: Store, chosen: Embedder, cases: Sequence[Case], mind: OracleMind, *, name: str = "in conversations") -> Contexts:
    """Close these conversations, and look at what recall tells of each pair. `chosen` is open. `name` sets its agents apart."""
    agents = list(shared_out(cases, name=name))
    async with Store(store.stack, chosen).working(mind, chain=THROUGH) as work:
        for side in ("older", "newer"):
            await work.through([_closed(one, case, side) for one in agents for case in one.cases])
        await _searchable(work)
        tools = Tools(work.kit.database, chosen, work.kit.settings)
        counts = [await _context(tools, one, case, foreign) for one in agents for foreign in [_foreign(one, cases)] for case in one.cases]
    return contexts.total(counts)


def _closed(one: Known, case: Case, side: str) -> EpisodeClosed:
    said, at = (case.older, case.older_at) if side == "older" else (case.newer, case.newer_at)
    name = (one.agent, case.set, case.key, side)
    return EpisodeClosed(
        event_id=derived("conversation", *name),
        episode_id=UUID(derived("conversation", "episode", *name)),
        agent_id=one.agent,
        transcript=f"User: {said}",
        started_at=at,
        occurred_at=at,
    )


async def _searchable(work: Work) -> None:
    """Until every summary and passage has its vector."""
    async with asyncio.timeout(worked.TOO_LONG_S):
        while True:
            await fill(work.kit)
            async with work.kit.database.overview() as db:
                if not await unembedded.count(db):
                    return
            await asyncio.sleep(0.05)


def _foreign(one: Known, cases: Sequence[Case]) -> frozenset[str]:
    """What only other agents said, in words that stand in nothing of this one's."""
    own = "\n".join(said for case in one.cases for said in (case.older, case.newer))
    return frozenset(said for case in cases for said in (case.older, case.newer) if said not in own)


async def _context(tools: Tools, one: Known, case: Case, foreign: Collection[str]) -> Contexts:
    remembered = await remember(tools, one.agent, asked(case), frame="question")
    lines = remembered.text.splitlines()
    old = sum(tells(line, each) for line in lines for each in one.cases)
    return Contexts(
        contexts=1,
        told=len(remembered.memories),
        superseded=int(old > 0),
        superseded_facts=old,
        foreign=int(any(said in line for said in foreign for line in lines)),
        lacking=int(not any(case.newer in line for line in lines)),
    )


def tells(line: str, case: Case) -> bool:
    """Whether the line says what the pair's older fact says, without a mark before it."""
    before, said, _ = line.replace(case.newer, "").partition(case.older)
    return bool(said) and f"({MARK}" not in before
