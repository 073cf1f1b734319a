"""The embedded stack with real servers: what it keeps, who may have it, and what is left when its owner is killed."""

import asyncio
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
import redis

from nous import embedded
from nous.embedded import Stack, programs, server
from nous.errors import Misconfigured, Outage, UserMistake

ROOT = Path(__file__).parents[2]
IS_ROOT = os.geteuid() == 0

OWNER = """
import sys
from pathlib import Path
from nous import embedded

with embedded.running(Path(sys.argv[1]), durable=False) as stack:
    print(stack.database_url, stack.redis_url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One running stack for the tests that only look at it."""
    with embedded.running(tmp_path_factory.mktemp("nous") / "home", durable=False) as stack:
        yield stack


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was used and is at rest, to be copied."""
    home = tmp_path_factory.mktemp("nous") / "home"
    with embedded.running(home, durable=False) as stack:
        remember(stack, "first")
    return home


@pytest.fixture
def at_rest(made: Path, tmp_path: Path) -> Path:
    """A home of one's own, at rest, that remembers "first"; its files are ours, as after restoring a backup."""
    return Path(shutil.copytree(made, tmp_path / "home"))


@pytest.fixture
async def database(stack: Stack) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(stack.database_url)
    yield connection
    await connection.close()


def remember(stack: Stack, what: str) -> None:
    """Store a word in both servers."""
    asked(stack, "CREATE TABLE IF NOT EXISTS remembered (what text)")
    asked(stack, "INSERT INTO remembered VALUES ($1)", what)
    with redis.Redis.from_url(stack.redis_url) as client:
        client.xadd("remembered", {"what": what})


def remembered(stack: Stack) -> tuple[list[str], list[str]]:
    """The words stored in Postgres, and those in Valkey."""
    with redis.Redis.from_url(stack.redis_url, decode_responses=True) as client:
        entries = [fields["what"] for _, fields in client.xrange("remembered")]
    return [row["what"] for row in asked(stack, "SELECT what FROM remembered")], entries


def asked(stack: Stack, query: str, *values: str) -> list[asyncpg.Record]:
    async def ask() -> list[asyncpg.Record]:
        connection = await asyncpg.connect(stack.database_url)
        try:
            rows: list[asyncpg.Record] = await connection.fetch(query, *values)
            return rows
        finally:
            await connection.close()

    return asyncio.run(ask())


def servers_of(home: Path) -> list[int]:
    """The pids of all server processes of a home."""
    return [pid for pid, _, title in server.processes() if server.mark_of(home) in title]


def owner_of(home: Path) -> subprocess.Popen[str]:
    """A process that owns the stack of `home`, once it runs."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, home], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline()
    return owner


def kill(owner: subprocess.Popen[str]) -> None:
    with owner:
        owner.kill()


# --- what is kept


def test_what_was_stored_is_there_after_a_restart_at_the_same_address(at_rest: Path) -> None:
    with embedded.running(at_rest) as before:
        remember(before, "second")
    with embedded.running(at_rest) as after:
        assert remembered(after) == (["first", "second"], ["first", "second"])
        assert (after.database_url, after.redis_url) == (before.database_url, before.redis_url)


def test_a_taken_port_is_left_alone(at_rest: Path) -> None:
    ports = [at_rest / "postgres.port", at_rest / "valkey.port"]
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        taken = [one.getsockname()[1], two.getsockname()[1]]
        for port, number in zip(ports, taken, strict=True):
            port.write_text(str(number))
        with embedded.running(at_rest, durable=False) as stack:
            assert remembered(stack) == (["first"], ["first"])
            assert {urlsplit(stack.database_url).port, urlsplit(stack.redis_url).port}.isdisjoint(taken)


def test_a_port_taken_in_the_last_moment_costs_another_try(at_rest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = server._ports
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(server, "_ports", lambda server: chain([taken.getsockname()[1]], tried(server)))
        with embedded.running(at_rest, durable=False) as stack:
            assert remembered(stack) == (["first"], ["first"])


def test_making_that_was_interrupted_is_begun_again(tmp_path: Path) -> None:
    half = tmp_path / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    with embedded.running(tmp_path, durable=False) as stack:
        assert asked(stack, "SELECT 1")
    assert not half.exists()


@pytest.mark.parametrize("name", ["a home with spaces", "long " + "x" * 200, "日本"])
def test_any_relative_path_will_do(name: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with embedded.running(Path(name), durable=False) as stack:
        assert stack.home == tmp_path / name
        assert remembered(stack) == (["first"], ["first"])


# --- who owns it


def test_a_running_stack_is_found_and_a_stopped_one_is_not(at_rest: Path) -> None:
    assert embedded.find(at_rest) is None
    with embedded.running(at_rest, durable=False) as stack:
        assert embedded.find(at_rest) == stack
    assert embedded.find(at_rest) is None
    assert embedded.find(at_rest / "absent") is None


def test_a_stack_owned_by_another_process_is_found(at_rest: Path) -> None:
    owner = owner_of(at_rest)
    found = embedded.find(at_rest)
    assert found is not None
    assert found.owner_pid == owner.pid
    assert remembered(found) == (["first"], ["first"])
    owner.communicate()
    assert owner.returncode == 0
    assert embedded.find(at_rest) is None


def test_a_home_has_one_owner(stack: Stack) -> None:
    with pytest.raises(UserMistake, match=f"owned by process {os.getpid()}"), embedded.running(stack.home):
        pass
    assert embedded.find(stack.home) == stack


def test_of_two_starts_at_once_one_wins(at_rest: Path) -> None:
    both_start, both_know = threading.Barrier(2, timeout=60), threading.Barrier(2, timeout=60)
    outcomes: list[str] = []

    def start() -> None:
        both_start.wait()
        try:
            with embedded.running(at_rest, durable=False) as stack:
                outcomes.append(f"won {remembered(stack)}")
                both_know.wait()
        except UserMistake:
            outcomes.append("refused")
            both_know.wait()

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "won (['first'], ['first'])"]


async def test_it_starts_where_an_event_loop_runs(at_rest: Path) -> None:
    with embedded.running(at_rest, durable=False) as stack:
        connection = await asyncpg.connect(stack.database_url)
        assert await connection.fetchval("SELECT what FROM remembered") == "first"
        await connection.close()


def test_the_thread_that_starts_it_may_end_before_it(at_rest: Path) -> None:
    context = embedded.running(at_rest, durable=False)
    stacks: list[Stack] = []
    thread = threading.Thread(target=lambda: stacks.append(context.__enter__()))
    thread.start()
    thread.join()
    try:
        assert remembered(stacks[0]) == (["first"], ["first"])
    finally:
        context.__exit__(None, None, None)


# --- when the owner is killed


def test_a_killed_owner_takes_its_servers_with_it_and_nothing_is_lost(at_rest: Path) -> None:
    owner = owner_of(at_rest)
    found = embedded.find(at_rest)
    assert found is not None
    remember(found, "second")
    kill(owner)
    with embedded.running(at_rest, durable=False) as stack:
        assert remembered(stack) == (["first", "second"], ["first", "second"])
    assert servers_of(at_rest) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere servers live on until the next start")
def test_a_killed_owner_leaves_no_server_even_if_nobody_starts_again(at_rest: Path) -> None:
    owner = owner_of(at_rest)
    assert len(servers_of(at_rest)) > 1
    kill(owner)
    assert server.until(lambda: not servers_of(at_rest), seconds=10)
    assert embedded.find(at_rest) is None


def test_servers_that_outlive_their_owner_are_stopped_before_the_next_start(at_rest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STOP_SECONDS", 0.3)
    owner = owner_of(at_rest)
    deaf = [int((at_rest / "postgres/postmaster.pid").read_text().split()[0]), int((at_rest / "valkey/valkey.pid").read_text())]
    for pid in deaf:
        os.kill(pid, signal.SIGSTOP)
    kill(owner)
    assert set(deaf) <= set(servers_of(at_rest))
    with embedded.running(at_rest, durable=False) as stack:
        assert remembered(stack) == (["first"], ["first"])
        assert set(deaf).isdisjoint(servers_of(at_rest))
    assert servers_of(at_rest) == []


def test_a_pid_that_is_somebody_elses_by_now_is_left_alone(at_rest: Path) -> None:
    (at_rest / "postgres/postmaster.pid").write_text(f"{os.getpid()}\n")
    (at_rest / "valkey/valkey.pid").write_text(f"{os.getpid()}\n")
    with embedded.running(at_rest, durable=False) as stack:
        assert remembered(stack) == (["first"], ["first"])


# --- when a server dies


def test_the_owner_hears_of_a_server_that_dies_and_of_none_that_is_stopped(at_rest: Path) -> None:
    deaths: list[str] = []
    with embedded.running(at_rest, durable=False, on_death=deaths.append):
        time.sleep(2 * server.WATCH_SECONDS)
    assert deaths == []
    with embedded.running(at_rest, durable=False, on_death=deaths.append):
        os.kill(int((at_rest / "valkey/valkey.pid").read_text()), signal.SIGKILL)
        assert server.until(lambda: bool(deaths), seconds=2)
        with pytest.raises(Outage, match=f"the embedded Valkey is not answering: process {os.getpid()} owns"):
            embedded.find(at_rest)
    (death,) = deaths
    assert death.startswith("Valkey (process ")
    assert f"killed by signal 9; its log, {at_rest / 'valkey.log'}, ends with: " in death
    assert servers_of(at_rest) == []


def test_a_pid_in_an_old_notice_that_is_somebody_elses_by_now_owns_nothing(at_rest: Path) -> None:
    url = "redis://127.0.0.1:1"
    (at_rest / "stack.json").write_text(json.dumps({"database_url": url, "redis_url": url, "owner_pid": str(os.getpid())}))
    assert embedded.find(at_rest) is None


# --- what is closed to others


def test_no_folder_above_the_home_is_opened(tmp_path: Path, made: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    above = {folder: folder.stat() for folder in (private, *private.parents)}
    with embedded.running(private / "home", durable=False) as stack:
        assert stack.home.stat().st_mode & 0o777 == 0o700
        assert stack.home.stat().st_uid == os.geteuid()
        assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in servers_of(stack.home) if sys.platform == "linux")
    for folder, before in above.items():
        after = folder.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_secrets_and_logs_are_closed_to_others(stack: Stack) -> None:
    for name in ("stack.json", "secrets.json", "lock", "postgres.log", "valkey.log"):
        assert (stack.home / name).stat().st_mode & 0o777 == 0o600
    for name in ("postgres", "valkey"):
        assert (stack.home / name).stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_servers_see_nothing_of_our_environment(at_rest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key that is nobody else's business")
    with embedded.running(at_rest, durable=False):
        environments = [Path(f"/proc/{pid}/environ").read_bytes() for pid in servers_of(at_rest)]
    assert len(environments) > 1
    assert not any(b"ANTHROPIC" in environment for environment in environments)


async def test_a_wrong_password_opens_nothing(stack: Stack) -> None:
    port = urlsplit(stack.database_url).port
    for user in ("nous", "postgres"):
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(host="127.0.0.1", port=port, user=user, password="guessed", database="nous")


def test_only_this_machine_can_connect(stack: Stack) -> None:
    for url in (stack.database_url, stack.redis_url):
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", urlsplit(url).port or 0), timeout=2)


# --- what the application may do


async def test_the_application_is_no_superuser_and_bypasses_no_row_security(database: asyncpg.Connection) -> None:
    role = await database.fetchrow(
        "SELECT rolsuper, rolbypassrls, rolreplication, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = user"
    )
    assert dict(role) == {"rolsuper": False, "rolbypassrls": False, "rolreplication": False, "rolcreaterole": True, "rolcreatedb": True}
    for more in ("SUPERUSER", "BYPASSRLS"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.execute(f"ALTER ROLE nous {more}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.execute(f"CREATE ROLE more {more}")
    async with database.transaction():
        await database.execute("CREATE TEMP TABLE closed AS SELECT 1")
        await database.execute("ALTER TABLE closed ENABLE ROW LEVEL SECURITY")
        await database.execute("ALTER TABLE closed FORCE ROW LEVEL SECURITY")
        assert await database.fetch("SELECT * FROM closed") == []


async def test_pgvector_is_in_every_database_the_application_makes(stack: Stack, database: asyncpg.Connection) -> None:
    await database.execute("CREATE DATABASE another")
    another = await asyncpg.connect(stack.database_url.removesuffix("nous") + "another")
    for connection in (database, another):
        assert await connection.fetchval("SELECT '[1,0]'::halfvec(2) <=> '[0,1]'::halfvec(2)") == 1
    await another.close()
    await database.execute("DROP DATABASE another")


async def test_text_is_unicode_whatever_the_locale_of_the_machine(database: asyncpg.Connection) -> None:
    assert await database.fetchval("SHOW server_encoding") == "UTF8"
    assert await database.fetchval("SELECT lower('ÉCOLE Ω')") == "école ω"
    assert await database.fetchval("SELECT array_agg(t ORDER BY t) FROM unnest(array['é', 'z', 'Z', '猫']) t") == ["Z", "z", "é", "猫"]


async def test_commits_are_durable_unless_a_test_says_otherwise(at_rest: Path) -> None:
    with embedded.running(at_rest) as stack:
        connection = await asyncpg.connect(stack.database_url)
        settings = [await connection.fetchval(f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")]
        await connection.close()
        with redis.Redis.from_url(stack.redis_url) as client:
            assert client.config_get("append*") | client.config_get("maxmemory-policy") | client.config_get("save") == {
                "appendonly": "yes",
                "appendfsync": "everysec",
                "appendfilename": "appendonly.aof",
                "appenddirname": "appendonlydir",
                "maxmemory-policy": "noeviction",
                "save": "",
            }
    assert settings == ["on", "on", "on"]


# --- who runs it


def run_as(user: pwd.struct_passwd, python: str, program: str, *arguments: str, folder: str = "/") -> subprocess.CompletedProcess[str]:
    """Run a program with our packages as another user, if we may, else as the user we are."""
    return subprocess.run(
        [python, "-c", program, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{Path(asyncpg.__file__).parents[1]}", "PYTHONDONTWRITEBYTECODE": "1"},
        user=user.pw_uid if IS_ROOT else None,
        group=user.pw_gid if IS_ROOT else None,
        extra_groups=[] if IS_ROOT else None,
    )


def python_for(user: pwd.struct_passwd) -> str | None:
    """A Python of our version that this user can run with our packages, if the machine has one."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        try:
            if run_as(user, python, "import nous.embedded").returncode == 0:
                return python
        except OSError:
            continue
    return None


def test_an_ordinary_user_needs_nothing_else() -> None:
    user = pwd.getpwnam("nobody") if IS_ROOT else pwd.getpwuid(os.geteuid())
    python = python_for(user)
    if python is None:
        pytest.skip("no Python here that an ordinary user can run with our packages")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, user.pw_uid, user.pw_gid)
        owner = run_as(user, python, OWNER, f"{folder}/home", folder=folder)
        assert owner.stdout.startswith("postgresql://nous:"), owner.stderr
        assert owner.returncode == 0
        assert (Path(folder) / "home").stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_uid for path in Path(folder, "home").rglob("*")} == {user.pw_uid}


def test_programs_that_nobody_can_reach_are_copied_to_where_it_can(at_rest: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = programs._installed()
    with tempfile.TemporaryDirectory() as copies:
        Path(copies).chmod(0o755)
        monkeypatch.setattr(programs, "COPIES", Path(copies))
        monkeypatch.setattr(programs, "_package", lambda name: closed_away(tmp_path / "private", name))
        servant = programs.servant_for(at_rest / "postgres")
        copied = programs.usable_by(servant)
        assert copied.postgres.is_relative_to(copies if IS_ROOT else tmp_path)
        assert programs.usable_by(servant) == copied
        assert len(list(Path(copies).iterdir())) == (1 if IS_ROOT else 0)
        with embedded.running(at_rest, durable=False) as stack:
            assert remembered(stack) == (["first"], ["first"])
    assert installed.postgres.exists()


def closed_away(private: Path, name: str) -> Path:
    """The package as it would be in a folder that only its owner may enter."""
    private.mkdir(mode=0o700, exist_ok=True)
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    link = private / name
    if not link.exists():
        link.symlink_to(Path(spec.origin).parent)
        libraries = Path(spec.origin).parent.with_suffix(".libs")
        if libraries.exists():
            (private / libraries.name).symlink_to(libraries)
    return link


# --- what cannot work says so


def test_a_home_that_cannot_be_made_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserMistake, match="NOUS_HOME"), embedded.running(tmp_path / "file" / "home"):
        pass
    assert embedded.find(tmp_path / "file" / "home") is None


def test_data_of_another_major_version_is_refused(at_rest: Path) -> None:
    (at_rest / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(Misconfigured, match="made by Postgres 17, and this is Postgres 18"), embedded.running(at_rest):
        pass


def test_data_whose_passwords_are_lost_is_left_alone(at_rest: Path) -> None:
    (at_rest / "secrets.json").unlink()
    with pytest.raises(Misconfigured, match=r"secrets\.json is gone"), embedded.running(at_rest):
        pass
    assert (at_rest / "postgres" / "PG_VERSION").exists()


def test_passwords_of_another_home_are_refused(at_rest: Path, stack: Stack) -> None:
    shutil.copy(stack.home / "secrets.json", at_rest)
    with pytest.raises(Misconfigured, match="restore the right one"), embedded.running(at_rest):
        pass
    assert servers_of(at_rest) == []


@pytest.mark.parametrize(
    ("broken", "content", "says"),
    [("postgres/postgresql.conf", "nonsense", "syntax error"), ("valkey/appendonlydir/appendonly.aof.manifest", "nonsense", "manifest")],
)
def test_a_server_that_does_not_start_shows_its_log(broken: str, content: str, says: str, at_rest: Path) -> None:
    (at_rest / broken).write_text(content)
    with pytest.raises(Misconfigured, match=r"did not start") as refused, embedded.running(at_rest):
        pass
    assert says in str(refused.value)
    assert ".log, ends with" in str(refused.value)
    assert servers_of(at_rest) == []
    assert embedded.find(at_rest) is None
