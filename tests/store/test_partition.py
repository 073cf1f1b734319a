"""Facts in parts: changed while others write, and killed on the way, every row is there once; and all that held in one table holds."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from nous.cli import partition
from nous.embedded import Stack
from nous.errors import UserMistake
from nous.settings import Settings
from store import agents, embedders, facts, forgotten, mentions, partitions, vectors, wordless, words
from store.database import Database, lock_key
from store.migrate import migrate
from tests.conftest import a_database, until
from tests.factories import NOON, a_fact, a_mention, a_vector
from tests.store.conftest import run
from tests.store.test_isolation import tables
from tests.store.test_migrate import HEAD, _to_revision, shape
from tests.system.conftest import FORKING
from tests.system.replica import command

AGENTS = [f"agent-{number:02}" for number in range(12)]
PARTS = 4
FACTS = ("heart.facts", "heart.fact_versions", "heart.fact_mentions")


@pytest.fixture
async def database_url(stack: Stack, template: str) -> AsyncIterator[str]:
    async with a_database(stack, template) as url:
        yield url


@pytest.fixture
def set_here(database_url: str) -> Settings:
    return Settings(database_url=database_url, redis_url="redis://127.0.0.1:1")


@pytest.fixture
async def nous(database_url: str, tmp_path: Path) -> AsyncIterator[Callable[..., BaseProcess]]:
    """A command in a process of its own."""
    started: list[BaseProcess] = []
    FORKING.set_forkserver_preload(["pytest", "tests.system.loaded"])
    environment = os.environ | {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": "redis://127.0.0.1:1"}

    def start(*words: str) -> BaseProcess:
        process = FORKING.Process(target=command, args=(words, dict(environment), tmp_path / "command.log"))
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()


async def into(set_here: Settings, parts: int) -> None:
    await partition.to(set_here, parts, batch=10, is_json=True)


async def learn(database: Database, agent: str, number: int) -> None:
    """One fact with its vector and its wording, which is confirmed; every third is retired by the next."""
    async with database.write([agent]) as db:
        table = (await embedders.active(db)).table
        fact = a_fact(agent_id=agent, content=f"Jar {number} of {agent}", recorded_at=NOON + timedelta(seconds=number))
        await facts.insert(db, [fact])
        await vectors.insert(db, table, [(agent, fact.fact_id, a_vector(number))])
        await mentions.insert(db, [a_mention(fact, event_id=f"event-{number}")])
        await run(
            db,
            "UPDATE heart.facts SET confirmation_count = 1, recorded_at = recorded_at + interval '1 h' WHERE fact_id = :id",
            id=fact.fact_id,
        )


async def everything(database: Database) -> dict[str, list[Any]]:
    """Every row of the tables of facts, whole."""
    async with database.overview() as db:
        return {one.table: sorted(await run(db, f"SELECT t::text FROM {one.table} t")) for one in await partitions.standing(db)}


async def parts(database: Database) -> set[int]:
    async with database.overview() as db:
        return {one.parts for one in await partitions.standing(db)}


async def test_what_is_written_meanwhile_and_what_a_killed_change_had_copied_is_there_once(
    database: Database, database_url: str, nous: Callable[..., BaseProcess], set_here: Settings
) -> None:
    for number, agent in enumerate(AGENTS * 3):
        await learn(database, agent, number)
    busy = await asyncpg.connect(database_url)
    await busy.execute("SELECT pg_advisory_lock($1)", lock_key(AGENTS[8]))  # somebody writes there
    first = nous("partition", str(PARTS), "--batch", "3")

    async def is_copying() -> bool:
        async with database.overview() as db:
            return await partitions.underway(db) is not None and (await partitions.count(db))[0] == 8

    await until(is_copying, what="the first eight agents copied")
    for number, agent in enumerate([*AGENTS[:8], *AGENTS[9:], "born meanwhile"], start=100):
        await learn(database, agent, number)
    async with database.erase([AGENTS[1], forgotten.agent_key(AGENTS[1])]) as erasing:
        await agents.erase(erasing, AGENTS[1], by="a person", now=NOON)
    first.kill()
    await busy.close()
    before = await everything(database)
    assert await parts(database) == {1}

    second, is_over = nous("partition", str(PARTS), "--batch", "3"), asyncio.Event()

    async def write_on() -> int:
        number = 1_000
        while not is_over.is_set():
            await learn(database, AGENTS[number % 12], number)
            number += 1
        return number - 1_000

    writing = asyncio.create_task(write_on())

    async def has_ended() -> bool:
        return second.exitcode is not None

    await until(has_ended, within_s=60, what="the end of the second command")
    is_over.set()
    written = await writing
    assert second.exitcode == 0
    assert await parts(database) == {PARTS}
    after = await everything(database)
    kept = {
        table: sorted(row for row in rows if not any(f"Jar {number}" in row for number in range(1_000, 1_000 + written)))
        for table, rows in after.items()
    }
    assert {table: kept[table] for table in FACTS} == {table: before[table] for table in FACTS}
    assert {table: len(rows) - len(before[table]) for table, rows in after.items()} == {
        table: written * (2 if table == "heart.fact_versions" else 1) for table in after
    }
    assert not [row for rows in after.values() for row in rows if AGENTS[1] in row and "Jar 1 " in row]


async def test_back_to_one_table_everything_is_defined_as_it_was(database: Database, database_url: str, set_here: Settings) -> None:
    await learn(database, "agent-7", 1)
    made, before = await shape(database_url), await everything(database)
    await into(set_here, PARTS)
    in_parts = await shape(database_url)
    assert [what for what in made if what.startswith(("policy", "rights")) and what not in in_parts] == []
    await into(set_here, 2 * PARTS)
    await into(set_here, 1)
    assert await shape(database_url) == made
    assert await everything(database) == before


async def test_in_parts_one_agent_s_memory_is_as_closed_to_another_as_in_one_table(
    database: Database, database_url: str, owner: asyncpg.Connection, set_here: Settings
) -> None:
    for agent in ("a", "b"):
        await learn(database, agent, 1)
    await into(set_here, PARTS)
    forced = await tables(owner, "c.relkind = 'p' AND c.relrowsecurity AND c.relforcerowsecurity")
    ours = [one for one in forced if one.startswith("heart.")]
    assert set(FACTS) < set(ours)
    for agent in ("a", "b"):
        async with database.read([agent]) as db:
            assert {table: set(await run(db, f"SELECT agent_id FROM {table}")) for table in ours} == {table: {agent} for table in ours}
    reached = await owner.fetch(
        "SELECT c.oid::regclass::text FROM pg_class c, unnest(ARRAY['nous_worker', 'nous_operator', 'nous_eraser']) AS r(role)"
        " WHERE c.relispartition AND c.relkind = 'r' AND has_table_privilege(r.role, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')"
    )
    assert reached == []
    with pytest.raises(Exception, match="new row violates row-level security policy"):
        async with database.write(["a"]) as db:
            await facts.insert(db, [a_fact(agent_id="b")])
    with pytest.raises(Exception, match="fk_fact_mentions_fact"):
        async with database.write(["a"]) as db:
            await mentions.insert(db, [a_mention(a_fact(agent_id="a"))])


async def test_in_parts_no_text_is_twice_true_and_versions_are_kept(database: Database, set_here: Settings) -> None:
    await learn(database, "a", 1)
    await into(set_here, PARTS)
    await learn(database, "a", 2)
    async with database.overview() as db:
        assert await run(db, "SELECT count(*) FROM heart.fact_versions") == [4]
        assert await run(db, "SELECT count(DISTINCT version) FROM heart.fact_versions") == [4]
    fact = a_fact(agent_id="a")
    with pytest.raises(Exception, match="duplicate key value violates unique constraint"):
        async with database.write(["a"]) as db:
            await facts.insert(db, [fact, a_fact(agent_id="a", text_key=fact.text_key)])


async def test_migrations_go_on_and_back_on_tables_in_parts(database: Database, database_url: str, set_here: Settings) -> None:
    await learn(database, "a", 1)
    await into(set_here, PARTS)
    in_parts, before = await shape(database_url), await everything(database)
    await _to_revision(database_url, "0002")
    assert await migrate(database_url, embedder="zero", dimension=512) == HEAD[2:]
    assert await parts(database) == {PARTS}
    async with database.overview() as db:
        page = await wordless.page(db, wordless.Place("heart.facts", ("", UUID(int=0)), NOON), rows=9, most=9, size=9)
        (bare,) = await wordless.said(db, page)
    async with database.write(["a"]) as db:
        assert await wordless.put(db, page.table, {bare.key: words.kept(bare.said)}, {bare.key: bare.said}) == {bare.key}
    assert await everything(database) == before
    assert await shape(database_url) == in_parts
    await migrate(database_url, embedder="another", dimension=8)
    assert await parts(database) == {PARTS}
    await _to_revision(database_url, "base")
    assert [what for what in await shape(database_url) if "alembic_version" not in what] == []


async def test_a_migration_that_comes_between_stops_the_swap_and_what_was_begun_can_be_undone(
    database: Database, database_url: str, owner: asyncpg.Connection, set_here: Settings
) -> None:
    await learn(database, "a", 1)
    made = await shape(database_url)
    await partitions.prepare(database_url, PARTS)
    await owner.execute("ALTER TABLE heart.facts ADD COLUMN mood text")
    with pytest.raises(Exception, match="the tables were changed since this was begun"):
        await into(set_here, PARTS)
    with pytest.raises(UserMistake, match=r"a change to 4 parts was begun; go on with it: .*partition 4, or undo it first"):
        await into(set_here, 2)
    await partition.abandon(set_here, is_json=True)
    await owner.execute("ALTER TABLE heart.facts DROP COLUMN mood")
    assert await shape(database_url) == made
    await learn(database, "a", 2)
    await into(set_here, PARTS)
    assert await parts(database) == {PARTS}


async def test_what_others_built_on_the_tables_is_named_and_nothing_is_begun(
    database: Database, owner: asyncpg.Connection, set_here: Settings
) -> None:
    await owner.execute("CREATE VIEW public.mine AS SELECT agent_id FROM heart.facts")
    with pytest.raises(Exception, match="mine depends on the tables of facts and is none of ours"):
        await into(set_here, PARTS)
    async with database.overview() as db:
        assert await partitions.underway(db) is None
    await owner.execute("DROP VIEW public.mine")
