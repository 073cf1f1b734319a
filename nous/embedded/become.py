"""The last thing a process does before it becomes a server: it leaves root and ties its life to its parent's.

    python -I -S become.py UID GID PARENT SIGNAL PROGRAM ARGUMENT...

It is a program of its own, with the standard library alone, because nothing of ours may run between fork and exec in a process
that has threads. It starts as its parent's user, so a Python that only root can read is no obstacle.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def become() -> None:
    """Leave root for UID and GID, have the kernel send SIGNAL when PARENT dies (Linux), and become PROGRAM."""
    uid, gid, parent, death_signal = map(int, sys.argv[1:5])
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit(f"process {parent}, which started this server, is gone already; nothing was started")
    os.execv(sys.argv[5], sys.argv[5:])  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    become()
