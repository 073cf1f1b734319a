"""Everything that can break breaks once, in half a minute: the short form of `make chaos` (docs/reliability.md)."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers import claude
from tests.chaos import command, faults
from tests.chaos.run import Size, run
from tests.conftest import MEMORY
from tests.system.replica import FAIL, KILL

SEED = 7
QUICK = {
    "claim_after_s": 3,
    "max_attempts": 3,
    "page": 64,
    "retry_base_s": 0.1,
    "retry_cap_s": 0.5,
    "time_limit_s": 20,
    "stream_keep_s": 1,
    "mind_timeout_s": 1,
    "test_unanswered_s": 4,
    "test_mind_wait_s": 0.5,
}
SHORT = Size(events=500, replicas=2, publishing_s=10, settling_s=200, plan=faults.short_plan, waits=QUICK)


@pytest.fixture
def home() -> Iterator[Path]:
    """In memory where there is some, as for every test: what is synced there is synced at once."""
    with tempfile.TemporaryDirectory(
        prefix="nous-chaos-", dir=MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    ) as folder:
        yield Path(folder)


@pytest.mark.timeout(280)
async def test_under_every_fault_each_accepted_event_has_its_one_effect_or_is_parked_with_a_reason(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    said: list[str] = []
    outcome = await run(home, SHORT, SEED, say=said.append)
    assert outcome.verdict.wrong == {}, "\n".join(said)
    assert {fault.kind for fault, _ in outcome.faults} == set(faults.PORTIONS)
    assert outcome.accepted == SHORT.events
    assert outcome.missing, "Redis lost something, and it was told again"
    assert outcome.killed
    assert outcome.died, "of an event that kills"
    assert outcome.wrong_kinds.keys() > {FAIL, KILL}, "and there were malformed bodies"


def test_a_folder_that_holds_what_another_run_left_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "stack").mkdir()
    with pytest.raises(SystemExit):
        command.main(["--home", str(home)])
    assert "holds what another run left" in capsys.readouterr().err
    assert [one.name for one in home.iterdir()] == ["stack"]
