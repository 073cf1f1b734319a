"""A test that hangs ends by itself and says where it hung: one that does not holds up all of them, and nobody learns which it was."""

import subprocess
import sys
from pathlib import Path

import pytest

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
HANGS = {
    "a test that waits on the loop": ("async def test_one():\n    await asyncio.Event().wait()", "1 failed, 1 passed"),
    "a test that is never at rest": ("async def test_one():\n    while True:\n        await asyncio.sleep(0)", "1 failed, 1 passed"),
    "a test that waits where no loop runs": ("def test_one():\n    threading.Event().wait()", "1 failed, 1 passed"),
    "a fixture that is not put away": ("async def test_one(never_put_away):\n    pass", "2 passed, 1 error"),
    "a fixture that is not put away after a test that failed": (
        "async def test_one(never_put_away):\n    assert not 'right'",
        "1 failed, 1 passed, 1 error",
    ),
}


@pytest.mark.parametrize(("hang", "outcome"), HANGS.values(), ids=HANGS.keys())
def test_what_waits_for_ever_is_ended_and_the_next_test_goes_on(tmp_path: Path, hang: str, outcome: str) -> None:
    ended = _ran(tmp_path, hang)
    assert f"{outcome} in" in ended.stdout
    assert "over its time, 2 s" in ended.stdout


def test_the_report_says_where_everything_waited(tmp_path: Path) -> None:
    ended = _ran(tmp_path, "async def test_one():\n    server = asyncio.create_task(a_server())\n    await asyncio.Event().wait()")
    assert ">       await asyncio.Event().wait()" in ended.stdout
    assert "await asyncio.sleep(600)" in ended.stdout


def test_what_cannot_be_cancelled_is_aborted_with_the_stack_of_every_thread(tmp_path: Path) -> None:
    ended = _ran(tmp_path, "async def test_one():\n    await asyncio.to_thread(threading.Event().wait)")
    assert ended.returncode == -6
    assert "Fatal Python error: Aborted" in ended.stderr
    assert "threading.py" in ended.stderr


def _ran(folder: Path, hang: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests, the first of which hangs, for two seconds each."""
    (folder / "test_hang.py").write_text(f"{HOUSE}{hang}\n\nasync def test_two():\n    pass\n")
    modes = [f"--override-ini=asyncio_default_{what}_loop_scope=session" for what in ("fixture", "test")]
    command = [sys.executable, "-m", "pytest", "-p", "tests.overtime", "-p", "no:cacheprovider", "--asyncio-mode=auto", "--timeout=2"]
    return subprocess.run(
        [*command, *modes, "--rootdir", folder, folder], cwd=repository(), capture_output=True, text=True, timeout=120, check=False
    )
