"""Everything that can break breaks once, in half a minute: the short form of `make chaos` (docs/reliability.md)."""

from pathlib import Path

import pytest

from providers import claude
from tests.chaos import faults, lives
from tests.chaos.run import Outcome, Size, run

SEED = 7
QUICK = {
    "claim_after_s": 4,
    "retry_base_s": 0.1,
    "retry_cap_s": 0.5,
    "time_limit_s": 20,
    "stream_keep_s": 1,
    "mind_timeout_s": 1,
    "test_unanswered_s": 4,
    "test_mind_wait_s": 0.5,
}
SHORT = Size(events=1_500, replicas=2, publishing_s=15, settling_s=120, plan=faults.short_plan, waits=QUICK)


@pytest.mark.timeout(240)
async def test_under_every_fault_each_accepted_event_has_its_one_effect_or_is_parked_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    said: list[str] = []
    outcome = await run(tmp_path, SHORT, SEED, say=said.append)
    assert outcome.verdict.wrong == {}, "\n".join(said)
    assert {fault.kind for fault, _ in outcome.faults} == set(faults.PORTIONS)
    assert outcome.accepted == SHORT.events
    assert _everything_happened(outcome)


def _everything_happened(outcome: Outcome) -> bool:
    """What the test is about was there: lost by Redis and told again, malformed, poison that fails and poison that kills."""
    assert outcome.missing
    assert outcome.killed
    assert outcome.died
    assert outcome.verdict.counts["parked, malformed"]
    return outcome.wrong_kinds[lives.FAIL] > 0 and outcome.wrong_kinds[lives.KILL] > 0
