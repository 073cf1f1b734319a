"""Postgres and Valkey of a folder of their own, each of which is killed and started again on its port, with its data or without.

start ──▶ serving ──▶ crash   Postgres: SIGQUIT, which is `pg_ctl stop -m immediate`; Valkey: SIGKILL
                      ├─ start         everything that was written is there
                      ├─ forget ▶ start      Valkey without its data
                      └─ forget_since ▶ start   Valkey without what it wrote in the last second, as after a power failure
"""

import os
import shutil
import signal
import socket
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from nous.embedded import postgres, programs, valkey
from nous.embedded.server import ADDRESS, Household

PORTS = range(21_000, 31_000)  # below those that outgoing connections are given, so that nobody takes one while its server is down
SYNCED_EVERY_S = 1.0
REMEMBERED = 200


class Servers:
    """Both servers, as a production has them: every commit is synced, and Valkey's file each second. Its calls block."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        servant = programs.servant_for(home / "postgres")
        self._keeper = ThreadPoolExecutor(1, "chaos-servers")
        self._household = Household(home, programs.usable_by(servant), servant, self._keeper, is_durable=True, on_death=lambda _: None)
        self._home = home
        self._postgres, self._valkey = ExitStack(), ExitStack()
        self._written: deque[tuple[float, Path, int]] = deque(maxlen=REMEMBERED)
        for name, port in zip(("postgres", "valkey"), _free_ports(), strict=True):
            (home / f"{name}.port").write_text(str(port))

    def start(self) -> tuple[str, str]:
        """Start both; the URLs of the database and of Redis, which stay the same."""
        return self.start_postgres(), self.start_valkey()

    def start_postgres(self) -> str:
        """Returns when it takes connections."""
        return self._postgres.enter_context(postgres.serving(self._household))

    def start_valkey(self) -> str:
        """Returns when its data is read."""
        return self._valkey.enter_context(valkey.serving(self._household))

    def crash_postgres(self) -> None:
        """Stop it at once: no checkpoint, every transaction aborted."""
        os.kill(self.pids()["postgres"], signal.SIGQUIT)
        self._postgres.close()

    def crash_valkey(self) -> None:
        """Kill it: nothing is written any more."""
        os.kill(self.pids()["valkey"], signal.SIGKILL)
        self._valkey.close()

    def note_what_is_written(self) -> None:
        """Remember how long Valkey's file is by now; what was there a second ago was synced."""
        for path in sorted((self._home / "valkey" / "appendonlydir").glob("*.incr.aof"))[-1:]:
            self._written.append((time.monotonic(), path, path.stat().st_size))

    def forget_since(self, seconds: float) -> int:
        """Cut off what the file of the dead Valkey gained in its last `seconds`; how many bytes."""
        before = time.monotonic() - seconds
        synced = next(((path, size) for at, path, size in reversed(self._written) if at <= before and path.exists()), None)
        if synced is None:
            return 0
        path, size = synced
        gone = max(path.stat().st_size - size, 0)
        os.truncate(path, path.stat().st_size - gone)
        return gone

    def forget(self) -> None:
        """Remove the data of the dead Valkey."""
        shutil.rmtree(self._home / "valkey" / "appendonlydir")
        self._written.clear()

    def pids(self) -> dict[str, int]:
        """The first process of each server that runs."""
        files = {"postgres": "postmaster.pid", "valkey": "valkey.pid"}
        return {
            name: int(path.read_text().split()[0])
            for name, file in files.items()
            if (path := self._home / name / file).exists() and path.read_text().strip()
        }

    def close(self) -> None:
        """Stop both."""
        self._valkey.close()
        self._postgres.close()
        self._keeper.shutdown()


def _free_ports() -> list[int]:
    found: list[int] = []
    for port in PORTS:
        at = PORTS[(port * 7919 + os.getpid()) % len(PORTS)]
        try:
            socket.create_server((ADDRESS, at)).close()
        except OSError:
            continue
        found.append(at)
        if len(found) == 2:
            return found
    raise RuntimeError(f"no two ports are free in {PORTS}")
