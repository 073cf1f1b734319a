"""The processes that are measured, each a real one of its own: a worker as an operator starts it, and the bare loop beside it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
from redis.exceptions import ResponseError

from events import FactLearned

from .stand import GROUP, Stand

START_S = 60.0
STOP_S = 30.0
WORK = [sys.executable, "-c", "from nous.cli import main; main()", "work"]
WORKER = [*WORK, GROUP]
BARE = [sys.executable, "-m", "tests.bench.bare"]


@asynccontextmanager
async def consuming(
    stand: Stand,
    command: Sequence[str],
    database_url: str,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    stream: str = FactLearned.stream,
    group: str = GROUP,
    **settings: object,
) -> AsyncIterator[psutil.Process]:
    """Run a process on the stream for the block; its group has begun to read when the block begins."""
    environment = os.environ | dict(environment) | {f"NOUS_{name.upper()}": str(value) for name, value in settings.items()}
    environment |= {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": stand.stack.redis_url, "NOUS_LOG_LEVEL": "warning"}
    process = subprocess.Popen(command, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL)
    try:
        async with asyncio.timeout(START_S):
            while not await _reads(stand, stream, group):
                if process.poll() is not None:
                    raise RuntimeError(f"{' '.join(command[-2:])} ended with exit code {process.returncode} instead of starting")
                await asyncio.sleep(0.02)
        yield psutil.Process(process.pid)
    finally:
        end(process)


def end(process: "subprocess.Popen[Any]") -> None:
    """Stop it as an operator does, and the hard way where that is not heeded."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def _reads(stand: Stand, stream: str, group: str) -> bool:
    try:
        return bool(await stand.redis.xinfo_consumers(stream, group))
    except ResponseError:
        return False
