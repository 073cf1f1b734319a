"""A model in a process of its own: what comes back, what happens when it fails or dies, and that it outlives nobody."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from nous.errors import Misconfigured
from providers.apart import ModelFailed, Pool, loading
from providers.bundled import BundledEmbedder
from providers.embedder import Profile
from tests.conftest import repository, until

SMALL = "tests.providers.small_model"
PROFILE = Profile(name="small", dimension=2, confirm_similarity=0.9, check_similarity=0.8, episode_similarity=0.8)


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(SMALL, processes=1)
    yield pool
    pool.close()


def process_of(pool: Pool) -> int:
    return int(pool([""])[0][1])


def test_each_text_gets_its_row_in_order_whatever_is_in_it(pool: Pool) -> None:
    assert [row[0] for row in pool(["a", "", "\ud800", "文字", "\x00\n"])] == [2, 1, 2, 3, 3]


def test_texts_the_model_fails_at_are_an_error_and_the_process_goes_on(pool: Pool) -> None:
    before = process_of(pool)
    with pytest.raises(ModelFailed, match="ValueError: cannot read 'fail'"):
        pool(["a", "fail"])
    assert process_of(pool) == before


def test_texts_the_process_dies_of_are_an_error_and_the_next_get_a_new_one(pool: Pool) -> None:
    before = process_of(pool)
    with pytest.raises(ModelFailed, match=r"died \(exit code -6\)"):
        pool(["die"])
    assert process_of(pool) != before


def test_a_process_killed_while_it_had_nothing_to_do_is_replaced(pool: Pool) -> None:
    before = process_of(pool)
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert process_of(pool) != before


def test_what_the_model_lacks_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMALL_MODEL", "missing")
    with pytest.raises(Misconfigured, match="not installed; install it"):
        Pool(SMALL, processes=2)


async def test_an_embedder_works_its_chunks_in_as_many_processes_as_it_has_threads() -> None:
    embedder = BundledEmbedder(PROFILE, loading(SMALL, processes=2), threads=2)
    await embedder.open()
    models = [child for child in psutil.Process().children() if SMALL in child.cmdline()]
    await asyncio.gather(*(embedder.embed([str(number)] * 50) for number in range(8)))
    await embedder.close()
    assert [model.is_running() for model in models] == [False, False]


def test_a_process_that_nobody_hears_any_more_ends_without_a_word() -> None:
    """Its worker was killed while the model was loading, so what it says at last goes nowhere."""
    process = subprocess.Popen(
        [sys.executable, "-m", "providers.apart", SMALL],
        cwd=repository(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stdin is not None
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stdin.close()
    process.stderr.close()


async def test_the_process_ends_when_its_worker_is_killed() -> None:
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import time; from providers.apart import Pool; Pool('{SMALL}', 1)(['a']); print('up', flush=True); time.sleep(60)",
        ],
        cwd=repository(),
        stdout=subprocess.PIPE,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == b"up\n"
    (model,) = psutil.Process(worker.pid).children()
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()

    async def is_gone() -> bool:
        return not model.is_running() or model.status() == psutil.STATUS_ZOMBIE

    await until(is_gone, within_s=10, what="the end of the model's process")
