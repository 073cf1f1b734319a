"""`nous up` and `nous work` as whole processes: what they say, how others find them, how they stop."""

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from redis.asyncio import Redis

from nous import embedded
from tests.conftest import until
from workers.runtime import streams

NOUS = str(Path(sys.executable).with_name("nous"))
WITHIN_S = 60.0


def environment(**over: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOUS_", "ANTHROPIC_"))}
    return kept | {"NOUS_EMBEDDER": "zero", **over}


@asynccontextmanager
async def started(*words: str, env: dict[str, str], stdin: int | None = None) -> AsyncIterator[Process]:
    """The command, running for the block, and gone after it whatever happens."""
    process = await asyncio.create_subprocess_exec(NOUS, *words, env=env, stdin=stdin, stdout=PIPE, stderr=PIPE)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ran(*words: str, env: dict[str, str]) -> tuple[int | None, str, str]:
    async with started(*words, env=env) as process, asyncio.timeout(WITHIN_S):
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()


async def lines_until(process: Process, wanted: str) -> list[str]:
    """What it has printed, up to the line that begins so."""
    assert process.stdout
    lines: list[str] = []
    async with asyncio.timeout(WITHIN_S):
        while not lines or not lines[-1].startswith(wanted):
            line = await process.stdout.readline()
            assert line, f"it ended after {lines}"
            lines.append(line.decode().rstrip("\n"))
    return lines


async def stopped(process: Process, how: signal.Signals) -> tuple[int | None, str, str]:
    process.send_signal(how)
    async with asyncio.timeout(WITHIN_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_up_says_where_it_runs_is_found_by_others_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    env = environment(NOUS_HOME=str(tmp_path / "home"))
    async with started("up", env=env) as up:
        lines = await lines_until(up, "Running.")
        stack = embedded.find(tmp_path / "home")
        assert stack
        secret = urlsplit(stack.database_url).password or ""
        shown = stack.database_url.replace(f":{secret}@", "@")
        assert lines[0] == f"Redis     {stack.redis_url}"
        assert lines[1] == f"Postgres  {shown}  (the whole URL, with its password, is in {stack.home / 'stack.json'})"
        assert secret not in "".join(lines)
        assert lines[3].startswith("page      http://127.0.0.1:")
        async with httpx.AsyncClient() as client:
            assert "<h2>Workers</h2>" in (await client.get(lines[3].split()[1])).text
        assert "mind: offline (rules; set ANTHROPIC_API_KEY for Claude)" in lines
        assert any(line.startswith("deduplicator ") for line in lines)

        code, _, told = await ran("up", env=env)
        assert (code, "runs already" in told, len(told.splitlines())) == (2, True, 1)
        assert (await ran("publish", "fact_learned", "agent_id=a", "content=x", env=env))[0] == 0
        assert (await ran("wait", env=env))[0] == 0
        assert [fact["content"] for fact in json.loads((await ran("facts", "--json", env=env))[1])] == ["x"]

        code, out, err = await stopped(up, signal.SIGINT)
        assert (code, out) == (0, f"stopped; the data stays in {tmp_path / 'home'}\n")
        assert "Traceback" not in err
    assert embedded.find(tmp_path / "home") is None


@pytest.mark.parametrize(("name", "pid_file"), [("Valkey", "valkey/valkey.pid"), ("Postgres", "postgres/postmaster.pid")])
async def test_up_ends_when_a_server_of_it_dies_and_says_which(tmp_path: Path, name: str, pid_file: str) -> None:
    home = tmp_path / "a home"
    env = environment(NOUS_HOME=str(home))
    async with started("up", env=env) as up:
        await lines_until(up, "Running.")
        os.kill(int((home / pid_file).read_text().split()[0]), signal.SIGKILL)
        async with asyncio.timeout(WITHIN_S):
            out, err = await up.communicate()
        told = err.decode().splitlines()[-1]
        assert (up.returncode, "stopped" in out.decode()) == (3, False)
        assert told.startswith(f"nous: {name} (process ")
        assert f"has died, killed by signal 9; its log, {home / name.lower()}.log, ends with: " in told
        assert told.endswith(("start it again with: nous up", "/nous up"))
    assert embedded.find(home) is None
    assert "nothing runs in " in (await ran("status", env=env))[2]


async def test_a_wait_ends_when_the_stack_is_stopped_underneath(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(NOUS_HOME=str(home))
    async with AsyncExitStack() as ending:
        with embedded.running(home, durable=False) as stack:
            assert (await ran("migrate", env=env))[0] == 0
            assert (await ran("publish", "fact_learned", "agent_id=a", "content=x", env=env))[0] == 0
            wait = await ending.enter_async_context(started("wait", "--timeout", "50", env=env))
            redis = await ending.enter_async_context(Redis.from_url(stack.redis_url))

            async def is_looking() -> bool:
                return len(await redis.client_list()) > 1

            await until(is_looking, within_s=WITHIN_S, what="the command's connection")
            await asyncio.sleep(0.5)
            assert wait.returncode is None
        async with asyncio.timeout(15):
            _, err = await wait.communicate()
    assert (wait.returncode, len(err.decode().splitlines())) == (3, 1)
    assert f"the stack in {home} was stopped meanwhile; start it again with: " in err.decode()


async def test_a_server_that_is_silent_while_its_owner_lives_is_named(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(NOUS_HOME=str(home))
    with embedded.running(home, durable=False):
        pid = int((home / "valkey/valkey.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        code, out, err = await ran("status", env=env)
    assert (code, out, len(err.splitlines())) == (3, "", 1)
    assert f"the embedded Valkey is not answering: process {os.getpid()} owns the stack in {home}" in err
    assert "stop that process and start it again with: " in err


async def test_up_stops_on_sigterm_while_it_is_still_starting(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with started("up", env=environment(NOUS_HOME=str(home))) as up:

        async def has_begun() -> bool:
            return (home / "postgres").exists()

        await until(has_begun, what="the start of Postgres")
        code, _, err = await stopped(up, signal.SIGTERM)
        assert (code, "Traceback" in err) == (0, False)


async def test_ctrl_c_ends_a_publish_that_waits_for_more_lines_and_says_how_far_it_came(stack: embedded.Stack, redis: Redis) -> None:
    env = environment(NOUS_DATABASE_URL=stack.database_url, NOUS_REDIS_URL=stack.redis_url)
    async with started("publish", "fact_learned", "--file", "-", env=env, stdin=PIPE) as publish:
        assert publish.stdin
        publish.stdin.write(b'{"fact_id": "9ca4a224-2bf8-5e7e-8f1c-29f7464b0b1e", "agent_id": "a", "content": "x"}\n')

        async def is_sent() -> bool:
            return bool(await redis.xlen("fact_learned"))

        await until(is_sent, within_s=WITHIN_S, what="the first line")
        code, out, err = await stopped(publish, signal.SIGINT)
    assert (code, "1 event sent to fact_learned" in out, "stopped after 1 event" in err) == (130, True, True)
    assert "Traceback" not in err


async def test_a_standard_input_that_is_closed_is_a_mistake(stack: embedded.Stack) -> None:
    env = environment(NOUS_DATABASE_URL=stack.database_url, NOUS_REDIS_URL=stack.redis_url)
    shell = await asyncio.create_subprocess_shell(f"{NOUS} publish fact_learned --file - <&-", env=env, stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(WITHIN_S):
        out, err = await shell.communicate()
    assert (shell.returncode, out) == (2, b"")
    assert err == b"nous: standard input is closed, so there is nothing to read; pipe something in, or name a file\n"


async def test_work_says_which_mind_it_asks(stack: embedded.Stack, database_url: str, redis: Redis) -> None:
    env = environment(NOUS_DATABASE_URL=database_url, NOUS_REDIS_URL=stack.redis_url, ANTHROPIC_API_KEY="k", NOUS_MIND_MODEL="claude-x")
    async with started("work", "supersession_checker", env=env) as work:
        assert await lines_until(work, "mind:") == ["mind: claude-x"]
        assert (await stopped(work, signal.SIGTERM))[0] == 0


async def test_work_does_what_it_is_told_and_finishes_on_sigterm(stack: embedded.Stack, database_url: str, redis: Redis) -> None:
    env = environment(NOUS_DATABASE_URL=database_url, NOUS_REDIS_URL=stack.redis_url)
    body = b'{"fact_id": "9ca4a224-2bf8-5e7e-8f1c-29f7464b0b1e", "agent_id": "a", "content": "x"}'
    await streams.append(redis, [("fact_learned", "a", body)])
    async with started("work", "deduplicator", env=env) as work:

        async def is_consumed() -> bool:
            state = await streams.group_state(redis, "fact_learned", "deduplicator")
            return (state.lag, state.pending) == (0, 0)

        await until(is_consumed, within_s=WITHIN_S, what="the event")
        code, _, err = await stopped(work, signal.SIGTERM)
    assert (code, "Traceback" in err) == (0, False)
    assert "workers.stopped" in err
    assert not await redis.exists("censor_triggered")


async def test_work_says_what_to_run_when_the_database_was_never_migrated(stack: embedded.Stack, redis: Redis) -> None:
    bare = f"{stack.database_url.rpartition('/')[0]}/postgres"
    code, out, err = await ran("work", env=environment(NOUS_DATABASE_URL=bare, NOUS_REDIS_URL=stack.redis_url))
    assert (code, out) == (2, "")
    assert "run: nous migrate" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("into", "exit_code", "told"), [(">&-", 0, ""), ("> /dev/full", 3, "nous: there is no space left")])
async def test_output_that_goes_nowhere_is_no_surprise(into: str, exit_code: int, told: str) -> None:
    """Daemons close it, and disks fill."""
    shell = await asyncio.create_subprocess_shell(f"{NOUS} workers {into}", stdout=PIPE, stderr=PIPE)
    _, said = await shell.communicate()
    assert (shell.returncode, said.decode()[: len(told)]) == (exit_code, told)
    assert "Traceback" not in said.decode()


async def test_serve_says_whom_it_answers_is_asked_over_http_and_stops_on_a_signal(
    stack: embedded.Stack, database_url: str, tmp_path: Path
) -> None:
    where = {
        "NOUS_DATABASE_URL": database_url,
        "NOUS_REDIS_URL": stack.redis_url,
        "NOUS_HOME": str(tmp_path / "home"),
        "NOUS_API_PORT": "0",
    }
    env = environment(**where)
    with socket.socket() as one, socket.socket() as other:  # the next to listen there is the server
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        watched, looked_at = one.getsockname()[1], other.getsockname()[1]
    async with started("serve", env=env | {"NOUS_HTTP_PORT": str(watched), "NOUS_WEB_PORT": str(looked_at)}) as serve:
        page, first, second = await lines_until(serve, "tokens")
        assert page == f"page      http://127.0.0.1:{looked_at}"
        async with httpx.AsyncClient(base_url=page.split()[1]) as client:
            assert (await client.get("/facts")).status_code == 200
        url = first.split()[1].removesuffix("/v1")
        assert second.startswith("tokens    not needed on this machine: whoever can reach it here speaks for any agent it names")
        async with httpx.AsyncClient(base_url=url) as client:
            assert (await client.get("/ready")).status_code == 200
            found = await client.post("/v1/recall", json={"question": "Hello?"}, headers={"Nous-Agent": "a"})
            assert found.status_code == 200
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{watched}") as client:
            assert (await client.get("/ready")).status_code == 200
            assert (
                'nous_http_request_seconds_count{method="POST",route="/v1/recall",status="200"} 1.0' in (await client.get("/metrics")).text
            )
        code, _, _ = await stopped(serve, signal.SIGTERM)
        assert code == 0
    async with started("serve", env=env | {"NOUS_API_HOST": "0.0.0.0"}) as serve:
        first, second = await lines_until(serve, "tokens")
        assert second.startswith("tokens    needed for every request, and there is none yet: ")
        async with httpx.AsyncClient(base_url=first.split()[1].removesuffix("/v1").replace("0.0.0.0", "127.0.0.1")) as client:
            assert (await client.post("/v1/recall", json={"question": "Hello?"}, headers={"Nous-Agent": "a"})).status_code == 401
        assert (await stopped(serve, signal.SIGINT))[0] == 0
    code, _, err = await ran("serve", env=env | {"NOUS_API_HOST": "192.0.2.1"})
    assert (code, "NOUS_API_HOST an address of this machine" in err) == (2, True), err
