"""An embedder behind HTTP that goes away and comes back, as the deduplicator meets it."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

import workers
from events import Event, FactLearned
from nous import clock, embedded
from nous.errors import Misconfigured
from providers import embedder
from providers.offline import OfflineMind
from store.database import Database
from store.migrate import migrate
from tests.conftest import until
from tests.providers.conftest import EmbeddingsServer
from tests.store.conftest import a_database
from tests.system.conftest import parked, publish, rows, settled
from workers.runtime import app, streams


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    made = EmbeddingsServer()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def url(stack: embedded.Stack, server: EmbeddingsServer) -> AsyncIterator[str]:
    """A database made for this server's vectors."""
    async with a_database(stack, "template1") as made:
        await migrate(made, embedder=f"openai:{server.model}", dimension=server.dimension)
        yield made


def many(count: int) -> list[Event]:
    return [
        FactLearned(
            event_id=f"event-{number}", agent_id="agent-1", fact_id=uuid.uuid4(), content=f"Jar {number} holds tea", occurred_at=clock.now()
        )
        for number in range(count)
    ]


async def test_events_wait_while_the_embedding_server_fails_and_are_stored_with_vectors_when_it_answers(
    server: EmbeddingsServer, url: str, stack: embedded.Stack, redis: Redis
) -> None:
    async def failing(texts: list[str]) -> tuple[int, dict[str, str], object]:
        return 503, {"Retry-After": "0"}, "overloaded"

    stop = asyncio.Event()
    settings = server.settings
    async with app.kit(settings, url, embedder(settings), OfflineMind()) as kit:
        running = asyncio.create_task(app.Process([workers.table()["deduplicator"]], kit, stack.redis_url).run(stop))
        server.always(failing)
        await publish(redis, many(150))
        asked = len(server.asked)

        async def asked_again() -> bool:
            return len(server.asked) >= asked + 6

        await until(asked_again, what="the server being asked again and again")
        database = Database(url, pool=2)
        assert await rows(database, "SELECT 1 FROM heart.facts") == []
        assert (await streams.group_state(redis, "fact_learned", "deduplicator")).pending > 0
        server.always(server.healthy)
        await settled(redis, database)
        stored = await rows(database, f"SELECT count(*) AS n FROM heart.facts JOIN {kit.registered.table} USING (agent_id, fact_id)")
        assert stored[0].n == 150
        assert await parked(redis) == []
        await database.close()
        stop.set()
        await running


async def test_a_server_whose_model_gives_another_dimension_is_refused_at_start(server: EmbeddingsServer, url: str) -> None:
    server.dimension = 32
    with pytest.raises(Misconfigured, match=r"32.*48|48.*32"):
        async with app.kit(
            server.settings.model_copy(update={"embedder_dimension": 48}),
            url,
            embedder(server.settings.model_copy(update={"embedder_dimension": 48})),
            OfflineMind(),
        ):
            pass
