"""A run of upkeep over a large store, how long it takes and who waits for it: `python -m tests.bench.upkeep [--json]`.

    a million facts, a hundred thousand episodes; one in `--due` is due ─▶ the clock, then planner, janitor and ager, `--replicas` of them
    recalls of one agent, one after another ────────────────────────────▶ before, and while that runs

Whether all is done is asked of Redis, which knows how far each worker is, and of the outbox; of all rows only once they say so, since
counting those meanwhile slows what is timed. The episodes have 3,000 characters each and a summary; the embedder costs nothing, for upkeep
embeds nothing but what it keeps at hand.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import asyncpg
import uvloop
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from nous import clock, ids, log
from nous.settings import Settings
from providers.offline import OfflineMind
from providers.zero import ZeroEmbedder
from recall.remembering import Tools, remember
from store import episodes
from store.database import Database
from store.episodes import Episode
from workers.runtime import streams
from workers.upkeep import tasks
from workers.upkeep.clock import tick

from . import filled
from .consumers import WORK, consuming
from .sentences import sentences
from .stand import Stand, standing

FACTS, EPISODES, DUE = 1_000_000, 100_000, 20
ALL_FACTS, ALL_EPISODES = 100_000, 10_000  # where all is due: a twentieth of the rows is as much to do
ASKED = 1_000  # facts of the agent that asks
BEFORE_S = 20.0
AT_LEAST_A_SECOND = 20  # memories; fewer, and something stands still
LOOK_EVERY_S = 0.5
CHARACTERS = 3_000
SETTINGS = Settings(embedder="zero", mind="offline", janitor="demote", upkeep_clock=False)
WORKERS = {"upkeep_planner": "maintenance_due", "fact_janitor": "fact_unused", "episode_ager": "episode_aged"}
"""Each worker with its stream."""


@dataclass(frozen=True)
class Ran:
    """Rows, how many of them were due, seconds of each step, and what a recall took before and meanwhile, in milliseconds."""

    replicas: int
    facts: int
    episodes: int
    due_facts: int
    due_episodes: int
    looking_s: dict[str, float]
    begun_s: float
    worked_s: float
    before: dict[str, float]
    meanwhile: dict[str, float]


def main(arguments: list[str]) -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.upkeep", description="A run of upkeep over a large store.")
    parser.add_argument("--due", type=_one_in, default=DUE, help=f"one memory in so many is due, or `all` ({DUE})")
    parser.add_argument("--facts", type=int, help=f"how many there are ({FACTS:,}; {ALL_FACTS:,} where all are due)")
    parser.add_argument("--episodes", type=int, help=f"how many there are ({EPISODES:,}; {ALL_EPISODES:,} where all are due)")
    parser.add_argument("--replicas", type=int, default=1, help="processes that work it (1)")
    parser.add_argument("--json", action="store_true", help="print figures for a machine")
    options = parser.parse_args(arguments)
    log.configure(log_format="auto", level="error")
    facts, talks = (ALL_FACTS, ALL_EPISODES) if options.due == 1 else (FACTS, EPISODES)
    ran = uvloop.run(_ran(options.facts or facts, options.episodes or talks, one_in=options.due, replicas=options.replicas))
    if options.json:
        print(json.dumps(asdict(ran), indent=1))
    else:
        report(ran)
    return 0


def _one_in(said: str) -> int:
    return 1 if said == "all" else int(said)


async def _ran(rows: int, talks: int, *, one_in: int, replicas: int) -> Ran:
    with tempfile.TemporaryDirectory(prefix="nous-upkeep-") as folder, Progress(console=Console(stderr=True)) as progress:
        async with standing(Path(folder) / "home") as stand:
            url = await stand.database(ZeroEmbedder())
            bar = progress.add_task("facts", total=rows)
            await filled.fill(url, ZeroEmbedder(), [ASKED], rows, lambda some: progress.advance(bar, some))
            bar = progress.add_task("episodes and ages", total=None)
            await _aged(url, talks, one_in)
            progress.update(bar, total=1, completed=1)
            database = Database(url, pool=2)
            try:
                return await _measured(stand, url, database, rows, talks, replicas=replicas)
            finally:
                await database.close()


async def _measured(stand: Stand, url: str, database: Database, rows: int, talks: int, *, replicas: int) -> Ran:
    looking = {}
    for task in tasks().values():
        started = time.perf_counter()
        async with database.overview() as db:
            await task.agents(db, clock.now(), SETTINGS)
        looking[task.name] = time.perf_counter() - started
    asking = _Asking(Tools(database, ZeroEmbedder(), SETTINGS, OfflineMind()))
    before = await asking.until(asyncio.Event(), within_s=BEFORE_S)
    facts, old = await _left(url)
    command = [*WORK, *WORKERS]
    settings = {"embedder": "zero", "mind": "offline", "janitor": "demote", "upkeep_clock": "false"}
    async with AsyncExitStack() as running:
        for number in range(1, replicas + 1):
            await running.enter_async_context(consuming(stand, command, url, stream="maintenance_due", group="upkeep_planner", **settings))
            await _are_reading(stand, number)
        started = time.perf_counter()
        await tick(database, SETTINGS)
        begun = time.perf_counter() - started
        done, at_most_s = asyncio.Event(), 60 + (facts + old) / AT_LEAST_A_SECOND
        waits = asyncio.create_task(asking.until(done, within_s=at_most_s))
        async with asyncio.timeout(at_most_s):
            while not await _is_settled(stand, url) or any(await _left(url)):
                await asyncio.sleep(LOOK_EVERY_S)
        worked = time.perf_counter() - started
        done.set()
        return Ran(replicas, rows, talks, facts, old, looking, begun, worked, before, await waits)


async def _are_reading(stand: Stand, processes: int) -> None:
    """Wait until so many processes read the stream of the planner."""
    while len(await stand.redis.xinfo_consumers("maintenance_due", "upkeep_planner")) < processes:
        await asyncio.sleep(LOOK_EVERY_S)


async def _is_settled(stand: Stand, url: str) -> bool:
    """Whether every worker is through with its stream, nothing waits to be published, and nothing to be tried again."""
    states = [await streams.group_state(stand.redis, stream, worker) for worker, stream in WORKERS.items()]
    if any(state.lag or state.pending for state in states):
        return False
    async with _owner(url) as connection:
        waits = "EXISTS (SELECT FROM bus.outbox WHERE published_at IS NULL) OR EXISTS (SELECT FROM bus.retries)"
        return not await connection.fetchval(f"SELECT {waits}")


class _Asking:
    """One agent that asks, one question after another."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self.questions: Iterator[str] = sentences(seed=6)

    async def until(self, done: asyncio.Event, *, within_s: float) -> dict[str, float]:
        """Ask until `done` or so long; quantiles in milliseconds."""
        waits, began = [], time.perf_counter()
        while not done.is_set() and time.perf_counter() < began + within_s:
            (question,) = islice(self.questions, 1)
            started = time.perf_counter()
            await remember(self.tools, filled.agent(ASKED), question, otherwise="question")
            waits.append(1e3 * (time.perf_counter() - started))
        cuts = statistics.quantiles(waits, n=100)
        return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "asked": len(waits)}


# ── the store ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _aged(url: str, talks: int, one_in: int) -> None:
    """One fact in so many is an assistant's and old; as many episodes began long ago, half of those so long that nothing stays at hand."""
    database, now = Database(url, pool=1), clock.now()
    row = Episode(
        agent_id=filled.TEMPLATE,
        episode_id=ids.new(),
        trigger="transcript",
        started_at=now,
        created_at=now,
        recorded_at=now,
        recorded_by="bench",
        title="What was said that day",
        summary="They spoke about their plans for the week, settled two of them, and left one open for the next time.",
        written_by="extract",
        detail="\n".join(f"user: {one}" for one in islice(sentences(seed=9), CHARACTERS // 60))[:CHARACTERS],
        ended_at=now,
        brief="They spoke about their plans for the week.",
        settled_by="bench",
    )
    async with database.write([filled.TEMPLATE]) as db:
        await episodes.put(db, row)
    await database.close()
    async with _owner(url) as connection:
        await connection.execute("UPDATE bus.since SET at = now() - interval '400 days'")
    async with _everybody(url) as connection:
        await connection.execute(
            "UPDATE heart.facts SET provenance = 'assistant_derived', claimed_at = now() - interval '100 days',"
            f" created_at = now() - interval '100 days' WHERE abs(hashtext(fact_id::text)) % {one_in} = 0"
        )
        found = await connection.fetch(
            "SELECT attname AS name FROM pg_attribute WHERE attrelid = 'heart.episodes'::regclass AND attnum > 0"
            " AND NOT attisdropped AND attgenerated = '' AND attidentity = ''"
        )
        names = [one["name"] for one in found]
        began = f"now() - CASE WHEN n % {one_in} = 0 THEN CASE WHEN n % {2 * one_in} = 0 THEN 40 ELSE 100 END ELSE 5 END * interval '1 day'"
        own = {"agent_id": "a.agent", "episode_id": "gen_random_uuid()", "started_at": began, "settled_by": "gen_random_uuid()::text"}
        values = ", ".join(own.get(name, f"e.{name}") for name in names)
        await connection.execute(
            "WITH a AS (SELECT agent, row_number() OVER () - 1 AS place, count(*) OVER () AS agents FROM"
            "  (SELECT DISTINCT agent_id AS agent FROM heart.facts) q)"
            f" INSERT INTO heart.episodes ({', '.join(names)}) SELECT {values} FROM generate_series(1, {talks}) n"
            " JOIN a ON a.place = n % a.agents JOIN heart.episodes e ON e.agent_id = $1 AND e.episode_id = $2",
            filled.TEMPLATE,
            row.episode_id,
        )
    async with _owner(url) as connection:
        for table in ("heart.facts", "heart.episodes"):
            await connection.execute(f"VACUUM ANALYZE {table}")


async def _left(url: str) -> tuple[int, int]:
    """Facts and episodes that are due and not done."""
    async with _everybody(url, role="nous_operator") as connection:
        facts = await connection.fetchval(
            "SELECT count(*) FROM heart.facts WHERE active AND demoted_at IS NULL AND provenance = 'assistant_derived'"
            " AND claimed_at < now() - interval '90 days'"
        )
        old = await connection.fetchval(
            "SELECT count(*) FROM heart.episodes WHERE aged IS NULL AND active AND started_at < now() - interval '30 days'"
        )
        return int(facts), int(old)


@asynccontextmanager
async def _owner(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _everybody(url: str, *, role: str = "nous_worker") -> AsyncIterator[asyncpg.Connection]:
    """Admitted to every agent's memory."""
    async with _owner(url) as connection, connection.transaction():
        await connection.execute("SET LOCAL ROLE nous_operator")
        agents = [one["agent_id"] for one in await connection.fetch("SELECT DISTINCT agent_id FROM heart.facts")]
        await connection.execute(f"SET LOCAL ROLE {role}")
        await connection.execute("SELECT set_config('nous.agents', $1::text[]::text, true)", agents)
        yield connection


def report(ran: Ran) -> None:
    """The table."""
    made = Table("", "", box=None, show_header=False)
    due = ran.due_facts + ran.due_episodes
    made.add_row("processes", str(ran.replicas))
    made.add_row("facts, episodes", f"{ran.facts:,}, {ran.episodes:,}")
    made.add_row("of them due", f"{ran.due_facts:,}, {ran.due_episodes:,}")
    for task, seconds in ran.looking_s.items():
        made.add_row(f"who has {task} due", f"{seconds:.2f} s")
    made.add_row("the clock", f"{ran.begun_s:.2f} s")
    made.add_row("until all is done", f"{ran.worked_s:.0f} s, {due / ran.worked_s:.0f} a second")
    for name, some in (("before", ran.before), ("meanwhile", ran.meanwhile)):
        made.add_row(
            f"a recall {name}", f"p50 {some['p50']:.0f} ms, p95 {some['p95']:.0f} ms, p99 {some['p99']:.0f} ms ({some['asked']:,.0f} asked)"
        )
    Console(width=140).print(made)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
