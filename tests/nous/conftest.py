"""The `nous` command, as a person types it, on the real stack of this run, with every worker or without."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
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
    stop = asyncio.Event()
    running = asyncio.create_task(
        Process(list(workers.table().values()), replace(kit, embedder=PortsAreAlike()), stack.redis_url).run(stop)
    )
    yield
    stop.set()
    await running


class PortsAreAlike(ZeroEmbedder):
    """Two texts about a port have a cosine of 1, any others next to none."""

    async def embed(self, texts: Any) -> Vectors:
        return await super().embed(["port" if "port" in text else text for text in texts])
