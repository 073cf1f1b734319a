"""The contract travels alone: `events/` is a wheel of its own, with a name that nobody else has."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pydantic
import pytest

from tests.conftest import repository

AGENT = """
import json, sys
sys.path[:0] = sys.argv[1:]
try:
    import events
except ModuleNotFoundError:
    pass
else:
    raise SystemExit(f"the application is importable from {events.__file__}, so this proves nothing")
import nous_memory_events as contract
if "httpx" in sys.modules:
    raise SystemExit("the contract alone needs no HTTP client")
from nous_memory_events.client import Client
assert Client.begin.__annotations__["return"].__module__ == "nous_memory_events.answers"
body = {"fact_id": "5f0c1a52-6f3e-4c1b-9d57-0a4d3c1e8b21", "content": "Tea at four.", "agent_id": "agent-7"}
event = contract.decode(contract.FactLearned, contract.body_of({b"data": json.dumps(body).encode()}), "1772366400000-0")
assert contract.decode(contract.FactLearned, contract.encode(event), "1772366400000-0") == event
print(contract.__name__, event.stream, event.agent_id, event.occurred_at.isoformat())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = shutil.copytree(repository() / "events", folder / "events", ignore=shutil.ignore_patterns("__pycache__"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--quiet",
        "--wheel-dir",
        folder,
        copy,
    ]
    built = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    assert built.returncode == 0, built.stderr
    [made] = folder.glob("*.whl")
    return made


def test_an_agent_that_has_only_the_wheel_decodes_an_event(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    installed = Path(pydantic.__file__).parents[1]  # as a plain folder: its .pth files, one of which is this checkout's, are not read
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", AGENT, str(tmp_path), str(installed)], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["nous_memory_events", "fact_learned", "agent-7", "2026-03-01T12:00:00+00:00"]


def test_the_wheel_holds_the_contract_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        modules = {name for name in opened.namelist() if ".dist-info/" not in name}
        [metadata] = (opened.read(name).decode() for name in opened.namelist() if name.endswith("/METADATA"))
    assert modules == {f"nous_memory_events/{source.name}" for source in (repository() / "events").glob("*.py")}
    needs = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert needs == ["pydantic>=2.12", 'httpx>=0.28; extra == "client"']


def test_the_wheel_has_the_version_and_the_bounds_of_the_application() -> None:
    whole, alone = (tomllib.loads((repository() / path).read_text())["project"] for path in ("pyproject.toml", "events/pyproject.toml"))
    assert (alone["version"], alone["requires-python"]) == (whole["version"], whole["requires-python"])
    assert {*alone["dependencies"], *alone["optional-dependencies"]["client"]} <= set(whole["dependencies"])
