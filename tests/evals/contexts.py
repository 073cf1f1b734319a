"""Contradicting pairs, and what recall tells of them afterwards: does a context hold what is no longer true, or lack what is?

    pairs of a set ──▶ an agent knows PAIRS of them: first all older facts, then all newer ones, through the workers as they run
                  └──▶ another agent hears the older facts alone, so that what is retired here is true there
    each pair ──▶ asked in the words of the fact that was retired ──▶ recall.remembering ──▶ which of them the context holds

Asked so, the superseded fact is the nearest there is. The mind answers from the labels: what is left is the workers', the search's and
the assembly's.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.table import Table

from events import FactLearned
from providers import Embedder
from providers.mind import Mind
from recall.remembering import Tools, remember
from store import facts

from . import worked
from .cases import AT_MOST, READERS, Case, seeded
from .minds import OracleMind
from .places import interval
from .vectors import BUNDLED, bundled
from .worked import Store, Work

SETS = ("beam_updates", "situatedqa_updates", "pararel")
PAIRS = 20  # of an agent
MISLABELLED = {
    ("beam_updates", "100K/1/ku0"),  # a sprint that was completed, and the response time of a dashboard
    ("beam_updates", "500K/1/ku0"),  # who may connect to a server, and how much memory it takes
}
"""Pairs whose label says that the newer retires the older, and that are about two things: both are true."""


@dataclass(frozen=True, kw_only=True)
class Contexts:
    """What contexts held. `superseded`, `foreign` and `lacking` count contexts, `superseded_facts` facts; `told` all memories told."""

    contexts: int
    told: int
    superseded: int
    superseded_facts: int
    foreign: int
    lacking: int


@dataclass(frozen=True)
class Known:
    """An agent, the pairs it was told, and the fact that each side of a pair is published as."""

    agent: str
    cases: tuple[Case, ...]

    def events(self) -> list[tuple[FactLearned, FactLearned]]:
        """The older and the newer fact of each pair, all of them this agent's."""
        brought = [case.events(f"{self.agent} {number}") for number, case in enumerate(self.cases)]
        return [tuple(event.model_copy(update={"agent_id": self.agent}) for event in pair) for pair in brought]  # type: ignore[misc]


def measure(data: Path) -> Contexts | None:
    """Every pair to retire below `data`; None where there is none."""
    cases = to_retire(data)
    return asyncio.run(_measured(bundled(BUNDLED[0]), cases)) if cases else None


def report(found: Contexts, console: Console, *, curves: bool, said: str = "as facts") -> None:
    """The table."""
    table = Table(title=f"Contexts after contradicting pairs, said {said}", title_justify="left")
    for name in ("", "contexts", "share", "at 95 % between"):
        table.add_column(name)
    for name, count in (
        ("holding a superseded fact", found.superseded),
        ("holding another agent's fact", found.foreign),
        ("lacking the current fact", found.lacking),
    ):
        low, high = interval(count / found.contexts, found.contexts)
        table.add_row(name, f"{count} of {found.contexts}", f"{count / found.contexts:.4f}", f"{low:.4f} {high:.4f}")
    console.print(table)


def as_json(found: Contexts) -> dict[str, int]:
    """The same for a machine."""
    return asdict(found)


def to_retire(data: Path) -> list[Case]:
    """The pairs whose newer fact retires the older, at most so many of a set."""
    cases = [case for name in SETS for case in seeded(READERS[name](data), AT_MOST) if case.effect == "retired"]
    return [case for case in cases if (case.set, case.key) not in MISLABELLED]


async def _measured(chosen: Embedder, cases: Sequence[Case]) -> Contexts:
    async with worked.store(chosen, (text for case in cases for text in (case.older, case.newer))) as store:
        await chosen.open()
        try:
            return await of(store, chosen, cases, OracleMind(cases))
        finally:
            await chosen.close()


async def of(store: Store, chosen: Embedder, cases: Sequence[Case], mind: Mind, *, name: str = "of contradictions") -> Contexts:
    """Tell the workers these pairs, and look at what recall tells of each. `name` sets its agents apart from those of another look."""
    agents = list(shared_out(cases, name=name))
    brought = {one: one.events() for one in agents}
    beside = [pair[0] for one in agents for pair in Known(f"{one.agent}, beside", one.cases).events()]
    async with store.working(mind) as work:
        await work.through([*(older for pairs in brought.values() for older, _ in pairs), *beside])
        await work.through([newer for pairs in brought.values() for _, newer in pairs])
        tools = Tools(work.kit.database, chosen, work.kit.settings)
        counts = [
            await _context(tools, one, at, pairs, await _own(work, one.agent)) for one, pairs in brought.items() for at in range(len(pairs))
        ]
    return total(counts)


def total(counts: Sequence[Contexts]) -> Contexts:
    """Of all of them together."""
    return Contexts(**{field: sum(getattr(one, field) for one in counts) for field in Contexts.__dataclass_fields__})


def shared_out(cases: Sequence[Case], *, name: str = "of contradictions") -> Iterator[Known]:
    """The pairs, so many to an agent; no agent hears one text in two pairs, which would be one fact."""
    groups: list[tuple[set[str], list[Case]]] = []
    for case in cases:
        group = next((one for one in groups if len(one[1]) < PAIRS and not one[0] & {case.older, case.newer}), None)
        if group is None:
            groups.append(group := (set(), []))
        group[0].update((case.older, case.newer))
        group[1].append(case)
    yield from (Known(f"{name} {number}", tuple(some)) for number, (_, some) in enumerate(groups))


def asked(case: Case) -> str:
    """The question that was answered anew, or, where there is none, what was said before."""
    question, mark, _ = case.older.partition("? ")
    return f"{question}?" if mark else case.older


async def _own(work: Work, agent: str) -> set[UUID]:
    async with work.kit.database.read([agent]) as db:
        return {fact.fact_id for fact in await facts.listed(db, agent=agent, inactive=True, limit=None)}


async def _context(tools: Tools, one: Known, at: int, pairs: Sequence[tuple[FactLearned, FactLearned]], own: Collection[UUID]) -> Contexts:
    remembered = await remember(tools, one.agent, asked(one.cases[at]), frame="question")
    told = [memory.memory_id for memory in remembered.memories]
    return counted(told, retired={older.fact_id for older, _ in pairs}, current=pairs[at][1].fact_id, own=own)


def counted(told: Sequence[UUID], *, retired: Collection[UUID], current: UUID, own: Collection[UUID]) -> Contexts:
    """One context, by the ids that were told in it."""
    old = sum(one in retired for one in told)
    return Contexts(
        contexts=1,
        told=len(told),
        superseded=int(old > 0),
        superseded_facts=old,
        foreign=int(not set(told) <= set(own)),
        lacking=int(current not in told),
    )
