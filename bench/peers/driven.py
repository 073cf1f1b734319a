"""A peer, run in its own environment by its driver: opened, warmed, measured.

task ─▶ driver ─ ready ─▶ bytes before, the tally begun anew ─ go ─▶ every round ─▶ what it tells as true ─▶ bytes after
"""

import json
import os
import select
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import psutil

from providers.use_multilingual import PROFILE
from tests.bench.beside import family_cpu_s
from tests.bench.beside import measured as beside

from .cases import Round
from .served import KEY

HERE = Path(__file__).parent
START_S = 120.0
TOO_LONG_S = 3_600.0
SHOWN_CHARACTERS = 2_000


class PeerFailed(RuntimeError):
    """A driver did not do its part; the message has the end of what it printed."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a system made of all rounds. `told` is what it tells as true, by agent; `trouble` what it raised or logged as errors.

    `processor_s` is of everything that was run for it, the embedder and the answering server too: it hardly changes with what else the
    machine does, as `seconds` does. `others` is how many cores everybody else used meanwhile.
    """

    version: str
    seconds: float
    processor_s: float
    others: float
    told: dict[str, list[str]]
    stored_bytes: int
    tally: dict[str, Any]
    trouble: list[str]
    reached_for: list[str]


@dataclass(frozen=True)
class Peer:
    """A system to measure: its name, its driver, the folder of its environment, and its store."""

    name: str
    driver: str
    environment: str
    store: str

    @property
    def python(self) -> Path:
        """The interpreter of its environment."""
        return HERE / self.environment / ".venv/bin/python"

    @property
    def is_installed(self) -> bool:
        """Whether `make peers` has made its environment."""
        return self.python.exists()


PEERS = (
    Peer("mem0 2, pgvector", "saying_to_mem0.py", ".", "pgvector"),
    Peer("mem0 2, Qdrant in a folder", "saying_to_mem0.py", ".", "qdrant"),
    Peer("mem0 1, pgvector", "saying_to_mem0.py", "older", "pgvector"),
    Peer("mem0 1, Qdrant in a folder", "saying_to_mem0.py", "older", "qdrant"),
    Peer("Graphiti, Kuzu", "saying_to_graphiti.py", ".", "kuzu"),
)


async def measured(peer: Peer, rounds: Sequence[Round], *, address: str, database_url: str, folder: Path) -> Outcome:
    """Say every round to the peer, which keeps its data in the folder and, if it can, in the database. Raises PeerFailed."""
    folder.mkdir()
    task = {
        "rounds": [[{**asdict(saying), "at": saying.at.isoformat()} for saying in one] for one in rounds],
        "store": peer.store,
        "database_url": database_url,
        "folder": str(folder),
        "address": address,
        "key": KEY,
        "dimension": PROFILE.dimension,
    }
    with (folder.parent / f"{folder.name}.log").open("w+") as log:
        process = subprocess.Popen(
            [peer.python, HERE / "drivers" / peer.driver],
            env=_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            ready = _answered(process, task, START_S, log.name)
            before = await _bytes(database_url, folder)
            httpx.get(f"{address}/tally")
            spent = family_cpu_s(psutil.Process())
            with beside() as stretch:
                seconds = _answered(process, "go", TOO_LONG_S, log.name)["seconds"]
            spent = family_cpu_s(psutil.Process()) - spent
            tally = httpx.get(f"{address}/tally").json()
            found = _answered(process, "tell", TOO_LONG_S, log.name)
            process.wait(START_S)
        finally:
            process.kill()
            process.wait()
    return Outcome(
        version=ready["version"],
        seconds=seconds,
        processor_s=spent,
        others=stretch.others,
        told=found["told"],
        stored_bytes=await _bytes(database_url, folder) - before,
        tally=tally,
        trouble=found["raised"] + found["logged"] + ([tally["unknown"]] if tally["unknown"] else []),
        reached_for=found["reached_for"],
    )


def _environment(folder: Path) -> dict[str, str]:
    """A home of its own, telemetry off, no proxy and nobody's keys."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TZ")}
    home = folder.parent / f"{folder.name}-home"
    home.mkdir()
    off = {"MEM0_TELEMETRY": "False", "GRAPHITI_TELEMETRY_ENABLED": "false", "ANONYMIZED_TELEMETRY": "false", "DO_NOT_TRACK": "1"}
    return {**kept, **off, "HOME": str(home), "MEM0_DIR": str(home / "mem0"), "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}


def _answered(process: "subprocess.Popen[str]", said: object, within_s: float, log: str) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(said) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass
    ready, _, _ = select.select([process.stdout], [], [], within_s)
    line = process.stdout.readline() if ready else ""
    if not line:
        last = Path(log).read_text("utf-8", "replace")[-SHOWN_CHARACTERS:]
        raise PeerFailed(f"the driver said nothing within {within_s:g} s (exit code {process.poll()}); the end of what it printed:\n{last}")
    answer: dict[str, Any] = json.loads(line)
    return answer


async def _bytes(database_url: str, folder: Path) -> int:
    files = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return files + await database_bytes(database_url)


async def database_bytes(url: str) -> int:
    """What a database takes on disk, with its indexes; without the write-ahead log."""
    connection = await asyncpg.connect(url)
    try:
        size: int = await connection.fetchval("SELECT pg_database_size(current_database())")
        return size
    finally:
        await connection.close()
