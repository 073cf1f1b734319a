"""`nous status --watch`: a live screen that leaves nothing behind, blocks in a pipe, JSON lines for machines; Ctrl-C ends it."""

import asyncio
import io
import json
import os
import pty
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from redis.asyncio import Redis
from rich.console import Console

import workers
from events import encode
from nous import embedded
from nous.cli.watch import Rates, _table
from tests.conftest import until
from tests.factories import a_fact_learned
from workers.runtime.look import Look, Standing

NOUS = str(Path(sys.executable).with_name("nous"))
WITHIN_S = 60.0
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def env(database_url: str, stack: embedded.Stack, redis: Redis, tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOUS_", "ANTHROPIC_"))}
    there = {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": stack.redis_url, "NOUS_EMBEDDER": "zero"}
    return kept | there | {"NOUS_HOME": str(tmp_path), "COLUMNS": "100", "LINES": "40", "TERM": "xterm"}


@asynccontextmanager
async def watching(*words: str, env: dict[str, str], stdout: int = PIPE) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(NOUS, "status", "--watch", *words, env=env, stdout=stdout, stderr=PIPE)
    try:
        async with asyncio.timeout(WITHIN_S):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ended(process: Process) -> tuple[int | None, str]:
    """Stop it as a person does, and give its exit code and what it complained of."""
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    return process.returncode, err.decode()


async def test_json_is_an_object_a_line_that_follows_what_is_published(env: dict[str, str], redis: Redis) -> None:
    async with watching("--json", env=env) as process:
        assert process.stdout
        first = json.loads(await process.stdout.readline())
        assert first["settled"] is True
        assert [one["worker"] for one in first["workers"]][: len(workers.table())] == list(workers.table())
        await redis.xadd("fact_learned", {"data": encode(a_fact_learned())})
        lags: list[int] = []
        while 1 not in lags:
            seen = json.loads(await process.stdout.readline())
            lags.append(next(one["lag"] for one in seen["workers"] if one["worker"] == "deduplicator"))
        assert seen["settled"] is False
        assert await ended(process) == (0, "")


async def test_a_pipe_gets_a_plain_block_a_look(env: dict[str, str]) -> None:
    async with watching(env=env) as process:
        assert process.stdout
        block = await process.stdout.readuntil(b"\n\n")
        again = await process.stdout.readuntil(b"\n\n")
        heading, columns, *rows = block.decode().strip().splitlines()
        assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:]{8} UTC · It needs a person · outbox 0 · for the mind 0", heading)
        assert columns.split() == ["worker", "lag", "pending", "/s", "retrying", "parked", "oldest", "replicas"]
        assert {row.split()[0] for row in rows} >= set(workers.table())
        assert b"\x1b" not in block + again
        assert await ended(process) == (0, "")


@pytest.mark.parametrize("no_colour", [False, True])
async def test_a_terminal_gets_a_screen_of_its_own_that_is_gone_after_ctrl_c(env: dict[str, str], no_colour: bool) -> None:
    ours, theirs = pty.openpty()
    shown = bytearray()
    loop = asyncio.get_running_loop()
    loop.add_reader(ours, lambda: shown.extend(os.read(ours, 65536)))
    try:
        async with watching(env=env | ({"NO_COLOR": "1"} if no_colour else {}), stdout=theirs) as process:

            async def is_shown() -> bool:
                return b"supersession_rechecker" in shown and b"No worker is running" in shown

            await until(is_shown, within_s=WITHIN_S, what="a picture")
            assert shown.startswith(ENTER)
            assert await ended(process) == (0, "")

            async def has_left() -> bool:
                return shown.rstrip().endswith((LEAVE, LEAVE + b"\x1b[?25h", b"\x1b[?25h" + LEAVE))

            await until(has_left, what="the screen being left")
        assert (b"\x1b[33m" in shown) is not no_colour
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        os.close(theirs)


def standing(settled: int | None) -> Look:
    one = Standing("deduplicator", "fact_learned", 0, 0, 0, 0, None, None, True, settled=settled)
    return Look((one,), 0)


def test_a_rate_is_of_the_last_seconds_and_unknown_at_first_and_after_redis_lost_its_data() -> None:
    rates = Rates()
    told = [rates.of(standing(settled), at)["deduplicator"] for at, settled in enumerate([100, 200, 400, 400, 400, 400, 400, 400])]
    assert told == [None, 100, 150, 100, 75, 60, 40, 0]
    assert rates.of(standing(7), 8)["deduplicator"] is None
    assert rates.of(standing(None), 9)["deduplicator"] is None


def test_a_narrow_terminal_still_says_whose_numbers_it_shows() -> None:
    console = Console(width=40, record=True, file=io.StringIO())
    console.print(_table(replace(standing(3), archivist=standing(3).workers[0]), {"deduplicator": 1.0}))
    assert console.export_text().count("dedup") == 2
