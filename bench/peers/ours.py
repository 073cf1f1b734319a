"""This system, as an operator runs it: `nous work` with every worker and the archivist, the default embedder, and Claude's API on loopback.

    rounds ─XADD─▶ fact_learned ─▶ workers ─▶ every stream passed and nothing set aside ─▶ what is active

One writer publishes to one process, two writers at once to two processes. With pages both facts of a pair mostly come to one process, and
little races; so two writers are measured again with processes that take one entry at a time (NOUS_PAGE=1), which is slow and meant to be.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from itertools import count
from uuid import UUID

import httpx
import psutil

from events import CATALOGUE, FactLearned, derived, encode
from nous import clock
from nous.settings import Settings
from providers import embedder
from store import facts, retries
from store.database import Database
from tests.bench.beside import family_cpu_s
from tests.bench.beside import measured as beside
from tests.bench.consumers import START_S, WORK, consuming
from tests.bench.stand import GROUP, LOOK_EVERY_S, Stand
from workers.runtime import streams

from .cases import Round, Saying
from .driven import Outcome, database_bytes
from .served import KEY

NAME = "this system"
ONE_AT_A_TIME = "this system, an entry at a time"
TOO_LONG_S = 1_800.0
UNLIMITED = 10**12  # tokens
WARM = 20

_numbers = count(1)


async def measured(stand: Stand, rounds: Sequence[Round], *, address: str, page: int | None = None) -> Outcome:
    """Publish every round and wait until all that follows is done. `page`: entries a process takes at once; the default when None."""
    writers = max(map(len, rounds))
    url = await stand.database(embedder(Settings()))
    database = Database(url, pool=1)
    try:
        async with AsyncExitStack() as running:
            for _ in range(writers):
                await running.enter_async_context(_working(stand, url, address, page=page or Settings().page))
            await _all_read(stand, writers)
            await _published(stand, [[Saying(f"nobody-{at}", "The lamp in the hall is green.", clock.now())] for at in range(WARM)])
            await _at_rest(stand, database)
            before = await database_bytes(url)
            httpx.get(f"{address}/tally")
            spent = family_cpu_s(psutil.Process())
            with beside() as stretch:
                await asyncio.gather(*(_published(stand, [[one[writer]] for one in rounds]) for writer in range(writers)))
                await _at_rest(stand, database)
            spent = family_cpu_s(psutil.Process()) - spent
            tally = httpx.get(f"{address}/tally").json()
        told, parked = await _told(database), await _parked(stand)
    finally:
        await database.close()
    return Outcome(
        version="of this checkout",
        seconds=stretch.seconds,
        processor_s=spent,
        others=stretch.others,
        told=told,
        stored_bytes=await database_bytes(url) - before,
        tally=tally,
        trouble=([tally["unknown"]] if tally["unknown"] else []) + parked,
        reached_for=[],
    )


def _working(stand: Stand, url: str, address: str, *, page: int) -> AbstractAsyncContextManager[object]:
    environment = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": KEY, "NO_PROXY": "127.0.0.1"}
    return consuming(
        stand,
        WORK,
        url,
        environment=environment,
        mind="claude",
        mind_tokens_per_hour=UNLIMITED,
        mind_agent_tokens_per_hour=UNLIMITED,
        page=page,
    )


async def _all_read(stand: Stand, writers: int) -> None:
    async with asyncio.timeout(START_S):
        while len(await stand.redis.xinfo_consumers(FactLearned.stream, GROUP)) < writers:
            await asyncio.sleep(LOOK_EVERY_S)


async def _published(stand: Stand, said: Sequence[Sequence[Saying]]) -> None:
    """One after another, as a writer does."""
    for one in said:
        await streams.append(stand.redis, [(event.stream, event.agent_id, encode(event)) for event in map(_event, one)])


def _event(saying: Saying) -> FactLearned:
    fact = f"{saying.agent} {next(_numbers)}"
    return FactLearned(
        event_id=derived("peers", fact),
        fact_id=UUID(derived("peers", "fact", fact)),
        agent_id=saying.agent,
        content=saying.text,
        subject=saying.subject,
        provenance="user_stated",
        occurred_at=saying.at,
    )


async def _at_rest(stand: Stand, database: Database) -> None:
    """Until every group has passed every stream and nothing is set aside, twice in a row: what one publishes another may not have read."""
    clean = 0
    async with asyncio.timeout(TOO_LONG_S):
        while clean < 2:
            keys = (await streams.positions(stand.redis, list(CATALOGUE))).values()
            is_passed = all(not at.lag and not at.pending for key in keys for at in key.groups.values())
            clean = clean + 1 if is_passed and not await _set_aside(database) else 0
            await asyncio.sleep(LOOK_EVERY_S)


async def _set_aside(database: Database) -> bool:
    async with database.overview() as db:
        return bool(await retries.waiting(db))


async def _told(database: Database) -> dict[str, list[str]]:
    told: dict[str, list[str]] = defaultdict(list)
    async with database.overview() as db:
        for fact in await facts.listed(db, agent=None, inactive=False, limit=None):
            told[fact.agent_id].append(fact.content)
    return told


async def _parked(stand: Stand) -> list[str]:
    keys = [key async for key in stand.redis.scan_iter("*.parked")]
    return [f"{key.decode()} has entries" for key in keys if await stand.redis.xlen(key)]
