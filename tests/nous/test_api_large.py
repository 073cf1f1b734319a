"""The largest requests there may be: what takes the processor long is done in threads, and of what is long no more is read than a page."""

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from redis.asyncio import Redis

from nous import embedded
from nous.settings import Settings
from recall import asking, expanding, matching, parts, using
from store import sessions
from store.database import Database
from tests.factories import a_fact
from tests.nous.api import MINE, Api, keep, served
from workers.episodes import transcript

SETTINGS = Settings(embedder="zero", mind="offline")
LONGEST = ("Maria drinks green tea with honey on Mondays. Peter said 12 things. " * 20_000)[: 1 << 20]

WORK: tuple[tuple[ModuleType, str], ...] = (
    (asking, "_understood"),
    (matching, "matches"),
    (using, "compared"),
    (using, "not_understood"),
    (expanding, "_told"),
    (parts, "_shared"),
    (parts, "_sentences_of"),
    (transcript, "of"),
)
"""Whatever goes through all of a text that somebody sent."""


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> Any:
    async with served(SETTINGS, database_url, stack.redis_url) as one:
        yield one


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[bool]]:
    """Of each of WORK, whether it was done beside the event loop."""
    seen: dict[str, set[bool]] = {}
    loops = threading.current_thread()

    def watched(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def told(*given: Any, **named: Any) -> Any:
            seen.setdefault(name, set()).add(threading.current_thread() is not loops)
            return work(*given, **named)

        return told

    for module, name in WORK:
        monkeypatch.setattr(module, name, watched(f"{module.__name__}.{name}", getattr(module, name)))
    return seen


async def test_the_longest_turn_answer_and_record_are_worked_on_beside_everybody_else(
    api: Api, database: Database, where: dict[str, set[bool]]
) -> None:
    await keep(database, a_fact(agent_id=MINE, content="Maria drinks green tea with honey", provenance="user_stated"))
    await api.post("/v1/recall", {"question": LONGEST, "conversation": [LONGEST]})
    for turn in ("1", "2"):
        await api.post("/v1/sessions/long/turns", {"user": LONGEST, "turn": turn})
        await api.post(f"/v1/sessions/long/turns/{turn}/result", {"assistant": LONGEST})
    episode = (await api.post("/v1/sessions/long/end", {}))["episode_id"]
    await api.get(f"/v1/memories/{episode}/expand", question="What does Peter say?")
    await api.get(f"/v1/memories/{episode}/explain")
    assert where == {f"{module.__name__}.{name}": {True} for module, name in WORK}


async def test_a_record_of_many_turns_comes_in_pages_over_http_and_only_the_turns_of_the_page_are_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        await api.post("/v1/sessions/long/turns", {"user": f"Parrot {number} says {'squawk ' * 3_000}", "turn": str(number)})
        await api.post(f"/v1/sessions/long/turns/{number}/result", {"assistant": f"Answer {number}."})
    episode = (await api.post("/v1/sessions/long/end", {}))["episode_id"]
    read: list[int] = []
    at = sessions.turns_at

    async def watched(db: Any, agent: str, key: Any, positions: Any) -> Any:
        read.append(len(positions))
        return await at(db, agent, key, positions)

    monkeypatch.setattr(sessions, "turns_at", watched)
    told, from_line = [], 1
    while from_line:
        page = await api.get(f"/v1/memories/{episode}/expand", from_line=from_line, budget=5_000)
        told += page["lines"]
        from_line = page["next_line"]
    assert len(read) > 5
    assert max(read) <= 6
    said = " ".join(told)
    assert said.count("squawk") == 12 * 3_000
    assert [f"Answer {number}." in said for number in range(12)] == [True] * 12
    whole = await api.get(f"/v1/memories/{episode}/expand")
    assert (whole["next_line"], " ".join(whole["lines"])) == (None, said)
    await api.get(f"/v1/memories/{episode}/expand", 422, from_line=100_000)
