"""A page of events of one agent, by how many facts it has: `python -m tests.bench.pages [--json]`, four minutes.

    an agent of each size in SIZES ─▶ 256 facts that are new to it ─┬─▶ the deduplicator writes them, under the agent's lock
                                                                   └─▶ the checker looks for what they may merge or conflict with
                                        ─▶ once looking at every vector for each of them, once narrowed (store/narrowing.py)

The agents are among each other in one table. The mind is the offline one, which judges each pair by rule: that part does not grow.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from events import FactLearned, FactStored
from nous import log
from nous.errors import Overlong
from nous.settings import Settings
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from store import embedders, narrowing
from store.database import Database
from workers import deduplicator, supersession_checker
from workers.runtime.worker import Done, Job, Kit

from . import filled
from .sentences import sentences
from .stand import a_fact_learned, standing

SIZES = (1_000, 10_000, 50_000)
PAGE = Settings().page
NEVER = sys.maxsize


@dataclass(frozen=True)
class Page:
    """Seconds of a page, by how many facts its agent has; None where Postgres ended it for its length."""

    facts: int
    is_narrowed: bool
    written_s: float | None
    considered_s: float | None


def main(arguments: list[str]) -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages", description="A page of one agent, by how many facts it has.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="facts of each agent")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="error")
    pages = uvloop.run(_pages(options.sizes))
    if options.json:
        print(json.dumps([asdict(one) for one in pages], indent=1))
    else:
        report(pages)
    return 0


async def _pages(sizes: Sequence[int]) -> list[Page]:
    embedder = ZeroEmbedder()
    with tempfile.TemporaryDirectory(prefix="nous-pages-") as folder, Progress(console=Console(stderr=True)) as progress:
        async with standing(Path(folder) / "home") as stand:
            url, rows = await stand.database(embedder), sum(sizes) + filled.SENTENCES
            bar = progress.add_task("facts", total=rows)
            await filled.fill(url, embedder, sizes, rows, lambda some: progress.advance(bar, some))
            database = Database(url, pool=1)
            async with database.overview() as db:
                registered = await embedders.active(db)
            kit = Kit(database, embedder, registered, Settings(embedder="zero", mind="offline"), OfflineMind())
            told, often = sentences(seed=8), narrowing.MANY_ASKED
            made = []
            bar = progress.add_task("pages", total=2 * len(sizes))
            try:
                for size in sizes:
                    for narrowing.MANY_ASKED in (NEVER, often):
                        made.append(await _page(kit, [a_fact_learned(filled.agent(size), said) for said in islice(told, PAGE)], size))
                        progress.advance(bar)
            finally:
                await database.close()
            return made


async def _page(kit: Kit, events: Sequence[FactLearned], size: int) -> Page:
    """What the deduplicator takes to write these, and the checker to look at what was stored."""
    thoughts = await deduplicator.embed(events, kit)
    jobs = [Job(event, thought) for event, thought in zip(events, thoughts, strict=True)]
    stored: list[FactStored] = []

    async def write() -> None:
        async with kit.database.write({event.agent_id for event in events}) as db:
            for ending in await deduplicator.deduplicate(db, jobs, kit):
                stored.extend(one for one in (ending.publishes if isinstance(ending, Done) else ()) if isinstance(one, FactStored))

    written = await _seconds(write())
    considered = await _seconds(supersession_checker.consider(stored, kit)) if stored else None
    return Page(size, narrowing.MANY_ASKED != NEVER, written, considered)


async def _seconds(work: Awaitable[object]) -> float | None:
    started = time.perf_counter()
    try:
        await work
    except Overlong:
        return None
    return time.perf_counter() - started


def report(pages: Sequence[Page]) -> None:
    """The table."""
    made = Table("facts", "", "deduplicator", "checker", box=None, header_style="bold")
    for one in pages:
        how = "each vector once" if one.is_narrowed else "each vector for each event"
        made.add_row(
            f"{one.facts:,}", how, *(f"{s:.1f} s" if s is not None else "ended by Postgres" for s in (one.written_s, one.considered_s))
        )
    Console(width=140).print(made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
