"""Clients of the API as it is served: each a thread with a connection of its own, one request after another, and what each one waited.

    words ─┬─ client ─▶ POST ─▶ waited ─┐
           ├─ client ─▶ POST ─▶ waited ─┼─▶ waits, in milliseconds, by route
           └─ ...                      ─┘

A conversation is begun, told five turns, and each of them answered, by one client after another's.
"""

import http.client
import json
import os
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import psutil

from .consumers import START_S, end

SERVE = [sys.executable, "-c", "from nous.cli import main; main()", "serve"]
TURNS = 5  # of a conversation
WITHIN_S = 60.0
UNLIMITED = 10**9

RECALL, TURN, RESULT = "POST /v1/recall", "POST .../turns", "POST .../result"


@dataclass
class Waits:
    """How long each request took, in milliseconds, by route; and what recall had to do without, if anything."""

    by_route: dict[str, list[float]] = field(default_factory=dict)
    doubts: set[str] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def note(self, route: str, seconds: float, answer: dict[str, Any]) -> None:
        """One answer."""
        with self.lock:
            self.by_route.setdefault(route, []).append(1e3 * seconds)
            if doubt := answer.get("degraded"):
                self.doubts.add(doubt)


@contextmanager
def served(database_url: str, redis_url: str, **settings: object) -> Iterator[tuple[str, psutil.Process]]:
    """`nous serve` for the block, as an operator starts it; the address it answers at, and its process."""
    environment = os.environ | {f"NOUS_{name.upper()}": str(value) for name, value in settings.items()}
    environment |= {"NOUS_DATABASE_URL": database_url, "NOUS_REDIS_URL": redis_url, "NOUS_LOG_LEVEL": "warning", "NOUS_API_PORT": "0"}
    environment |= {"NOUS_API_REQUESTS_PER_MINUTE": str(UNLIMITED)}
    process = subprocess.Popen(SERVE, env=environment, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    try:
        yield _address(process), psutil.Process(process.pid)
    finally:
        end(process)


def _address(process: "subprocess.Popen[str]") -> str:
    """What it says on its first line: `API       http://127.0.0.1:8378/v1 ...`."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S)
    said = process.stdout.readline() if ready else ""
    found = next((word for word in said.split() if word.startswith("http://")), None)
    if found is None:
        raise RuntimeError(f"nous serve said {said!r} instead of its address within {START_S:g} s; exit code {process.poll()}")
    return found.removeprefix("http://").partition("/")[0]


def recalls(address: str, agent: str, words: Sequence[str], *, clients: int, within_s: float) -> Waits:
    """Ask memory each of these, by so many clients at once, until all are asked or so long has passed."""

    def ask(connection: http.client.HTTPConnection, waits: Waits, said: Sequence[str]) -> None:
        for one in said:
            _post(connection, agent, "/v1/recall", {"question": one}, waits, RECALL)

    return _by_clients(address, [[one] for one in words], ask, clients, within_s)


def turns(address: str, agent: str, words: Sequence[str], *, clients: int, within_s: float) -> Waits:
    """Say each of these as a turn of a conversation, and answer it; otherwise as `recalls`."""

    def converse(connection: http.client.HTTPConnection, waits: Waits, said: Sequence[str]) -> None:
        session = f"/v1/sessions/bench-{uuid.uuid4()}/turns"
        for number, one in enumerate(said):
            _post(connection, agent, session, {"user": one, "turn": str(number)}, waits, TURN)
            _post(connection, agent, f"{session}/{number}/result", {"assistant": f"I looked it up: {one}"}, waits, RESULT)

    conversations = [words[start : start + TURNS] for start in range(0, len(words), TURNS)]
    return _by_clients(address, conversations, converse, clients, within_s)


def _by_clients(
    address: str,
    work: Sequence[Sequence[str]],
    each: Callable[[http.client.HTTPConnection, Waits, Sequence[str]], None],
    clients: int,
    within_s: float,
) -> Waits:
    waits, deadline = Waits(), time.monotonic() + within_s
    left = iter(work)
    turn = Lock()

    def one_client(_: int) -> None:
        with closing(http.client.HTTPConnection(address, timeout=WITHIN_S)) as connection:
            while time.monotonic() < deadline:
                with turn:
                    said = next(left, None)
                if said is None:
                    return
                each(connection, waits, said)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(one_client, range(clients)))
    return waits


def _post(connection: http.client.HTTPConnection, agent: str, path: str, body: dict[str, object], waits: Waits, route: str) -> None:
    sent = json.dumps(body).encode()
    started = time.perf_counter()
    connection.request("POST", path, sent, {"Content-Type": "application/json", "Nous-Agent": agent})
    answer = connection.getresponse()
    held = answer.read()
    seconds = time.perf_counter() - started
    if answer.status >= 400:
        raise RuntimeError(f"POST {path} was answered {answer.status}: {held[:500]!r}")
    waits.note(route, seconds, json.loads(held))
