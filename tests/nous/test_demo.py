"""The demo on the real embedder, as a newcomer runs it: once, and once more."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOUS = str(Path(sys.executable).with_name("nous"))


def demonstrated(home: Path, *words: str, **over: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("NOUS_", "ANTHROPIC_"))} | {
        "NOUS_HOME": str(home),
        **over,
    }
    done = subprocess.run([NOUS, "demo", *words], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "FORCE_COLOR" in over or not done.stderr  # on a terminal it says there what it is doing
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


@pytest.fixture(scope="module")
def first(home: Path) -> str:
    return demonstrated(home)


@pytest.fixture(scope="module")
def second(home: Path, first: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(demonstrated(home, "--json"))
    return told


def test_the_report_says_what_came_in_and_what_became_of_it(first: str) -> None:
    assert "122 deliveries of 120 events from agent harbour-desk" in first
    assert "2 to 15 March 2026" in first
    for line in ("103  stored", "15  confirmed", "2  skipped", "2  repeated"):
        assert line in first
    assert "known already, and nothing changed" not in first


def test_the_report_shows_what_was_almost_merged_and_why_it_was_not(first: str) -> None:
    apart = first[first.index("Almost merged, and kept apart") : first.index("Likely twins")]
    assert "number 10⁵ ≠ 105" in apart
    assert "role Yusuf teaches Pip ≠ Pip teaches Yusuf" in apart


def test_the_report_shows_what_is_no_longer_true_and_since_when(first: str) -> None:
    assert "pairs by rule (no model is set):" in first
    gone = first[first.index("No longer true") : first.index("Heard again")]
    for line in ("until 6 March   The night alarm is enabled.", "negation ∅ ≠ not", "Yiayia Eleni's phone number is 555-0163."):
        assert line in gone
    assert "555-0163" not in first[first.index("Almost merged") :], "what was retired is shown once"
    assert "facts --as-of 2026-03-02" in first


def test_the_report_is_plain_in_a_pipe_and_fits_two_screens(first: str) -> None:
    assert "\x1b" not in first
    assert len(first.splitlines()) <= 80
    assert "explain fact " in first


def test_a_second_run_changes_nothing_and_says_so(second: dict[str, Any]) -> None:
    assert (second["known_before"], second["is_unchanged"], second["repeated"]) == (120, True, 122)
    assert second["outcomes"] == {"stored": 103, "confirmed": 15, "skipped": 2}
    judged = second["judged"]
    gone = len(judged["superseded"]) + len(judged["merged"])
    assert (second["facts"], len(second["confirmed"])) == (103 - gone, 15)
    assert (judged["minds"], judged["tokens"], judged["pairs"] >= judged["unsure"] > 0) == (["offline-2"], 0, True)


def test_a_third_run_reports_the_same_in_black_and_white_on_a_narrow_terminal(home: Path, first: str, second: dict[str, Any]) -> None:
    shown = demonstrated(home, FORCE_COLOR="1", NO_COLOR="1", COLUMNS="80", TERM="xterm")
    assert "Every one of these events was known already, and nothing changed." in shown
    assert "\x1b[3" not in shown.replace("\x1b[3m", "")
    for line in ("103", "Almost merged, and kept apart", "number 10⁵ ≠ 105"):
        assert line in shown
