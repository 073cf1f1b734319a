"""A cluster of six Valkey nodes on loopback: three primaries, a replica of each; for tests that kill one of them."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from nous.embedded import programs
from tests.conftest import MEMORY, until

ADDRESS = "127.0.0.1"
PRIMARIES = 3
SLOTS = 16_384
NODE_TIMEOUT_MS = 1_000
BUS = 10_000  # a node talks to the others on its port and this


@dataclass
class Node:
    """One server of a cluster."""

    port: int
    process: subprocess.Popen[bytes]
    client: Redis = field(repr=False)

    async def ask(self, *words: object) -> Any:
        """What it answers to a command."""
        return await self.client.execute_command(*words)

    def kill(self) -> None:
        """As kill -9 does."""
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True)
class ClusterOfSix:
    """Its nodes, primaries first."""

    nodes: tuple[Node, ...]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"{ADDRESS}:{node.port}" for node in self.nodes)


@asynccontextmanager
async def running() -> AsyncIterator[ClusterOfSix]:
    """The cluster, for the block."""
    folder = Path(tempfile.mkdtemp(prefix="nous-cluster-", dir=MEMORY if MEMORY.is_dir() else None))
    nodes = tuple(_started(folder, port) for port in _ports(PRIMARIES * 2))
    try:
        await _joined(nodes)
        yield ClusterOfSix(nodes)
    finally:
        for node in nodes:
            await node.client.aclose()
            node.kill()
        shutil.rmtree(folder)


def _started(folder: Path, port: int) -> Node:
    home = folder / str(port)
    home.mkdir()
    said = {
        "port": port,
        "bind": ADDRESS,
        "dir": home,
        "cluster-enabled": "yes",
        "cluster-node-timeout": NODE_TIMEOUT_MS,
        "appendonly": "yes",
        "appendfsync": "no",
        "save": "",
        "repl-diskless-sync-delay": 0,
        "logfile": home / "log",
    }
    words = [str(word) for name, value in said.items() for word in (f"--{name}", value)]
    return Node(port, subprocess.Popen([programs._installed().valkey, *words]), Redis(host=ADDRESS, port=port))


async def _joined(nodes: tuple[Node, ...]) -> None:
    for node in nodes:
        await until(lambda node=node: _answers(node), what=f"the node on {node.port}")
    first, *others = nodes
    for epoch, node in enumerate(nodes, 1):
        await node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
    for node in others:
        await node.ask("CLUSTER", "MEET", ADDRESS, first.port)
    share = -(-SLOTS // PRIMARIES)
    for number, node in enumerate(nodes[:PRIMARIES]):
        await node.ask("CLUSTER", "ADDSLOTSRANGE", number * share, min((number + 1) * share, SLOTS) - 1)
    for number, node in enumerate(nodes[PRIMARIES:]):
        primary = (await nodes[number].ask("CLUSTER", "MYID")).decode()
        await until(lambda node=node, primary=primary: _knows(node, primary), what="nodes that know each other")
        await node.ask("CLUSTER", "REPLICATE", primary)
    for node in nodes:
        await until(lambda node=node: _is_whole(node), within_s=30, what="a cluster that is whole")


async def _answers(node: Node) -> bool:
    with suppress(RedisError, OSError):
        return bool(await node.client.ping())
    return False


async def _knows(node: Node, primary: str) -> bool:
    return f"{primary} " in (await node.ask("CLUSTER", "NODES")).decode()


async def _is_whole(node: Node) -> bool:
    info = (await node.ask("CLUSTER", "INFO")).decode()
    replication = await node.client.info("replication")
    is_linked = replication["role"] == "master" or replication["master_link_status"] == "up"
    replicas = replication["connected_slaves"] == 1 or replication["role"] == "slave"
    return all(word in info for word in ("state:ok", f"known_nodes:{PRIMARIES * 2}")) and is_linked and replicas


def _ports(count: int) -> list[int]:
    """Free ports whose bus ports are free as well."""
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as one:
            one.bind((ADDRESS, 0))
            port = one.getsockname()[1]
        if port + BUS < 65_536 and _is_free(port + BUS) and port not in found:
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as one, suppress(OSError):
        one.bind((ADDRESS, port))
        return True
    return False
