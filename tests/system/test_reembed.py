"""The embedder is changed under load: a command and a replica die on the way, and no fact is lost, without a vector, or with two."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from redis.asyncio import Redis

from events import Event, FactLearned
from nous import clock, embedded
from store import embedders, reembedding
from store.database import Database
from tests.conftest import until
from tests.providers.conftest import EmbeddingsServer, Reply
from tests.system.conftest import FORKING, Replicas, parked, publish, rows, settled
from tests.system.replica import command

AGENTS = 12
WAVE = 240
HELD_AFTER = 120  # texts that the new embedder gives vectors for before it falls silent
PAGE = 16


class SlowServer(EmbeddingsServer):
    """Falls silent after so many texts until it is let go; to it, 15 April is April 15th."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0
        self.is_silent = asyncio.Event()
        self.let_go = asyncio.Event()
        self.always(self.slow)

    async def slow(self, texts: list[str]) -> Reply:
        self.given += len(texts)
        if self.given > HELD_AFTER and not self.let_go.is_set():
            self.is_silent.set()
            await self.let_go.wait()
        return await self.healthy([text.replace("15 April", "April 15th") for text in texts])

    @property
    def environment(self) -> dict[str, str]:
        """The settings of commands and replicas that use it."""
        names = ("embedder_url", "embedder_model", "embedder_dimension", "confirm_similarity", "check_similarity", "episode_similarity")
        return {"NOUS_EMBEDDER_TIMEOUT_S": "10"} | {f"NOUS_{name.upper()}": str(getattr(self.settings, name)) for name in names}


@pytest.fixture
async def server() -> AsyncIterator[SlowServer]:
    made = SlowServer()
    await made.start()
    yield made
    made.let_go.set()
    await made.stop()


@pytest.fixture
async def reembed(
    replica: Replicas, database_url: str, stack: embedded.Stack, server: SlowServer, tmp_path: Path
) -> AsyncIterator[Callable[[], BaseProcess]]:
    """`nous reembed --to openai` in a process of its own."""
    started: list[BaseProcess] = []
    environment = os.environ | server.environment | {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": stack.redis_url}
    words = ("reembed", "--to", "openai", "--batch", "50")

    def start() -> BaseProcess:
        process = FORKING.Process(target=command, args=(words, dict(environment), tmp_path / "command.log"))
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()


async def ended(process: BaseProcess) -> int:
    """Its exit code, when it has one."""

    async def has_ended() -> bool:
        return process.exitcode is not None

    await until(has_ended, within_s=60, what="the end of a process")
    return process.exitcode or 0


def learned(number: int, content: str) -> Event:
    return FactLearned(
        event_id=f"event-{number}", agent_id=f"agent-{number % AGENTS}", fact_id=uuid.uuid4(), content=content, occurred_at=clock.now()
    )


def wave(first: int) -> list[Event]:
    return [learned(number, f"Jar {number} was filled on April 15th") for number in range(first, first + WAVE)]


async def test_facts_learned_while_the_embedder_is_changed_have_one_vector_of_the_new_one_each(
    replica: Replicas, reembed: Callable[[], BaseProcess], server: SlowServer, database: Database, redis: Redis
) -> None:
    old = [replica("deduplicator", page=PAGE), replica("deduplicator", page=PAGE)]
    await publish(redis, wave(0))
    await settled(redis, database)

    first = reembed()
    async with asyncio.timeout(30):
        await server.is_silent.wait()
    await publish(redis, wave(WAVE))
    old[0].kill()
    first.kill()
    await ended(first)
    async with database.overview() as db:
        assert (await embedders.active(db)).name == "zero"
        begun = next(one for one in await embedders.known(db) if one.name != "zero")
        assert await embedders.size(db, begun) >= HELD_AFTER - 50

    server.let_go.set()
    second = reembed()
    for start in range(2 * WAVE, 4 * WAVE, WAVE):
        await publish(redis, wave(start))
    assert await ended(second) == 0
    await publish(redis, wave(4 * WAVE))
    assert await ended(old[1]) == 1, "the replica with the old embedder stops by itself"
    new = {name.removeprefix("NOUS_").lower(): value for name, value in server.environment.items()} | {
        "embedder": "openai",
        "page": PAGE,
        "claim_after_s": 1,
    }
    for _ in range(2):
        replica("deduplicator", **new)
    await publish(redis, [learned(5 * WAVE + number, f"Jar {number} was filled on 15 April") for number in range(0, AGENTS * 20, 5)])
    await settled(redis, database)

    total = 5 * WAVE + len(range(0, AGENTS * 20, 5))
    async with database.overview() as db:
        active = await embedders.active(db)
        assert active == begun
        assert await reembedding.missing(db, active, limit=9) == []
        assert await reembedding.askew(db, active) == []
    [(facts, vectors)] = await rows(
        database, f"SELECT (SELECT count(*) FROM heart.facts), (SELECT count(*) FROM {active.table} WHERE current)"
    )
    assert facts == vectors
    [(receipts, mentions)] = await rows(
        database,
        "SELECT (SELECT count(*) FROM bus.receipts WHERE worker = 'deduplicator'), (SELECT count(*) FROM heart.fact_mentions)",
    )
    assert receipts == mentions == total
    assert await parked(redis) == []
    judged = await rows(
        database,
        "SELECT r.outcome, evidence ->> 'embedder' AS embedder FROM bus.receipts r JOIN heart.fact_mentions m USING (agent_id, event_id)"
        " WHERE m.content LIKE '%15 April'",
    )
    assert {tuple(one) for one in judged} == {("confirmed", active.name)}
