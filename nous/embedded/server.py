"""One server process of an embedded stack: started as a child that dies with us, found again when it did not, stopped gently.

    serving ──▶ become.py: leave root, die with the parent, exec ──▶ the server, working in its own folder, in a session of its own
    watch   ──▶ one that ends before it is stopped is told to whoever asked
    evict   ──▶ what still serves a home whose owner was killed: asked to stop, then told, then killed

Every process of a server carries the mark of its home in its title, which every user may read of every process; so what is ours is
known without trusting a pid that may belong to something else by now.
"""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from nous.errors import Misconfigured

from .programs import Programs, Servant

ADDRESS = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.01
WATCH_SECONDS = 0.2
PORT_TRIES = 3
LOG_BYTES = 10_000_000
LAST_LINES = 12
LAST_WORDS = 2
BECOME = Path(__file__).with_name("become.py")

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Household:
    """What the servers of one home share.

    `keeper` is the one thread that starts them: to the kernel "your parent died" means that thread, so it must outlive them.
    `on_death` hears of a server that ended by itself.
    """

    home: Path
    programs: Programs
    servant: Servant
    keeper: ThreadPoolExecutor
    is_durable: bool
    on_death: Callable[[str], None]


@dataclass(frozen=True)
class Server:
    """What must be known of a server to start, recognise and stop it. `goodbyes` are its stop signals, the gentlest first."""

    name: str
    program: Path
    folder: Path
    pid_file: str
    goodbyes: tuple[signal.Signals, ...]
    household: Household

    @property
    def log(self) -> Path:
        """Beside the folder, not in it: the folder is the servant's, and what root writes there could be led elsewhere."""
        return self.folder.with_suffix(".log")

    @property
    def port_file(self) -> Path:
        return self.folder.with_suffix(".port")


@contextmanager
def serving(server: Server, command: Callable[[int], list[str]], is_ready: Callable[[Process, int], bool]) -> Iterator[int]:
    """Run the server for the block and give its port, which is last time's if that is free. `command` makes its arguments."""
    for port in _ports(server):
        process = launch(server, command(port))
        try:
            if until(partial(_has_settled, process, port, is_ready), START_SECONDS) and process.poll() is None:
                server.port_file.write_text(str(port))
                with _watched(server, process):
                    yield port
                return
        finally:
            stop(server, process)
        if _is_free(port):
            break
    raise failed(server, "did not start")


def launch(server: Server, arguments: list[str], stdin: int = subprocess.DEVNULL) -> Process:
    """Start the server's program as its servant, in its folder, its words going to its log."""
    servant = server.household.servant
    who = (str(word) for word in (servant.uid, servant.gid, os.getpid(), int(server.goodbyes[0])))
    words = [sys.executable, "-I", "-S", str(BECOME), *who, str(server.program), *arguments]
    with _opened(server.log) as log:
        return server.household.keeper.submit(_popen, words, server.folder, stdin, log).result()


def stop(server: Server, process: Process) -> None:
    """Ask the server to stop, then tell it, then kill it; return when it is gone."""
    for goodbye in server.goodbyes:
        process.send_signal(goodbye)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return
    process.wait()


def evict(server: Server) -> None:
    """Stop what an earlier owner of this home left running, and forget its pid; raises Misconfigured when it does not go."""
    for goodbye in server.goodbyes:
        for pid in _to_tell(server, goodbye):
            with suppress(ProcessLookupError):
                os.kill(pid, goodbye)
        if until(lambda: not living(server), STOP_SECONDS):
            (server.folder / server.pid_file).unlink(missing_ok=True)
            return
    raise Misconfigured(
        f"an earlier {server.name} still serves {server.folder} and does not stop: kill {sorted(living(server))} and start again"
    )


def living(server: Server) -> set[int]:
    """The pids of the server's processes, whoever started them."""
    mark = mark_of(server.household.home)
    return {pid for pid, program, title in processes() if program == server.program.name and mark in title}


def mark_of(home: Path) -> str:
    """A word for this home among all processes of the machine: no two folders share it, and moving one does not change it."""
    folder = home.stat()
    return "nous-" + hashlib.sha256(f"{folder.st_dev}:{folder.st_ino}".encode()).hexdigest()[:12]


def processes() -> Iterator[tuple[int, str, str]]:
    """Every process: its pid, its program, and its command line as it shows itself (nothing, once it is dead)."""
    if sys.platform != "linux":
        listing = subprocess.run(["/bin/ps", "-axww", "-o", "pid=,ucomm=,command="], capture_output=True, text=True, check=True)
        yield from ((int(pid), program, title) for pid, program, title in (line.split(None, 2) for line in listing.stdout.splitlines()))
        return
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            title = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            yield int(process.name), (process / "comm").read_text().strip(), title.decode(errors="replace")


def give(folder: Path, servant: Servant) -> None:
    """Make the folder, closed to others, or take it as it is; as root, make it the servant's, and all in it when it was root's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0 and folder.stat().st_uid == 0:
        for path in (*folder.rglob("*"), folder):
            os.chown(path, servant.uid, servant.gid, follow_symlinks=False)


def here(folder: Path) -> str:
    """The path by which a process that works in `folder` names it, valid also when its user may not enter the folders above."""
    return "/proc/self/cwd" if sys.platform == "linux" else str(folder)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for the condition; whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def failed(server: Server, what: str) -> Misconfigured:
    """The error that shows the end of the server's log."""
    return Misconfigured(
        f"{server.name} {what} in {server.folder}. Its log, {server.log}, ends with\n\n{last_lines(server.log)}\n\n"
        "Correct what it names (most likely a full disk, or a file it may not read or write) and start again; the data is kept"
    )


def last_lines(log: Path) -> str:
    """The end of a log, indented."""
    return "\n".join(f"    {line}" for line in log.read_text(errors="replace").splitlines()[-LAST_LINES:])


@contextmanager
def _watched(server: Server, process: Process) -> Iterator[None]:
    """Tell of the server's end if it comes within the block."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(WATCH_SECONDS):
            if process.poll() is not None:
                server.household.on_death(_obituary(server, process))
                return

    watcher = threading.Thread(target=watch, name=f"nous-watch-{server.name}", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def _obituary(server: Server, process: Process) -> str:
    """Which server ended, how, and the last words of its log, in one breath."""
    code = process.returncode
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    words = [line.strip() for line in last_lines(server.log).splitlines()[-LAST_WORDS:]]
    return f"{server.name} (process {process.pid}) has died, {how}; its log, {server.log}, ends with: {' | '.join(words) or 'nothing'}"


def _has_settled(process: Process, port: int, is_ready: Callable[[Process, int], bool]) -> bool:
    """Whether it is clear how the start went: it is ready, or it is gone."""
    return process.poll() is not None or is_ready(process, port)


def _popen(words: list[str], folder: Path, stdin: int, log: IO[bytes]) -> Process:
    """A child in a session of its own (a Ctrl-C is for its parent), with nothing of our environment, which may hold keys."""
    return subprocess.Popen(  # noqa: S603 - no shell, our own words
        words,
        cwd=folder,
        stdin=stdin,
        stdout=log,
        stderr=log,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"},
        umask=0o077,
        start_new_session=True,
    )


def _ports(server: Server) -> Iterator[int]:
    """Ports to try: last time's, if it is free, then any; somebody else may take one before the server does."""
    last = server.port_file.read_text() if server.port_file.exists() else ""
    if last.isdigit() and _is_free(int(last)):
        yield int(last)
    for _ in range(PORT_TRIES):
        with socket.create_server((ADDRESS, 0)) as free:
            port = free.getsockname()[1]
        yield port


def _is_free(port: int) -> bool:
    try:
        socket.create_server((ADDRESS, port)).close()
    except OSError:
        return False
    return True


def _opened(log: Path) -> IO[bytes]:
    """The log, to append to, closed to other users; one that has grown long becomes `.old` first."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.old"))
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def _to_tell(server: Server, goodbye: signal.Signals) -> set[int]:
    """A gentle signal goes to the first process alone, which tells its own; a kill goes to all of them."""
    alive = living(server)
    if goodbye is signal.SIGKILL:
        return alive
    try:
        return alive & {int((server.folder / server.pid_file).read_text().split()[0])}
    except (FileNotFoundError, IndexError, ValueError):
        return set()
