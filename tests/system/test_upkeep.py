"""Upkeep when its replicas are killed with kill -9, and when two clocks begin it at once: everything that is due is done once, whole.

    two clocks ─▶ maintenance_due ─▶ planner ─▶ episode_aged, fact_unused ─▶ ager, janitor
                                       │                                        │
        killed: while it waits for an agent, after it committed and before it told anybody, and at any moment

What was said is then put away to the last byte, and each step is undone.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from multiprocessing.process import BaseProcess
from uuid import UUID

import asyncpg
import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

import workers
from events import Event, FactReinstated
from nous import clock, people
from nous.settings import Settings
from store import facts, upkeep_runs, usage
from store.database import Database, lock_key
from store.episodes import Episode
from store.facts import Fact, Key
from store.outbox import Letter
from store.transcripts import Transcript
from tests.conftest import until
from tests.factories import a_fact
from tests.system.conftest import Replicas, rows
from tests.workers import ageing
from tests.workers.ageing import BEGAN, DAY, spoken, thawed, told
from workers.runtime import streams
from workers.runtime.worker import Kit
from workers.upkeep import clock as upkeep_clock
from workers.upkeep import tasks

AGENTS = ("busy", "quiet", "忙しい")
EPISODES = 12
FACTS = 12
"""Of each agent."""
AGED = {"trimmed": 4 * len(AGENTS), "archived": 8 * len(AGENTS)}
NAMES = ("upkeep_planner", "episode_ager", "fact_janitor")
QUICK = {
    "janitor": "demote",
    "claim_after_s": 0.7,
    "max_attempts": 40,
    "max_deaths": 40,
    "page": 8,
}
KILLED_AT = (2, 9, 17, 26, 38, 50)
"""Effects there are when another replica is killed; of 36 episodes and as many facts."""
SEED = 20_27
WORDS = (
    "Die Fähre geht um neun. ",
    "渡し船は九時に出る。",
    "العبّارة تغادر في التاسعة. ",
    "The ferry 🦊 leaves at nine; \\ \" ' \t tabs.\r\n",
)
REDIS_HOLDS_S = 30
EFFECT = (
    "SELECT worker, agent_id, about, outcome, event_id FROM bus.receipts"
    " WHERE worker IN ('episode_ager', 'fact_janitor') AND outcome <> 'skipped'"
)


@dataclass
class Replicated:
    """Two replicas of every worker of upkeep; who is killed is started again."""

    start: Callable[[], BaseProcess]
    database_url: str
    living: list[BaseProcess] = field(default_factory=list)

    def kill(self, count: int = 1) -> None:
        """As kill -9 does."""
        for _ in range(count):
            gone = self.living.pop(0)
            gone.kill()
            gone.join()

    async def begin(self) -> None:
        """As many as there are to be."""
        while len(self.living) < 2:
            self.living.append(await asyncio.to_thread(self.start))

    @asynccontextmanager
    async def all_agents_held(self) -> AsyncIterator[None]:
        """For the block nobody writes to memory: whoever would waits, its transaction open."""
        connection = await asyncpg.connect(self.database_url)
        for agent in AGENTS:
            await connection.execute("SELECT pg_advisory_lock($1)", lock_key(agent))
        try:
            yield
        finally:
            await connection.close()


@pytest.mark.timeout(120)
async def test_upkeep_that_is_killed_and_begun_twice_does_everything_once_and_all_of_it_is_undone(
    kit: Kit, database_url: str, redis: Redis, replica: Replicas
) -> None:
    print(f"seed {SEED}")
    chance, began = random.Random(SEED), clock.now()
    kit = replace(kit, settings=Settings(janitor="demote"))
    due, before, young = await _conversations(kit, began)
    unused, kept = await _facts(kit, began)
    turns, passages = await _every(kit, "heart.turns"), await _every(kit, "heart.passages")
    versions = await _versions(kit.database)
    two = Replicated(partial(replica, *NAMES, **QUICK), database_url)
    await _begun_by_two_clocks(kit, database_url, redis)

    await _killed_after(kit, redis, two, "upkeep_planner", "maintenance_due", commits=True)
    assert await redis.xlen("episode_aged") == 0, "nobody was told"
    await _killed_after(kit, redis, two, "episode_ager", "episode_aged", commits=True)
    await _killed_after(kit, redis, two, "fact_janitor", "fact_unused", commits=False)
    for count in KILLED_AT:
        await two.begin()
        await until(partial(_effects, kit.database, count), within_s=60, what=f"{count} effects; there are, by worker and outcome")
        await asyncio.sleep(chance.uniform(0, 0.03))  # so that the moment is any
        two.kill(1 + chance.randrange(2))
        if count == KILLED_AT[1]:
            await _begun_by_hand(kit, redis)
    await two.begin()
    await until(partial(_through, kit.database, redis), within_s=60, what="nothing left to do; left is")
    two.kill(2)

    done = await rows(kit.database, EFFECT)
    assert Counter(one.outcome for one in done) == AGED | {"demoted": FACTS * len(AGENTS)}
    assert {(one.agent_id, one.about) for one in done} == {one.key for one in unused} | {(one.agent_id, one.episode_id) for one in due}
    assert {count for (count,) in await rows(kit.database, "SELECT count(*) FROM bus.receipts GROUP BY worker, event_id, agent_id")} == {1}
    assert await rows(kit.database, "SELECT 1 FROM bus.retries") == []
    await _aged_whole(kit, due, before, young)
    await _demoted_once(kit, unused, kept, versions)
    await _undone(kit, due, unused)
    assert await _every(kit, "heart.turns") == turns
    assert await _every(kit, "heart.passages") == passages
    assert await rows(kit.database, "SELECT 1 FROM heart.transcripts_cold") == []


# ── what there is ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _conversations(kit: Kit, now: datetime) -> tuple[list[Episode], dict[UUID, Transcript], list[Episode]]:
    """Those that are due, what was said in each, and those that are not due."""
    due, young = [], []
    for agent in AGENTS:
        for number in range(EPISODES):
            at = BEGAN if number % 3 else now - 40 * DAY
            said = [("user" if place % 2 else "assistant", f"{number}.{place} " + WORDS[place % 4] * 20) for place in range(8)]
            if number % 2:
                due.append(await spoken(kit, agent=agent, talk=said, started_at=at))
            else:
                due.append(await told(kit, "\n".join(f"{who}: {what}" for who, what in said), agent=agent, started_at=at))
        young.append(await spoken(kit, agent=agent, talk=said, started_at=now - 29 * DAY))
    return due, {one.episode_id: await ageing.at_hand(kit, one) for one in due}, young


async def _facts(kit: Kit, now: datetime) -> tuple[list[Fact], list[Fact]]:
    """Those that are old and were never found, and others that are let be: found, pinned, of a user, or heard of late."""
    old = {"claimed_at": BEGAN, "created_at": BEGAN}
    due = [a_fact(agent_id=agent, confidence=0.8, **old) for agent in AGENTS for _ in range(FACTS)]
    found = [a_fact(agent_id=agent, **old) for agent in AGENTS]
    others = [{**old, "pinned_at": BEGAN}, {**old, "provenance": "user_stated"}, {**old, "claimed_at": now - DAY}]
    kept = [*found, *(a_fact(agent_id=agent, **fields) for agent in AGENTS for fields in others)]
    async with kit.database.write(AGENTS) as db:
        await facts.insert(db, [*due, *kept])
        await usage.put(db, [usage.Usage(one.agent_id, "fact", one.fact_id, retrieved=1) for one in found])
    async with kit.database.switching() as owner:
        await upkeep_runs.count_from(owner, BEGAN)
    return due, kept


async def _begun_by_two_clocks(kit: Kit, url: str, redis: Redis) -> None:
    """Both look at the same moment; what they begin is published, and once more by whoever sweeps, who is not told that it was."""
    other = Database(url, pool=1)
    looked = await asyncio.gather(*(upkeep_clock.tick(one, kit.settings) for one in (kit.database, other)))
    await other.close()
    assert Counter(one.task for found in looked for one in found) == dict.fromkeys(tasks(), 1)
    assert await _publish_begun(kit, redis) == 2 * len(AGENTS)


async def _begun_by_hand(kit: Kit, redis: Redis) -> None:
    """While the first run is under way."""
    for name in ("episodes", "facts"):
        assert await upkeep_clock.begin(kit.database, kit.settings, tasks()[name], "by hand", now=clock.now(), agents=AGENTS)
    await _publish_begun(kit, redis)


async def _publish_begun(kit: Kit, redis: Redis) -> int:
    found = await rows(kit.database, "SELECT agent_id, body FROM bus.outbox WHERE stream = 'maintenance_due' AND published_at IS NULL")
    await streams.append(redis, [("maintenance_due", one.agent_id, one.body) for one in found])
    return len(found)


# ── killed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _killed_after(kit: Kit, redis: Redis, two: Replicated, worker: str, stream: str, *, commits: bool) -> None:
    """Both are killed while a transaction waits for its agent; or once it committed, and Redis took no word of it since.

    What a replica fetched stands still meanwhile, for its agent is held here.
    """
    before = await _receipts(kit.database, worker)
    async with two.all_agents_held():
        await two.begin()
        await until(partial(_is_worked, redis, stream, worker, two), within_s=30, what=f"something of {stream} that a replica works")
        if commits:
            await redis.execute_command("CLIENT", "PAUSE", REDIS_HOLDS_S * 1_000, "WRITE")
        else:
            two.kill(2)
    if commits:
        await until(partial(_more_than, kit.database, worker, before), within_s=REDIS_HOLDS_S / 2, what=f"more receipts than {before}")
        two.kill(2)
        await redis.execute_command("CLIENT", "UNPAUSE")
    assert (await streams.group_state(redis, stream, worker)).pending, "nothing of it was acknowledged"


async def _is_worked(redis: Redis, stream: str, worker: str, two: Replicated) -> bool:
    living = {str(one.pid) for one in two.living}
    with suppress(ResponseError):  # there is no such group yet
        consumers = await redis.xinfo_consumers(stream, worker)
        return any(one["pending"] and one["name"].decode().split("-")[-2] in living for one in consumers)
    return False


async def _receipts(database: Database, worker: str) -> int:
    (found,) = await rows(database, "SELECT count(*) AS n FROM bus.receipts WHERE worker = :worker", worker=worker)
    return int(found.n)


async def _more_than(database: Database, worker: str, before: int) -> bool:
    return await _receipts(database, worker) > before


@dataclass(frozen=True)
class Seen:
    """What a wait is for, and what there is instead, for whoever waits in vain."""

    is_so: bool
    there: object

    def __bool__(self) -> bool:
        return self.is_so


async def _effects(database: Database, count: int) -> Seen:
    done = Counter((one.worker, one.outcome) for one in await rows(database, EFFECT))
    return Seen(done.total() >= count, dict(done))


async def _through(database: Database, redis: Redis) -> Seen:
    """Nothing is unread or pending, waits for another attempt, or is to be published."""
    left: list[object] = []
    for stream, names in workers.consumers().items():
        for name in set(names) & set(NAMES):
            state = await streams.group_state(redis, stream, name)
            left += [(name, state)] if state.lag or state.pending else []
    waiting = "SELECT 'to be tried again' AS what, count(*) AS n FROM bus.retries UNION ALL"
    letters = await rows(database, f"{waiting} SELECT 'to be published', count(*) FROM bus.outbox WHERE published_at IS NULL")
    left += [(one.what, one.n) for one in letters if one.n]
    return Seen(not left, left)


# ── what there is to be ───────────────────────────────────────────────────────────────────────────────────────────────────


async def _aged_whole(kit: Kit, due: Sequence[Episode], before: dict[UUID, Transcript], young: Sequence[Episode]) -> None:
    for row in due:
        now, away = await ageing.get(kit, row), await ageing.cold(kit, row)
        assert now.aged == ("archived" if row.started_at == BEGAN else "trimmed")
        assert away is not None
        assert away.transcript == before[row.episode_id], "to the last byte, with who said it, when, and what it was told"
        assert await ageing.whole(kit, row) == before[row.episode_id]
        assert _unmoved(now, row) == row
    for row in young:
        assert (await ageing.get(kit, row)).aged is None
    assert len(await rows(kit.database, "SELECT 1 FROM heart.transcripts_cold")) == len(due)


def _unmoved(now: Episode, row: Episode) -> Episode:
    """As it is now, but for what upkeep and its undoing write down of themselves."""
    fields = {"aged": None, "whole_until": None, "detail": row.detail, "recorded_at": row.recorded_at, "recorded_by": row.recorded_by}
    return replace(now, **fields)


async def _demoted_once(kit: Kit, unused: Sequence[Fact], kept: Sequence[Fact], versions: dict[Key, int]) -> None:
    async with kit.database.read(AGENTS) as db:
        now = await facts.by_key(db, [one.key for one in (*unused, *kept)])
    assert {(now[one.key].demoted_to, now[one.key].confidence, now[one.key].active) for one in unused} == {(0.5, 0.8, True)}
    assert [now[one.key] for one in kept] == list(kept)
    again = await _versions(kit.database)
    assert {again[one.key] - versions[one.key] for one in unused} == {1}
    assert {again[one.key] - versions[one.key] for one in kept} == {0}


async def _versions(database: Database) -> dict[Key, int]:
    found = await rows(database, "SELECT agent_id, fact_id, count(*) AS n FROM heart.fact_versions GROUP BY 1, 2")
    return {(one.agent_id, one.fact_id): one.n for one in found}


async def _undone(kit: Kit, due: Sequence[Episode], unused: Sequence[Fact]) -> None:
    at = clock.now()
    for row in due:
        await _decide(kit, thawed(row, at=at, until=at + timedelta(days=30)))
    for fact in unused:
        fields = {"event_id": f"back-{fact.fact_id}", "agent_id": fact.agent_id, "fact_id": fact.fact_id, "reason": "it is asked for"}
        await _decide(kit, FactReinstated.model_validate({**fields, "occurred_at": at}))
    async with kit.database.read(AGENTS) as db:
        now = await facts.by_key(db, [one.key for one in unused])
    undone = {
        one.key: replace(now[one.key], reinstated_at=None, recorded_at=one.recorded_at, recorded_by=one.recorded_by) for one in unused
    }
    assert undone == {one.key: one for one in unused}
    for row in due:
        back = await ageing.get(kit, row)
        assert (back.aged, back.detail, _unmoved(back, row)) == (None, row.detail, row)


async def _decide(kit: Kit, told: Event) -> Sequence[Letter]:
    async with kit.database.write([told.agent_id]) as db:
        return (await people.decide(db, told, table=kit.registered.table)).letters


async def _every(kit: Kit, table: str) -> list[str]:
    return [row for agent in AGENTS for row in await ageing.rows(kit, table, order="to_jsonb(t)::text", agent=agent)]
