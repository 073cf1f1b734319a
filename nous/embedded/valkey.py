"""The embedded Valkey: every write appended to a file that is synced each second, served on the loopback address, without a password."""

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from . import server as servers
from .server import ADDRESS, Household, Process, Server

SETTINGS = {
    "bind": ADDRESS,
    "daemonize": "no",
    "appendonly": "yes",
    "save": "",
    "maxmemory-policy": "noeviction",
    "pidfile": "valkey.pid",
}


@contextmanager
def serving(household: Household) -> Iterator[str]:
    """Run Valkey for the block; gives its URL."""
    server = Server(
        name="Valkey",
        program=household.programs.valkey,
        folder=household.home / "valkey",
        pid_file=SETTINGS["pidfile"],
        goodbyes=(signal.SIGTERM, signal.SIGKILL),
        household=household,
    )
    servers.evict(server)
    servers.give(server.folder, household.servant)
    with servers.serving(server, lambda port: _arguments(server, port), _is_ready) as port:
        yield f"redis://{ADDRESS}:{port}"


def _arguments(server: Server, port: int) -> list[str]:
    settings = SETTINGS | {
        "port": str(port),
        "appendfsync": "everysec" if server.household.is_durable else "no",
        "proc-title-template": f"{{title}}:{servers.mark_of(server.household.home)}:{{listen-addr}}",
    }
    return [word for name, value in settings.items() for word in (f"--{name}", value)]


def _is_ready(process: Process, port: int) -> bool:
    """Whether it is this very process that answers there, with its data read."""
    try:
        lines = _told(port).splitlines()
    except (OSError, ValueError):
        return False
    return f"process_id:{process.pid}" in lines and "loading:0" in lines


def _told(port: int) -> str:
    """What the server says of itself, its INFO."""
    with socket.create_connection((ADDRESS, port), timeout=1) as connection, connection.makefile("rwb") as stream:
        stream.write(b"INFO\r\n")
        stream.flush()
        length = int(stream.readline().removeprefix(b"$"))
        return stream.read(length).decode()
