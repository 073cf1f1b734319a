"""The embedded stack: a real Postgres with pgvector and a real Valkey, from pip packages, alive while the process that asked for them is.

    home/                    closed to other users
    ├── lock                 held by the process that owns the running stack; its pid
    ├── stack.json           the running stack, for other commands; gone when it stops
    ├── secrets.json         the passwords of Postgres
    ├── postgres/  .log  .port
    └── valkey/    .log  .port

`running` owns a stack and hears when a server of it dies, `find` finds the one that somebody else runs. What the servers hold is kept
in the home from start to start.
"""

import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from nous.errors import Outage, UserMistake

from . import kept, postgres, programs, valkey
from .server import ADDRESS, Household


@dataclass(frozen=True)
class Stack:
    """A running stack: where it keeps its data, how to connect, and the process that owns it."""

    home: Path
    database_url: str
    redis_url: str
    owner_pid: int


@contextmanager
def running(home: Path, *, durable: bool = True, on_death: Callable[[str], None] = lambda _: None) -> Iterator[Stack]:
    """Run the stack of `home` for the block.

    Raises UserMistake when it runs already or `home` cannot be used, Misconfigured when a server does not start.
    `durable=False` is for tests: when the machine crashes, data may be lost or broken. `on_death` is called from another thread, with
    a sentence, when a server ends before the block does.
    """
    home = _entered(home)
    with _owned(home), ThreadPoolExecutor(1, "nous-embedded") as keeper:
        servant = programs.servant_for(home / "postgres")
        household = Household(home, programs.usable_by(servant), servant, keeper, is_durable=durable, on_death=on_death)
        with (
            postgres.serving(household) as database_url,
            valkey.serving(household) as redis_url,
            _announced(Stack(home, database_url, redis_url, os.getpid())) as stack,
        ):
            yield stack


def find(home: Path) -> Stack | None:
    """The stack that runs in `home` now, whoever owns it; None when there is none.

    Raises Outage when its owner lives and one of its servers does not answer.
    """
    home = _absolute(home)
    try:
        told = kept.read(home / "stack.json")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise UserMistake(f"the stack in {home} belongs to another user ({error}): be that user, or choose another NOUS_HOME") from error
    stack = Stack(home, told["database_url"], told["redis_url"], int(told["owner_pid"]))
    if not _exists(stack.owner_pid):
        return None
    for name, url in (("Postgres", stack.database_url), ("Valkey", stack.redis_url)):
        if not _accepts(url):
            if not (_is_owned(home) and (home / "stack.json").exists()):
                return None  # its owner is dead, or just stopped it
            raise Outage(
                f"the embedded {name}", f"process {stack.owner_pid} owns the stack in {home}, and nobody listens on {_address(url)}"
            )
    return stack


def _absolute(home: Path) -> Path:
    return home.expanduser().resolve()


def _entered(home: Path) -> Path:
    """The home as an absolute path; made, closed to other users, if it is not there."""
    home = _absolute(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / "lock").touch(mode=0o600)
    except OSError as error:
        raise UserMistake(f"the embedded stack cannot keep its data in {home}: {error}. Set NOUS_HOME to a folder of your own") from error
    return home


@contextmanager
def _owned(home: Path) -> Iterator[None]:
    """Be the one owner of the home; the lock goes with the process, however that ends."""
    with (home / "lock").open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserMistake(
                f"the stack in {home} runs already, owned by process {lock.read() or '(just starting)'}: commands with this NOUS_HOME "
                "find it by themselves. To own it, stop that process first; for a second stack, choose another NOUS_HOME"
            ) from None
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def _announced(stack: Stack) -> Iterator[Stack]:
    """Let other commands find the stack."""
    told = {"database_url": stack.database_url, "redis_url": stack.redis_url, "owner_pid": str(stack.owner_pid)}
    kept.write(stack.home / "stack.json", told)
    try:
        yield stack
    finally:
        (stack.home / "stack.json").unlink(missing_ok=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _accepts(url: str) -> bool:
    """Whether somebody listens where the URL points."""
    try:
        socket.create_connection((ADDRESS, urlsplit(url).port or 0), timeout=2).close()
    except OSError:
        return False
    return True


def _address(url: str) -> str:
    """Where the URL points, without its password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _is_owned(home: Path) -> bool:
    """Whether a process holds the lock of the home: the pid in `stack.json` may be somebody else's by now."""
    with (home / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
