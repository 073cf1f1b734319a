"""How a driver is told what to say, and what it tells back. The standard library alone: it runs in a peer's environment.

    stdin    one line, the task ───────────────▶ the peer is opened, and one fact of nobody's said to warm it
    stdout   {"ready": true, ...} ◀──────────────
    stdin    one line, go ─────────────────────▶ every round is said and waited for
    stdout   {"seconds": ...} ◀──────────────────
    stdin    one line, tell ───────────────────▶ what it tells as true, agent by agent; the peer is closed
    stdout   {"told": ...} ◀─────────────────────

Whatever the peer itself prints goes to stderr. No connection is made but to loopback: each other one that is tried is refused and told.
"""

import ipaddress
import json
import logging
import os
import socket
import sys
import time


class Refusing:
    """Refuses connections that leave the machine, and remembers where they were to go."""

    def __init__(self):
        self.tried = []

    def install(self):
        """From now on, for everything in this process that connects by way of Python."""
        connect, look_up = socket.socket.connect, socket.getaddrinfo

        def connect_here(itself, address):
            if itself.family in (socket.AF_INET, socket.AF_INET6) and not self._is_here(str(address[0])):
                raise OSError(f"{address} is not on this machine")
            return connect(itself, address)

        def look_up_here(host, *arguments, **options):
            if host is not None and not self._is_here(host if isinstance(host, str) else host.decode()):
                raise socket.gaierror(f"{host} is not on this machine")
            return look_up(host, *arguments, **options)

        socket.socket.connect, socket.getaddrinfo = connect_here, look_up_here

    def _is_here(self, host):
        if host in ("localhost", ""):
            return True
        try:
            is_here = ipaddress.ip_address(host).is_loopback
        except ValueError:
            is_here = False
        if not is_here:
            self.tried.append(host)
        return is_here


class Errors(logging.Handler):
    """What the peer logged as an error, which is all one hears of it where the peer goes on without."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        """Keep it."""
        self.said.append(record.getMessage()[:300])


def drive(open_peer):
    """Do what stdin says with the peer that `open_peer(task)` gives: it can `say` sayings at once, `told` an agent's facts, and `close`."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    refusing, errors = Refusing(), Errors()
    refusing.install()
    logging.getLogger().addHandler(errors)
    task = json.loads(sys.stdin.readline())
    peer = open_peer(task)
    peer.say([{"agent": "nobody", "text": "The lamp in the hall is green.", "at": "2024-01-01T00:00:00+00:00"}])
    _tell(out, {"ready": True, "version": peer.version})
    sys.stdin.readline()

    raised = []
    started = time.perf_counter()
    for sayings in task["rounds"]:
        raised += [f"{type(error).__name__}: {error}"[:300] for error in peer.say(sayings) if error is not None]
    _tell(out, {"seconds": time.perf_counter() - started})
    sys.stdin.readline()

    told = {agent: peer.told(agent) for agent in sorted({saying["agent"] for sayings in task["rounds"] for saying in sayings})}
    peer.close()
    _tell(out, {"told": told, "raised": raised, "logged": errors.said, "reached_for": refusing.tried})


def _tell(out, what):
    out.write(json.dumps(what) + "\n")
    out.flush()
