"""Closed episodes when several replicas ask a model about them, over HTTP, and are killed while they do."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from multiprocessing.process import BaseProcess

import pytest
from redis.asyncio import Redis

from events import EpisodeClosed
from nous.settings import Settings
from providers import claude
from store.database import Database
from tests.conftest import until
from tests.factories import NOON, an_id
from tests.model_server import Body, ModelServer, Sent, holding, remembering
from tests.system.conftest import Replicas, publish, rows, settled
from workers.runtime import streams

EPISODES = 30
KILLS = 8
AT_ONCE = 3
LOST_WITH_ONE = 2 * AT_ONCE  # on their way to the model, and on their way to the database
FACTS = [
    {"content": "Maria lives in Oslo.", "quote": "I live in Oslo", "confidence": 0.9, "subject": "Maria"},
    {"content": "Maria drinks tea.", "quote": "I drink tea", "confidence": 0.8},
]
FIELDS = {
    "title": "Maria tells of her life",
    "summary": "Maria lives in Oslo and drinks tea.",
    "notes": "Maria lives in Oslo.",
    "outcome": "done",
    "lessons": [],
    "decisions": [],
    "facts": FACTS,
}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(remembering(**FIELDS)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def _closings() -> list[EpisodeClosed]:
    """Thirty episodes of three agents, some so long that they are read in parts; each is closed twice, some in other words."""
    found = []
    for number in range(EPISODES):
        said = f"User: I live in Oslo. I drink tea. This is number {number}.\n" + "Assistant: I see, go on please.\n" * (
            60 * (number % 5 == 0)
        )
        fields = {"episode_id": an_id(), "agent_id": f"agent-{number % 3}", "occurred_at": NOON}
        found += [
            EpisodeClosed.model_validate(fields | {"event_id": f"{number}-first", "transcript": said}),
            EpisodeClosed.model_validate(fields | {"event_id": f"{number}-again", "transcript": said + "!" * (number % 2)}),
        ]
    return random.Random(11).sample(found, len(found))


@pytest.mark.timeout(120)
async def test_episodes_closed_twice_through_replicas_that_are_killed_have_one_summary_and_one_set_of_facts_each(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    dice = random.Random(5)
    settings = {"mind": "claude", "mind_timeout_s": 20, "page": 4, "claim_after_s": 0.7, "max_attempts": KILLS * 2, "max_deaths": KILLS * 2}
    settings |= {"summary_part_characters": 1_000, "mind_concurrency": AT_ONCE}
    living: list[BaseProcess] = []
    kills = 0

    async def answering(body: Body) -> Sent:
        """The right answer; now and then it is the last that one of the replicas may hear."""
        nonlocal kills
        if kills < KILLS and living and dice.random() < 0.3:
            kills += 1
            asyncio.get_running_loop().call_later(dice.uniform(0, 0.05), _killed, living)
        return await server.healthy(body)

    def _killed(those: list[BaseProcess]) -> None:
        if those:
            those.pop(dice.randrange(len(those))).kill()

    async def keep_alive() -> None:
        while True:
            if len(living) < 2:
                living.append(await asyncio.to_thread(replica, "episode_summarizer", **settings))
            await asyncio.sleep(0.02)

    server.always(answering)
    await publish(redis, _closings())
    keeping = asyncio.create_task(keep_alive())
    await settled(redis, database, "episode_summarizer", stream="episode_closed", within_s=90)
    keeping.cancel()
    assert kills == KILLS

    kept = await rows(database, "SELECT title, summary, written_by, settled_by FROM heart.episodes")
    assert {(one.title, one.summary, one.written_by) for one in kept} == {(FIELDS["title"], FIELDS["summary"], "mind")}
    assert len(kept) == EPISODES
    ended = await rows(database, "SELECT event_id, ending, outcome FROM bus.receipts WHERE worker = 'episode_summarizer'")
    assert Counter(one.outcome for one in ended) == {"summarized": EPISODES, "skipped": EPISODES}
    assert {one.event_id for one in ended if one.outcome == "summarized"} == {one.settled_by for one in kept}

    summarized = {fields[b"data"] for _, fields in await redis.xrange("episode_summarized")}
    learned = {fields[b"data"] for _, fields in await redis.xrange("fact_learned")}
    assert (len(summarized), len(learned)) == (EPISODES, EPISODES * len(FACTS)), "published again is the same event again"

    asked = Counter(str(request.body["messages"]) for request in server.asked)
    [counted] = await rows(database, "SELECT sum(asked)::int AS n FROM bus.writings")
    assert sum(asked.values()) <= counted.n, "written down before it was put"
    assert sum(times - 1 for times in asked.values()) <= KILLS * LOST_WITH_ONE, "asked again only where an answer died with its replica"


AT_THE_MODEL = Settings().mind_concurrency


@pytest.mark.timeout(60)
async def test_twenty_episodes_closed_at_once_are_in_work_at_once_and_the_model_is_never_without_a_question(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    """A long one keeps nobody waiting: whoever has its answer is settled, while the others are still being asked about."""
    go_on = asyncio.Event()
    server.always(holding(go_on, server.healthy))
    server.then(*[server.healthy] * 3)
    await publish(redis, [closing for closing in _closings() if closing.event_id.endswith("first")][:20])
    replica("episode_summarizer", mind="claude", claim_after_s=30)

    async def is_busy() -> bool:
        state = await streams.group_state(redis, "episode_closed", "episode_summarizer")
        return server.in_flight == AT_THE_MODEL and (state.lag, state.pending) == (0, 20 - 3)

    await until(is_busy, what="three settled, the others in work, and as many questions on their way as there may be")
    go_on.set()
    await settled(redis, database, "episode_summarizer", stream="episode_closed")
    assert server.most_in_flight == AT_THE_MODEL
