"""What recall keeps beside memories is forgotten with them: passages, their vectors, how often they were told, what a process held."""

from dataclasses import replace
from typing import Any

import pytest
from redis.asyncio import Redis

import events
from nous import embedded
from nous.settings import Settings
from store.database import Database
from tests.nous.api import MINE, Hands, served
from tests.store.conftest import run
from tests.workers.episodes import DRINKS, LIVES, OSLO, TEA, WritingMind
from workers.runtime import filling
from workers.runtime.worker import Kit

STREAMS = [*events.CATALOGUE]
CHATTER = "We spoke of the garden, the weather and the boat. " * 25
"""So long that what bears on a question is told as a part, which the process keeps."""

ASKED = "Where do I live, in Oslo?"


async def stored(database: Database, query: str, **values: Any) -> list[Any]:
    async with database.overview() as db:
        return await run(db, query, **values)


async def counts(database: Database) -> dict[str, int]:
    """How many rows there are of what recall keeps."""
    found = {}
    for name, where in (
        ("passages", "heart.passages"),
        ("their vectors", "heart.memory_vectors WHERE kind = 'passage'"),
        ("their use", "heart.memory_usage WHERE kind = 'passage'"),
        ("use of facts", "heart.memory_usage WHERE kind = 'fact'"),
        ("of Oslo", "heart.passages WHERE content LIKE '%Oslo%' OR words::text LIKE '%oslo%'"),
    ):
        (found[name],) = await stored(database, f"SELECT count(*) FROM {where}")
    return found


@pytest.fixture
def mind() -> WritingMind:
    return WritingMind(LIVES, DRINKS, summary="She spoke of herself.", title="A talk", lessons=[])


async def test_what_was_told_of_a_forgotten_fact_is_told_by_nothing_that_recall_keeps(
    database_url: str, stack: embedded.Stack, redis: Redis, database: Database, kit: Kit, mind: WritingMind
) -> None:
    hands = Hands(replace(kit, mind=mind), redis)
    async with served(Settings(embedder="zero", mind="offline"), database_url, stack.redis_url) as api:
        for at, user in enumerate((f"{OSLO} {TEA} {CHATTER}", CHATTER)):
            await api.post("/v1/sessions/chat/turns", {"user": user, "turn": str(at)})
            await api.post(f"/v1/sessions/chat/turns/{at}/result", {"assistant": f"Noted. {CHATTER}"})
        await api.post("/v1/sessions/chat/end", {})
        await hands.settle(STREAMS)
        await filling.fill(kit)
        before = await counts(database)
        assert before["of Oslo"] > 0
        assert before["passages"] == before["their vectors"] > 1

        for kinds in (["episode"], None):
            told = await api.post("/v1/recall", {"question": ASKED, "kinds": kinds, "budget": 4_000})
            assert "Oslo" in told["context"]
        turn = await api.post("/v1/sessions/later/turns", {"user": ASKED, "turn": "1"})
        await api.post("/v1/sessions/later/turns/1/result", {"assistant": "Yes.", "cited": [one["handle"] for one in turn["memories"]]})
        await hands.settle(STREAMS)
        before = await counts(database)
        assert before["their use"] > 0
        assert before["use of facts"] > 0
        assert any("Oslo" in part for _, part in api.service.recall.parts._known.values())

        (fact,) = await stored(database, "SELECT fact_id FROM heart.facts WHERE content = :said", said=LIVES["content"])
        done = await api.post(f"/v1/facts/{fact}/forget", {"reason": "she asked"})
        assert done["report"]["left"] == [], done
        after = await counts(database)
        assert (after["passages"], after["their vectors"], after["their use"], after["of Oslo"]) == (0, 0, 0, 0)
        assert after["use of facts"] < before["use of facts"]

        await hands.settle(STREAMS)
        await filling.fill(kit)
        made = await counts(database)
        assert made["passages"] == made["their vectors"] > 0
        assert made["of Oslo"] == 0
        for kinds in (["episode"], None):
            told = await api.post("/v1/recall", {"question": ASKED, "kinds": kinds, "budget": 4_000})
            assert OSLO not in told["context"]
            assert LIVES["content"] not in told["context"]
        assert not any("Oslo" in part for _, part in api.service.recall.parts._known.values())
        served_ = await stored(database, "SELECT served FROM heart.turns WHERE agent_id = :agent AND served IS NOT NULL", agent=MINE)
        assert "Oslo" not in str(served_)
