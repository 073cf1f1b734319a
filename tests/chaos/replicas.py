"""Replicas of every worker and the archivist, started again when they die, as an orchestrator does.

A replica is two processes, for the workers that ask a mind have hundreds of questions open at once: a page that is written beside them, in
the same event loop, waits for its turn at every statement with the locks of its agents held.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random

import workers
from nous.embedded.become import PR_SET_PDEATHSIG
from tests.system.replica import run
from workers.runtime import streams

FORKING = multiprocessing.get_context("forkserver")
LOOKED_AFTER_EVERY_S = 0.1
STOPPED_WITHIN_S = 40.0


class Replicas:
    """For each environment a process of the workers that ask a mind and one of the others.

    `died` counts every end, `killed` those that were meant.
    """

    def __init__(self, environments: Sequence[Mapping[str, str]], log: Path) -> None:
        FORKING.set_forkserver_preload(["pytest", "tests.system.loaded", __name__])
        self._environments = [dict(os.environ) | dict(environment) for environment in environments]
        self._log = log
        table = workers.table()
        asking = [name for name in table if table[name].asks]
        self._shares = (asking, [*(name for name in table if name not in asking), streams.ARCHIVIST])
        self.killed = self.died = 0
        self.living = [self._started(place) for place in range(len(environments) * len(self._shares))]

    async def look_after(self) -> None:
        """Start another for each that ended; until cancelled."""
        while True:
            for place, process in enumerate(self.living):
                if process.exitcode is not None:
                    self.died += 1
                    self.living[place] = self._started(place)
                    process.close()
            await asyncio.sleep(LOOKED_AFTER_EVERY_S)

    def kill(self, dice: Random) -> int:
        """Kill one of them with -9; its pid."""
        process = dice.choice([one for one in self.living if one.exitcode is None])
        process.kill()
        self.killed += 1
        return process.pid or 0

    def pids(self) -> list[int]:
        """Of those that live."""
        return [process.pid for process in self.living if process.pid and process.exitcode is None]

    def stop(self) -> list[int | None]:
        """Ask all to stop and wait until they have; their exit codes."""
        for process in self.living:
            process.terminate()
        for process in self.living:
            process.join(STOPPED_WITHIN_S)
        return [process.exitcode for process in self.living]

    def end(self) -> None:
        """Whatever still runs is killed."""
        for process in self.living:
            process.kill()
            process.join()
            process.close()

    def _started(self, place: int) -> BaseProcess:
        replica, share = divmod(place, len(self._shares))
        process = FORKING.Process(target=_bound, args=(self._shares[share], self._environments[replica], self._log), daemon=True)
        process.start()
        return process


def _bound(names: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """A replica that ends with this program, however that ends: the fork server goes with it, and the kernel takes its children."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    run(names, environment, log)
