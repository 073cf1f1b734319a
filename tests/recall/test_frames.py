"""What an agent is told about a kind of work: the spec's cases 23 to 26 (000), and an operator's own words instead."""

import tomllib
from pathlib import Path

import pytest

from nous.errors import Misconfigured, UserMistake
from nous.settings import Settings
from recall import frames
from tests.conftest import repository

# ── the spec's cases ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_case_23_the_decision_frame_says_what_is_a_decision() -> None:
    assert "What IS a decision:" in frames.instructions("decision")


def test_case_24_the_decision_frame_says_what_is_not_a_decision() -> None:
    told = frames.instructions("decision")
    assert "What is NOT a decision:" in told
    assert "Do NOT record these" in told


def test_case_25_the_task_frame_warns_against_routine_completions() -> None:
    assert "Do NOT record routine task completions" in frames.instructions("task")


def test_case_26_the_debug_frame_warns_against_routine_debug_steps() -> None:
    assert "Do NOT record routine debug steps" in frames.instructions("debug")


# ── as data ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_shipped_is_what_lies_in_the_package_and_the_package_says_so() -> None:
    package = repository() / "recall" / "frames"
    assert sorted(path.stem for path in (package / "instructions").iterdir()) == sorted(frames.SHIPPED) == frames.names()
    shipping = tomllib.loads((repository() / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "recall.frames" in shipping["packages"]
    assert shipping["package-data"]["recall.frames"] == ["instructions/*.md"]


@pytest.mark.parametrize("event", ["decision_recorded", "decision_reviewed", "fact_learned", "procedure_learned", "procedure_used"])
def test_every_event_of_an_agents_work_is_named_where_it_is_of_use(event: str) -> None:
    assert any(f"`{event}`" in frames.instructions(frame) for frame in frames.SHIPPED)


def test_a_file_of_ones_own_is_told_instead_and_another_name_is_another_frame(tmp_path: Path) -> None:
    (tmp_path / "decision.md").write_text("Entscheide, und schreib es auf.\n", "utf-8")
    (tmp_path / "chat.md").write_text("Be kind.\n", "utf-8")
    (tmp_path / "notes.txt").write_text("not a frame", "utf-8")
    settings = Settings(frames_folder=tmp_path)
    assert frames.instructions("decision", folder=settings.frames_folder) == "Entscheide, und schreib es auf.\n"
    assert frames.instructions("chat", folder=tmp_path) == "Be kind.\n"
    assert frames.instructions("task", folder=tmp_path) == frames.instructions("task")
    assert frames.names(tmp_path) == ["chat", "debug", "decision", "task"]


@pytest.mark.parametrize("frame", ["poetry", "", "../instructions/task", "decision.md"])
def test_a_frame_nobody_wrote_is_a_mistake_that_names_those_there_are(frame: str, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="the frames are debug, decision, task"):
        frames.instructions(frame, folder=tmp_path)


def test_a_folder_that_cannot_be_read_names_the_setting(tmp_path: Path) -> None:
    for folder in (tmp_path / "nowhere", repository() / "README.md"):
        with pytest.raises(Misconfigured, match=r"NOUS_FRAMES_FOLDER is .* which cannot be read: "):
            frames.instructions("task", folder=folder)


@pytest.mark.parametrize(("kept", "why"), [(b"\xff\xfe", "it is not UTF-8"), (b" \n", "are empty"), (None, "cannot be read")])
def test_a_file_that_cannot_be_told_is_named(kept: bytes | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "task.md"
    path.mkdir() if kept is None else path.write_bytes(kept)
    with pytest.raises(Misconfigured, match=why):
        frames.instructions("task", folder=tmp_path)
