"""A test that hangs ends by itself and says where it hung: one that does not holds up all of them, and nobody learns which it was."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import repository

HOUSE = """
import asyncio, threading, uvloop
import pytest

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

@pytest.fixture
async def never_put_away():
    yield
    await asyncio.Event().wait()

async def a_server():
    await asyncio.sleep(600)

"""
HANGING = """
async def test_waits_on_the_loop():
    server = asyncio.create_task(a_server())
    await asyncio.Event().wait()

async def test_is_never_at_rest():
    while True:
        await asyncio.sleep(0)

def test_waits_where_no_loop_runs():
    threading.Event().wait()

async def test_is_not_put_away(never_put_away):
    pass

async def test_fails_and_is_not_put_away(never_put_away):
    assert not "right"

async def test_comes_after():
    pass
"""
BEYOND_CANCELLING = """
async def test_waits_for_a_thread():
    await asyncio.to_thread(threading.Event().wait)
"""


def test_what_waits_for_ever_is_ended_says_where_it_waited_and_the_next_test_goes_on(tmp_path: Path) -> None:
    ended = _ran(tmp_path, HANGING)
    assert re.findall(r"^(?:PASSED|FAILED|ERROR) .*::\w+", ended.stdout, re.MULTILINE) == [
        "PASSED test_hang.py::test_is_not_put_away",
        "PASSED test_hang.py::test_comes_after",
        "ERROR test_hang.py::test_is_not_put_away",
        "ERROR test_hang.py::test_fails_and_is_not_put_away",
        "FAILED test_hang.py::test_waits_on_the_loop",
        "FAILED test_hang.py::test_is_never_at_rest",
        "FAILED test_hang.py::test_waits_where_no_loop_runs",
        "FAILED test_hang.py::test_fails_and_is_not_put_away",
    ]
    assert len(re.findall(r"^E .*over its time, 2 s$", ended.stdout, re.MULTILINE)) == 5
    assert ">       await asyncio.Event().wait()" in ended.stdout
    assert "await asyncio.sleep(600)" in ended.stdout, "what else waited is told too"


def test_what_cannot_be_cancelled_is_aborted_with_the_stack_of_every_thread(tmp_path: Path) -> None:
    ended = _ran(tmp_path, BEYOND_CANCELLING)
    assert ended.returncode == -6
    assert "Fatal Python error: Aborted" in ended.stderr
    assert 'threading.py", line' in ended.stderr


def test_without_a_time_nothing_is_ended(tmp_path: Path) -> None:
    ended = _ran(tmp_path, "def test_fails():\n    assert not 'right'\n\ndef test_comes_after():\n    pass\n", "--timeout=0")
    assert "1 failed, 1 passed" in ended.stdout


def _ran(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run these tests, with two seconds for each."""
    (folder / "test_hang.py").write_text(HOUSE + tests)
    plugins = [option for name in ("pytest_asyncio.plugin", "pytest_timeout", "tests.overtime") for option in ("-p", name)]
    loops = [f"--override-ini=asyncio_default_{what}_loop_scope=session" for what in ("fixture", "test")]
    command = [sys.executable, "-m", "pytest", *plugins, *loops, "--asyncio-mode=auto", "--timeout=2", "-rA", "--color=no", *options]
    return subprocess.run(
        [*command, "--rootdir", folder, folder],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(repository())},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
