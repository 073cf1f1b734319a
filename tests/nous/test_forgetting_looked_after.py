"""What was forgotten is nowhere any more once its memory was looked after: judged, fitted to, audited, tried on, and put away.

told twice ─▶ merged ─▶ judged by a person ─▶ thresholds fitted to it ─▶ audited, with its trend ─▶ a trial over its conversation
           ─▶ the conversation aged, and put away compressed ─▶ forgotten ─▶ no table, no key of Redis and no packed text has a word of it
"""

import json
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

from nous import embedded
from nous.embedded import kept, postgres
from providers import claude
from tests.model_server import ModelServer, remembering
from tests.nous.conftest import Nous, PortsAreAlike, at_work, contents, learned
from tests.workers.episodes import AGENT, WritingMind, a_fact
from workers.runtime.worker import Kit

QUOTE = "The safe behind the Vermeer opens with 7-31-54."
FACT = "Behind the Vermeer is the safe that opens with 7-31-54."
ANOTHER = "The safe that is behind the Vermeer is opened by 7-31-54."
TRACES = ("vermeer", "7-31-54")
FILLING = "\n".join(f"User: And number {number} is green tea, of which she knows a lot.\nAssistant: Yes, tea." for number in range(60))
TALK = f"User: Hello, it is about tea.\nAssistant: Good.\nUser: {QUOTE}\nAssistant: Noted.\n{FILLING}"
EPISODE = "11111111-1111-1111-1111-111111111111"
PACKED = "SELECT packed FROM heart.transcripts_cold"


@pytest.fixture
def mind() -> WritingMind:
    made = WritingMind(a_fact(FACT, QUOTE), a_fact("She knows a lot of green tea.", "of which she knows a lot"))
    made.fields |= {"title": "Of the Vermeer", "summary": f"They spoke of tea at length, and she said: {QUOTE}", "lessons": [QUOTE]}
    made.says(FACT, "same", ANOTHER)
    return made


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    fields = {"title": "Tea", "summary": QUOTE, "notes": QUOTE, "outcome": "done", "lessons": [], "decisions": []}
    async with ModelServer(remembering(**fields, facts=[a_fact(FACT, QUOTE)])) as server:
        yield server


async def test_no_word_is_left_of_what_was_judged_fitted_to_audited_tried_on_and_put_away(
    nous: Nous, kit: Kit, stack: embedded.Stack, database_url: str, redis: Redis, mind: WritingMind, server: ModelServer, tmp_path: Path
) -> None:
    async with at_work(replace(kit, embedder=PortsAreAlike(), mind=mind), stack):
        fields = {"episode_id": EPISODE, "agent_id": AGENT, "transcript": TALK, "started_at": "2020-03-01T09:00Z"}
        sent = await nous("publish", "episode_closed", *(f"{name}={value}" for name, value in fields.items()))
        assert sent.exit_code == 0, sent.output
        assert (await nous("wait")).exit_code == 0
        await learned(nous, ANOTHER, 3, agent_id=AGENT)
        assert FACT in await contents(nous)
        await _looked_after(nous, server, tmp_path)
        owner = await asyncpg.connect(_as_superuser(stack, database_url))
        assert [one for one in TRACES if one in await _packed(owner)] == list(TRACES), "it is put away"
        assert [one for one in TRACES if one in await _stored(owner)] == list(TRACES)
        mind.fields |= {"title": "Of tea", "summary": "They spoke of tea, of which she knows a lot, and of nothing else.", "lessons": []}

        (fact,) = [one["fact_id"] for one in await nous.json("facts") if one["content"] == FACT]
        done = await nous("fact", "forget", fact, "--because", "she asked for it", "--yes", "--json")
        assert done.exit_code == 0, done.output
        assert (json.loads(done.stdout)["is_whole"], json.loads(done.stdout)["same_words"]) == (True, [])
        assert (await nous("wait")).exit_code == 0

        for where, words in (("tables", await _stored(owner)), ("put away", await _packed(owner)), ("Redis", await _in_redis(redis))):
            assert [one for one in TRACES if one in words] == [], where
        assert await owner.fetchval("SELECT count(*) FROM heart.merge_verdicts") == 0
        assert "green tea" in await _packed(owner), "and the rest of the conversation is there"
        await owner.close()
        assert await nous.json("audit", "merges") == []
        history = await nous.json("audit", "--history")
        assert len(history) == 1


async def _looked_after(nous: Nous, server: ModelServer, folder: Path) -> None:
    (merge,) = await nous.json("audit", "merges")
    assert {merge["part"], merge["whole"]} == {FACT, ANOTHER}
    assert "kept: 1 said to be one fact" in (await nous.typed("audit", "merges", said="y\n")).stdout
    pairs = await nous.json("calibrate", "--thresholds", "--apply", "--only", "subject_similarity")
    assert pairs["pairs"]["judged merge"] == 1
    assert (await nous("audit", "--json")).exit_code in (0, 1)
    talks = folder / "talks.jsonl"
    talks.write_text(json.dumps({"transcript": TALK, "gold": [FACT], "agent_id": AGENT}))
    tried = await nous("trial", str(talks), "--json", **server.environment, NOUS_MIND="claude")
    assert json.loads(tried.stdout)["transcripts"] == 1, tried.output
    assert (await nous("upkeep", "run", "--agent", AGENT, "--task", "episodes")).exit_code == 0
    assert (await nous("wait")).exit_code == 0


# ── everywhere ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _as_superuser(stack: embedded.Stack, url: str) -> str:
    secret = kept.read(stack.home / "secrets.json")[postgres.SUPERUSER]
    return url.replace(url.split("//")[1].split("@")[0], f"{postgres.SUPERUSER}:{secret}")


async def _stored(owner: asyncpg.Connection) -> str:
    """Every row of every table of every schema, in small letters; bodies of events as the text they are."""
    await owner.execute("SET bytea_output = 'escape'")
    tables = await owner.fetch(
        "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
    )
    rows = [row[0] for table in tables for row in await owner.fetch(f"SELECT CAST(t AS text) FROM {table['name']} t")]
    return "\n".join(row for row in rows if row).lower()


async def _packed(owner: asyncpg.Connection) -> str:
    return "\n".join([zlib.decompress(row["packed"]).decode() for row in await owner.fetch(PACKED)]).lower()


async def _in_redis(redis: Redis) -> str:
    read: dict[bytes, Any] = {b"stream": redis.xrange, b"string": redis.get, b"hash": redis.hgetall, b"set": redis.smembers}
    found = []
    async for key in redis.scan_iter():
        kind = await redis.type(key)
        found.append((key, await read[kind](key) if kind in read else await redis.dump(key)))
    return repr(found).lower()
