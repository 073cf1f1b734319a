"""What a worker process says of itself over HTTP, asked over real HTTP, while Postgres and Redis come and go."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from redis.asyncio import Redis
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import workers
from events import encode
from nous import embedded
from nous.errors import Misconfigured
from store.database import Database
from tests.conftest import until
from tests.factories import a_fact_learned
from tests.system.proxy import Cable
from workers.runtime import health, turns
from workers.runtime.app import Process
from workers.runtime.health import Health
from workers.runtime.serve import application, serving
from workers.runtime.worker import Kit


@dataclass
class Served:
    """A process with a deduplicator, its cables, and a client of what it serves."""

    client: httpx.AsyncClient
    health: Health
    process: Process
    postgres: Cable
    redis: Cable
    stop: asyncio.Event

    async def ready(self) -> tuple[int, dict[str, str]]:
        answer = await self.client.get("/ready")
        return answer.status_code, answer.json()["checks"]

    async def is_ready(self) -> bool:
        return (await self.ready())[0] == 200


@pytest.fixture
async def served(kit: Kit, stack: embedded.Stack, database_url: str, redis: Redis) -> AsyncIterator[Served]:
    postgres, valkey = Cable(database_url), Cable(stack.redis_url)
    await postgres.mend()
    await valkey.mend()
    through = Database(postgres.url, pool=3)
    stop, told = asyncio.Event(), Health()
    process = Process([workers.table()["deduplicator"]], replace(kit, database=through), valkey.url)
    async with serving(application(told.routes()), host="127.0.0.1", port=0) as url, httpx.AsyncClient(base_url=url) as client:
        told.watch(process)
        running = asyncio.create_task(process.run(stop))
        yield Served(client, told, process, postgres, valkey, stop)
        stop.set()
        await running
    await through.close()
    await postgres.cut()
    await valkey.cut()


async def test_a_process_that_works_is_healthy_and_ready_and_says_what_runs_in_it(served: Served) -> None:
    answer = await served.client.get("/health")
    assert (answer.status_code, answer.json()["healthy"], answer.json()["workers"]) == (200, True, ["deduplicator"])
    assert await served.ready() == (200, {"process": "ok", "embedder": "ok", "postgres": "ok", "redis": "ok"})


async def test_a_scrape_tells_what_this_process_did_and_how_far_all_are(served: Served, redis: Redis) -> None:
    await redis.xadd("fact_learned", {"data": encode(a_fact_learned())})

    async def scraped() -> str:
        text = (await served.client.get("/metrics")).text
        return text if 'nous_outcomes_total{outcome="stored",worker="deduplicator"}' in text else ""

    text = await until(scraped, what="the outcome in a scrape")
    assert 'nous_stream_lag{stream="fact_learned",worker="deduplicator"}' in text
    assert 'nous_pool_connections{state="idle"}' in text
    assert "# TYPE nous_publication_to_receipt_seconds histogram" in text


async def test_ready_is_refused_while_redis_is_away_and_says_so_and_the_process_stays_healthy(served: Served) -> None:
    await until(served.is_ready, what="ready")
    await served.redis.cut()
    status, checks = await served.ready()
    assert (status, checks["postgres"]) == (503, "ok")
    assert checks["redis"] != "ok"
    assert (await served.client.get("/health")).status_code == 200
    assert (await served.client.get("/metrics")).status_code == 200
    await served.redis.mend()
    await until(served.is_ready, what="ready again")


async def test_ready_is_refused_while_postgres_is_away_and_says_so(served: Served) -> None:
    await until(served.is_ready, what="ready")
    await served.postgres.cut()
    status, checks = await served.ready()
    assert (status, checks["redis"]) == (503, "ok")
    assert "Postgres is not answering" in checks["postgres"]
    await served.postgres.mend()
    await until(served.is_ready, what="ready again")


async def test_ready_is_refused_on_a_database_that_lacks_migrations_and_given_on_one_that_is_ahead(
    served: Served, database_url: str
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE bus.alembic_version SET version_num = '0001'")
    status, checks = await served.ready()
    assert (status, "revision 0001" in checks["postgres"], "nous migrate" in checks["postgres"]) == (503, True, True)
    await connection.execute("UPDATE bus.alembic_version SET version_num = '9999'")
    assert await served.is_ready()
    await connection.close()


async def test_a_process_that_starts_or_stops_is_not_ready_and_lives(served: Served) -> None:
    starting = Health()
    async with (
        serving(application(starting.routes()), host="127.0.0.1", port=0) as url,
        httpx.AsyncClient(base_url=url) as client,
    ):
        answer = await client.get("/ready")
        assert (answer.status_code, "it starts" in answer.json()["checks"]["process"]) == (503, True)
        assert (await client.get("/health")).status_code == 200
    served.stop.set()
    await served.process.must_stop.wait()
    assert await served.ready() == (503, {"process": "it stops"})


async def test_a_loop_that_is_long_stuck_or_failing_makes_the_process_unhealthy_unless_something_outside_is_away(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await until(served.is_ready, what="ready")
    monkeypatch.setattr(turns, "STUCK_AFTER_S", -1.0)
    answer = await served.client.get("/health")
    assert answer.status_code == 503
    assert any(problem.startswith("deduplicator.retry has been stuck for") for problem in answer.json()["problems"])
    await served.redis.cut()
    assert (await served.client.get("/health")).status_code == 200, "it waits for what is away, and a restart would not help"
    await served.redis.mend()
    monkeypatch.undo()
    await until(served.is_ready, what="ready again")
    served.process.turns[0].failed("ValueError: nobody expected this")
    assert (await served.client.get("/health")).status_code == 200, "once is not long"
    monkeypatch.setattr(turns, "FAILING_AFTER_S", -1.0)
    problems: list[str] = (await served.client.get("/health")).json()["problems"]
    assert [problem for problem in problems if "nobody expected this" in problem]


async def test_a_loop_that_fails_counts_from_its_first_failure_until_it_succeeds() -> None:
    turn = turns.Turn("sweep")
    turn.failed("one")
    first = turn.failing_since
    turn.failed("two")
    assert (turn.failing_since, turn.why) == (first, "two")
    turn.went_well()
    assert turn.failing_since is None


async def test_a_server_that_does_not_answer_in_time_is_said_to_be_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_LIMIT_S", 0.01)
    assert await health._checked(asyncio.sleep(60)) == "no answer within 0 s"


async def test_a_port_that_is_taken_is_a_mistake_that_names_the_setting(served: Served) -> None:
    port = served.client.base_url.port
    assert port
    with pytest.raises(Misconfigured, match=rf"port {port}: another process listens there.*NOUS_HTTP_PORT"):
        async with serving(application([]), host="127.0.0.1", port=port):
            pass


@pytest.mark.usefixtures("redis")
async def test_a_worker_process_serves_on_the_port_that_is_set_and_still_ends_on_sigterm(
    stack: embedded.Stack, database_url: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NOUS_", "ANTHROPIC_", "OTEL_"))}
    env |= {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": stack.redis_url, "NOUS_EMBEDDER": "zero", "NOUS_HOME": str(tmp_path)}
    nous = str(Path(sys.executable).with_name("nous"))
    process = await asyncio.create_subprocess_exec(nous, "work", "deduplicator", env=env | {"NOUS_HTTP_PORT": str(port)})
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:

        async def is_ready() -> bool:
            try:
                return (await client.get("/ready")).status_code == 200
            except httpx.TransportError:
                return False

        await until(is_ready, within_s=60, what="a ready process")
        assert (await client.get("/health")).json()["pid"] == process.pid
    process.terminate()
    async with asyncio.timeout(30):
        assert await process.wait() == 0


async def test_the_server_ends_with_its_block_and_leaves_the_port_and_the_signals_alone() -> None:
    before = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}

    async def hello(_: Any) -> PlainTextResponse:
        return PlainTextResponse("hello")

    async with serving(application([Route("/", hello)]), host="127.0.0.1", port=0) as url, httpx.AsyncClient(base_url=url) as client:
        assert (await client.get("/")).text == "hello"
        assert {which: signal.getsignal(which) for which in before} == before
        port = client.base_url.port
    with socket.create_server(("127.0.0.1", port or 0)):
        pass
