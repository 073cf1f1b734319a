"""The `nous` command, as a person types it, on the real stack of this run, with every worker or without."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest
import structlog
from redis.asyncio import Redis
from typer.testing import CliRunner, Result

import workers
from nous import embedded, log
from nous.cli import app, lines
from providers.embedder import Vectors
from providers.zero import ZeroEmbedder
from tests.nous.living import replaying  # noqa: F401 - a fixture
from workers.runtime.app import Process
from workers.runtime.worker import Kit


class Nous:
    """The command, as a person types it, on the stack of this test."""

    def __init__(self, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.env = env
        self.monkeypatch = monkeypatch

    async def __call__(self, *words: str, stdin: str | bytes | None = None, **env: str) -> Result:
        """Run it in a thread of its own, since it brings a loop of its own."""
        with TemporaryFile() as file, self.monkeypatch.context() as patched:
            file.write(stdin.encode() if isinstance(stdin, str) else stdin or b"")
            file.seek(0)
            patched.setattr(lines, "standard_input", file.fileno)  # typer's own stand-in for it has no descriptor
            return await asyncio.to_thread(CliRunner().invoke, app, list(words), env=self.env | env, prog_name="nous")

    async def typed(self, *words: str, said: str, **env: str) -> Result:
        """Run it and type these lines when it asks."""
        return await asyncio.to_thread(CliRunner().invoke, app, list(words), input=said, env=self.env | env, prog_name="nous")

    async def json(self, *words: str, **env: str) -> Any:
        """What it prints with `--json`, and nothing else."""
        result = await self(*words, "--json", **env)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


@pytest.fixture
def nous(stack: embedded.Stack, database_url: str, redis: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nous]:
    log.configure(log_format="json", level="error")  # to standard error, as every command does; not into what a command prints
    monkeypatch.setattr(log, "configure", lambda **_: None)  # a command's standard error is closed when it has ended
    yield Nous(
        {
            "NOUS_DATABASE_URL": database_url,
            "NOUS_REDIS_URL": stack.redis_url,
            "NOUS_EMBEDDER": "zero",
            "NOUS_HOME": str(tmp_path / "home"),
            "COLUMNS": "100",
        },
        monkeypatch,
    )
    structlog.reset_defaults()


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    """Every worker, for the test."""
    async with at_work(replace(kit, embedder=PortsAreAlike()), stack):
        yield


@asynccontextmanager
async def at_work(kit: Kit, stack: embedded.Stack, *, archives: bool = False) -> AsyncIterator[None]:
    """Every worker with this kit, for the block; `archives`, the archivist too."""
    stop = asyncio.Event()
    running = asyncio.create_task(Process(list(workers.table().values()), kit, stack.redis_url, archives=archives).run(stop))
    yield
    stop.set()
    await running


async def learned(nous: Nous, content: str, day: int, **fields: str) -> str:
    """Publish what the user claimed on this day of March 2026, wait until all is settled, and give the id it was published under."""
    stated = {"agent_id": "a", "subject": "Maria", "provenance": "user_stated", **fields}
    words = [f"{name}={value}" for name, value in stated.items()]
    sent = await nous.json("publish", "fact_learned", f"content={content}", f"occurred_at=2026-03-{day:02}T00:00Z", *words)
    assert (await nous("wait")).exit_code == 0
    return str(sent.get("fact_id") or fields["fact_id"])


async def contents(nous: Nous, *words: str) -> list[str]:
    """What the facts say that `nous facts` lists."""
    return [fact["content"] for fact in await nous.json("facts", *words)]


class PortsAreAlike(ZeroEmbedder):
    """Two texts about a port have a cosine of 1, any others next to none."""

    async def embed(self, texts: Any) -> Vectors:
        return await super().embed(["port" if "port" in text else text for text in texts])
