"""What a mind is asked for on a real stream: questions and tokens for 1,000 facts, and for the same facts heard a second time.

observations of each conversation ──▶ fact_learned ──▶ the deduplicator and both checkers as they run ──▶ a mind that counts,
                                                                                                 and finds everything compatible

Brought twice: all at once, as after an import, and session by session, as an agent would. Tokens are estimated as a quarter of the
characters of the prompts; what is answered is not counted.
"""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from events import FactLearned, derived
from nous.errors import Misconfigured
from providers import Embedder

from . import worked
from .locomo_stream import conversations, observations
from .minds import CompatibleMind, Counted
from .vectors import BUNDLED, bundled
from .worked import Work

Brought = Literal["all at once", "session by session"]
BROUGHT: tuple[Brought, ...] = get_args(Brought)
CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One embedder and one way to bring the facts."""

    embedder: str
    brought: Brought
    facts: int
    pairs: int
    questions: int
    tokens: int
    second_questions: int

    @property
    def questions_per_1000(self) -> float:
        """Questions for 1,000 facts."""
        return 1000 * self.questions / self.facts

    @property
    def tokens_per_1000(self) -> float:
        """Tokens read for 1,000 facts."""
        return 1000 * self.tokens / self.facts


def measure(data: Path) -> list[Figures] | None:
    """All at once with both bundled embedders, session by session with the default one; None where there are no LoCoMo conversations."""
    observed = [event for conversation in conversations(data) for event in observations(conversation)]
    if not observed:
        return None
    measured = []
    for name in BUNDLED:
        with suppress(Misconfigured):  # its extra is not installed
            measured += [asyncio.run(_measured(bundled(name), observed, brought)) for brought in BROUGHT[: 2 if name == BUNDLED[0] else 1]]
    return measured


async def _measured(chosen: Embedder, observed: Sequence[FactLearned], brought: Brought) -> Figures:
    mind = Counted(CompatibleMind())
    waves = [list(observed)] if brought == "all at once" else _sessions(observed)
    async with worked.store(chosen, (event.content for event in observed)) as store, store.working(mind) as work:
        await _through(work, waves)
        first = (mind.pairs, mind.questions, mind.characters)
        await work.through([_again(event) for event in observed])
    return Figures(
        embedder=chosen.name,
        brought=brought,
        facts=len(observed),
        pairs=first[0],
        questions=first[1],
        tokens=first[2] // CHARACTERS_A_TOKEN,
        second_questions=mind.questions - first[1],
    )


def _sessions(observed: Sequence[FactLearned]) -> list[list[FactLearned]]:
    """The first session of every agent, then the second, and so on: agents are asked about apart, so that they may go side by side."""
    by_agent: dict[str, dict[datetime, list[FactLearned]]] = {}
    for event in observed:
        by_agent.setdefault(event.agent_id, {}).setdefault(event.occurred_at, []).append(event)
    in_order = [[sessions[at] for at in sorted(sessions)] for sessions in by_agent.values()]
    return [[event for some in wave for event in some] for wave in itertools.zip_longest(*in_order, fillvalue=[])]


async def _through(work: Work, waves: Sequence[Sequence[FactLearned]]) -> None:
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        for wave in bar.track(waves, description="bringing facts"):
            await work.through(wave)


def _again(event: FactLearned) -> FactLearned:
    return event.model_copy(update={"event_id": derived("again", event.event_id), "fact_id": UUID(derived("again", str(event.fact_id)))})


def report(measured: Sequence[Figures], console: Console, *, curves: bool) -> None:
    """The table."""
    table = Table(title="what a mind is asked about LoCoMo observations", title_justify="left")
    for heading in ("embedder", "brought"):
        table.add_column(heading)
    for heading in ("facts", "pairs", "questions", "per 1,000 facts", "tokens read per 1,000 facts", "questions the second time"):
        table.add_column(heading, justify="right")
    for row in measured:
        rates = (f"{row.questions_per_1000:.0f}", f"{row.tokens_per_1000:,.0f}", str(row.second_questions))
        table.add_row(row.embedder, row.brought, f"{row.facts:,}", f"{row.pairs:,}", f"{row.questions:,}", *rates)
    console.print(table)


def as_json(measured: Sequence[Figures]) -> list[dict[str, Any]]:
    """The same for a machine."""
    rates = [{"questions_per_1000": row.questions_per_1000, "tokens_per_1000": row.tokens_per_1000} for row in measured]
    return [{**asdict(row), **rate} for row, rate in zip(measured, rates, strict=True)]
