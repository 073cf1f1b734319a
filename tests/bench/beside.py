"""What else the machine did while something was measured: everybody's processor time, less ours."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil


@dataclass
class Stretch:
    """A measured stretch: how long it took, and how many cores others used meanwhile. Known when it is over."""

    seconds: float = 0.0
    others: float = 0.0


@contextmanager
def measured() -> Iterator[Stretch]:
    """Time the block."""
    stretch = Stretch()
    busy, ours, started = _busy_s(), family_cpu_s(psutil.Process()), time.perf_counter()
    yield stretch
    stretch.seconds = time.perf_counter() - started
    spent = _busy_s() - busy - (family_cpu_s(psutil.Process()) - ours)
    stretch.others = max(spent, 0.0) / stretch.seconds


def family(process: psutil.Process) -> list[psutil.Process]:
    """A process and everything it started."""
    return [process, *process.children(recursive=True)]


def family_cpu_s(process: psutil.Process) -> float:
    """Processor seconds of a process and everything it started that still runs."""
    total = 0.0
    for one in family(process):
        with suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def _busy_s() -> float:
    times = psutil.cpu_times()._asdict()
    idle = ("idle", "iowait", "guest", "guest_nice")  # a guest's time is counted as user's already
    return sum(spent for name, spent in times.items() if name not in idle)
