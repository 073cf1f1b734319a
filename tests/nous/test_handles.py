"""Wherever the id of a memory is taken it may be written as recall tells it: over HTTP, from Python, on the command line, on the page."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from redis.asyncio import Redis

from events.client import Client
from nous import embedded
from nous.settings import Settings
from store import decisions
from store.database import Database
from tests.factories import a_decision, a_fact
from tests.nous.api import MINE, OTHER, Api, keep, one_of_everything, served, token
from tests.nous.conftest import Nous

ONE = UUID("5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10")
ALIKE = UUID("5b0f0d3e-0000-4b52-9d0a-2f6f1f2f3a10")
WRITTEN = ("f-5b0f0d3e", "[f-5b0f0d3e]", "F-5B0F0D3E", "5b0f0d3e", "5b0f0d", "5b0f0d3e-7a0e", str(ONE), f"[{ONE}]")


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(Settings(embedder="zero", mind="offline"), database_url, stack.redis_url) as one:
        yield one


@pytest.mark.parametrize("written", WRITTEN)
async def test_a_memory_is_reached_over_http_by_whatever_recall_calls_it(api: Api, database: Database, written: str) -> None:
    await keep(database, a_fact(agent_id=MINE, fact_id=ONE, content="Maria drinks green tea"))
    for below in ("", "/expand", "/explain"):
        assert (await api.get(f"/v1/memories/{written}{below}"))["id"] == str(ONE)
    assert "it is true now" in (await api.post(f"/v1/facts/{written}/restore", {"reason": "x"}, 409))["detail"]
    would = await api.post(f"/v1/facts/{written}/forget", {"reason": "she asked", "dry_run": True})
    assert would["fact_ids"] == [str(ONE)]


async def test_every_kind_is_reached_by_its_handle_and_by_nobody_elses(api: Api, database: Database) -> None:
    for letter, one in (await one_of_everything(database, MINE, "green tea")).items():
        handle = f"{letter}-{one.hex}"
        for written in (handle, one.hex):
            assert (await api.get(f"/v1/memories/{written}"))["id"] == str(one)
            foreign = await api.other.get(f"/v1/memories/{written}")
            assert (foreign.status_code, foreign.json()["detail"]) == (404, "there is no memory of that id")
        if letter != "f":
            await api.post(f"/v1/facts/{handle}/forget", {"reason": "x", "dry_run": True}, 404)


async def test_what_several_memories_have_is_refused_and_names_them(api: Api, database: Database) -> None:
    await keep(database, a_fact(agent_id=MINE, fact_id=ONE), a_fact(agent_id=MINE, fact_id=ALIKE, content="another"))
    for path in ("/v1/memories/f-5b0f0d3e", "/v1/memories/5b0f0d3e"):
        told = (await api.get(path, 409))["detail"]
        assert str(ONE) in told
        assert str(ALIKE) in told
    await keep(database, a_fact(agent_id=OTHER, fact_id=ONE))
    foreign = (await api.other.get("/v1/memories/f-5b0f0d3e")).json()
    assert foreign["id"] == str(ONE)


async def test_what_is_no_id_is_told_how_ids_are_written(api: Api) -> None:
    for path in ("/v1/memories/zz", "/v1/memories/abc/explain"):
        assert "such as f-5b0f0d3e" in (await api.get(path, 422))["detail"]
    assert "such as f-5b0f0d3e" in (await api.post("/v1/facts/zz/restore", {"reason": "x"}, 422))["detail"]
    await api.get("/v1/memories/f-5b0f0d3e", 404)


async def test_the_python_client_takes_the_handle_that_a_turn_was_told(api: Api, database: Database) -> None:
    await keep(database, a_fact(agent_id=MINE, fact_id=ONE, content="Maria drinks green tea", provenance="user_stated"))
    async with Client(api.url, token=await token(database, MINE)) as memory:
        (told,) = (await memory.recall("What does Maria drink?")).memories
        assert "green tea" in (await memory.expand(told.handle)).text
        assert (await memory.memory(f"[{told.handle}]")).id == ONE
        assert (await memory.explain(told.handle)).id == ONE


@pytest.mark.parametrize("written", WRITTEN)
async def test_the_command_line_explains_what_recall_told(nous: Nous, database: Database, written: str) -> None:
    await keep(database, a_fact(agent_id=MINE, fact_id=ONE, content="Maria drinks green tea"))
    for words in (("explain", written), ("explain", "fact", written, "--agent", MINE)):
        assert (await nous.json(*words))["fact"]["content"] == "Maria drinks green tea"
    assert "is true now" in (await nous("fact", "restore", written, "--because", "x")).output


async def test_the_command_line_takes_the_handle_of_every_kind(nous: Nous, database: Database) -> None:
    made = await one_of_everything(database, MINE, "green tea")
    for letter, one in made.items():
        explained = await nous("explain", f"[{letter}-{one.hex}]")
        assert explained.exit_code == 0, explained.output
    assert (await nous("episode", "show", f"e-{made['e'].hex}")).exit_code == 0
    wrong = await nous("episode", "show", f"f-{made['f'].hex}")
    assert wrong.exit_code == 2
    assert "is the id of a fact, not of an episode" in " ".join(wrong.output.split())


async def test_a_handle_of_one_kind_is_never_taken_for_another(nous: Nous, database: Database) -> None:
    await keep(database, a_fact(agent_id=MINE, fact_id=ONE))
    async with database.write([MINE]) as db:
        await decisions.put(db, [a_decision(agent_id=MINE, decision_id=ONE)])
    assert "decision" in await nous.json("explain", "d-5b0f0d3e")
    assert "fact" in await nous.json("explain", "f-5b0f0d3e")
    both = await nous("explain", "5b0f0d3e")
    assert both.exit_code == 2
    assert "say which is meant" in " ".join(both.output.split())
