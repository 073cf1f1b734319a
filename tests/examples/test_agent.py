"""The example agent as a process, on the real anthropic client and the real service, against a model server that says what it is told."""

import json
import os
import sys
from asyncio import create_subprocess_exec, timeout
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

import events
from nous import embedded
from nous.settings import Settings
from store import censors, facts, sessions, usage
from store.database import Database
from tests.conftest import repository
from tests.factories import a_censor, a_fact
from tests.model_server import ModelServer, failing, saying
from tests.nous.api import MINE, Api, Hands, served, token
from workers.runtime.worker import Kit

WITHIN_S = 60
STREAMS = [*events.CATALOGUE]


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(Settings(embedder="zero", mind="offline"), database_url, stack.redis_url, is_open=True) as one:
        yield one


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        server.always(saying("You take your coffee black in the morning."))
        yield server


async def chatted(url: str, model: ModelServer, *said: str, session: str = "chat", **env: str) -> str:
    """What the agent prints when somebody says this to it, and goes."""
    ended, out, err = await ran(url, model, *said, session=session, **env)
    assert (ended, err) == (0, "")
    return out


async def ran(url: str, model: ModelServer, *said: str, session: str = "chat", **env: str) -> tuple[int | None, str, str]:
    """How the agent ends when somebody says this to it, and goes, and what it prints."""
    words = ["examples/agent.py", "--url", url, "--agent", MINE, "--session", session]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC_", "MEMORY_"))}
    process = await create_subprocess_exec(
        sys.executable, *words, cwd=repository(), env=environment | model.environment | env, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        async with timeout(WITHIN_S):
            out, err = await process.communicate("".join(f"{line}\n" for line in said).encode())
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, out.decode(), err.decode()


async def test_what_bears_on_a_turn_is_in_its_prompt_and_what_the_answer_used_is_counted(
    api: Api, model: ModelServer, kit: Kit, redis: Redis, database: Database
) -> None:
    fact = a_fact(agent_id=MINE, content="Mara takes her coffee black in the morning", provenance="user_stated")
    async with database.write([MINE]) as db:
        await facts.insert(db, [fact])
    printed = await chatted(
        api.url, model, "How do I take my coffee in the morning? I am Mara.", "And which database shall we take?", MEMORY_TOKEN=""
    )
    assert printed.count("claude: You take your coffee black in the morning.") == 2
    assert f"(remembered: {fact.fact_id})" in printed
    first, second = (one.body for one in model.asked)
    assert first["system"] == second["system"]
    asked = first["messages"][-1]["content"]
    assert "<recalled_memory>" in asked
    assert fact.content in asked
    assert asked.endswith("How do I take my coffee in the morning? I am Mara.")
    assert [one["content"] for one in second["messages"][:2]] == [
        "How do I take my coffee in the morning? I am Mara.",
        "You take your coffee black in the morning.",
    ]
    await Hands(kit, redis).settle(STREAMS)
    async with database.read([MINE]) as db:
        used = (await usage.of(db, MINE, [("fact", fact.fact_id)]))["fact", fact.fact_id]
    assert used.referenced >= 1
    closed = [json.loads(fields[b"data"]) for _, fields in await redis.xrange("episode_closed")]
    assert [one["outcome"] for one in closed] == ["success"]


async def test_what_one_chat_said_is_remembered_in_the_next(
    api: Api, model: ModelServer, kit: Kit, redis: Redis, database: Database
) -> None:
    held = {"MEMORY_TOKEN": await token(database, MINE)}
    hands = Hands(kit, redis)
    await chatted(api.url, model, "My sister Ada lives in Bergen.", "She has a boat there.", session="one", **held)
    await hands.settle(STREAMS)
    await chatted(api.url, model, "Where does my sister Ada live?", session="two", **held)
    assert "Ada lives in Bergen" in model.asked[-1].body["messages"][-1]["content"]


async def test_a_turn_that_a_censor_stops_is_not_asked_of_the_model(api: Api, model: ModelServer, database: Database) -> None:
    async with database.write([MINE]) as db:
        await censors.insert(db, a_censor(agent_id=MINE, trigger_pattern="rm -rf", severity="block", reason="it deleted a home once"))
    printed = await chatted(api.url, model, "Please run rm -rf here.")
    assert "I will not do that. A censor of mine stops it: 'rm -rf': it deleted a home once" in printed
    assert model.asked == []


async def test_with_memory_away_the_chat_goes_on_and_says_so(api: Api, model: ModelServer) -> None:
    printed = await chatted(api.url, model, "Hello, how do I take my coffee?", MEMORY_TOKEN="nous_not-good")
    assert "(without memory: Who speaks? (401): the token is not known, was revoked or has expired" in printed
    assert "claude: You take your coffee black in the morning." in printed


async def test_without_a_key_it_says_so_in_a_sentence_and_begins_nothing(api: Api, model: ModelServer, database: Database) -> None:
    ended, out, err = await ran(api.url, model, "Hello!", ANTHROPIC_API_KEY="")
    assert (ended, out, len(err.splitlines())) == (2, "", 1)
    assert "ANTHROPIC_API_KEY is not set" in err
    async with database.read([MINE]) as db:
        assert await sessions.latest(db, MINE, "chat") is None


async def test_a_model_that_does_not_answer_costs_a_sentence_and_the_session_is_ended(
    api: Api, model: ModelServer, database: Database
) -> None:
    model.always(failing(401))
    printed = await chatted(api.url, model, "Which database shall we take?", "Hello?")
    assert printed.count("(Claude does not answer: ") == 1
    assert "Traceback" not in printed
    async with database.read([MINE]) as db:
        kept = await sessions.latest(db, MINE, "chat")
    assert kept is not None
    assert kept.ended_at is not None
