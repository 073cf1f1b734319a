"""What agents decided and how they do things, as a person publishes and sees it."""

import re
import uuid

import pytest

from store import decisions, procedures
from store.database import Database
from tests import factories
from tests.factories import NOON
from tests.nous.conftest import Nous

DECISION, PROCEDURE = uuid.UUID(int=7), uuid.UUID(int=8)
NOISE = "it is worth 17 letters, under 20, and no reason is given"


def plain(shown: str) -> str:
    """Without the terminal's colours."""
    return re.sub("\x1b\\[[\\d;]*m", "", shown)


@pytest.fixture
async def two_decisions(database: Database) -> None:
    kept = factories.a_decision(agent_id="a", decision_id=DECISION, reasons=("one thing to run",))
    report = factories.a_decision(
        agent_id="b",
        description="Git clone success",
        brief="Git clone success [80% confidence]",
        noise=NOISE,
        decided_at=NOON.replace(hour=13),
    )
    for one in (kept, report):
        async with database.write([one.agent_id]) as db:
            await decisions.put(db, [one])


@pytest.fixture
async def a_procedure(database: Database) -> None:
    kept = factories.a_procedure(
        agent_id="a", procedure_id=PROCEDURE, activation_count=4, success_count=2, failure_count=1, last_activated=NOON
    )
    async with database.write(["a"]) as db:
        await procedures.put(db, [kept])


async def test_what_is_typed_becomes_a_decision_a_review_a_procedure_and_a_use(nous: Nous, working: None) -> None:
    decision = ["agent_id=a", f"decision_id={DECISION}"]
    await nous.json("publish", "decision_recorded", *decision, "description=Keep the monolith", 'reasons=["it is small", "so are we"]')
    await nous.json("publish", "decision_reviewed", *decision, "outcome=success", "note=Nobody missed the rest.")
    procedure = ["agent_id=a", f"procedure_id={PROCEDURE}"]
    await nous.json("publish", "procedure_learned", *procedure, "name=Release", "core_patterns=tag", "core_patterns=push")
    await nous.json("publish", "procedure_used", *procedure, "worked=true")
    assert (await nous("wait")).exit_code == 0
    (decided,) = await nous.json("decisions")
    assert (decided["reasons"], decided["outcome"], decided["noise"]) == (["it is small", "so are we"], "success", None)
    assert decided["brief"] == "Keep the monolith [success] [50% confidence]"
    (learned,) = await nous.json("procedures")
    assert (learned["core_patterns"], learned["activation_count"], learned["effectiveness"]) == (["tag", "push"], 1, 1.0)
    assert learned["brief"] == "Release: tag; push"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["decision_recorded", "reasons=[because"], "reasons is a list, and '[because' is not JSON"),
        (["decision_recorded", "outcome=great"], "outcome: "),
        (["decision_recorded", "confidence=sure"], "confidence: "),
        (["procedure_learned", 'core_patterns=["tag", 2]'], "core_patterns"),
    ],
)
async def test_a_field_that_does_not_fit_is_one_sentence(nous: Nous, words: list[str], told: str) -> None:
    ids = ["agent_id=a", f"decision_id={DECISION}", "description=d"]
    if words[0] == "procedure_learned":
        ids = ["agent_id=a", f"procedure_id={PROCEDURE}", "name=n"]
    result = await nous("publish", *words, *ids)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


async def test_decisions_are_a_line_each_in_a_pipe_the_latest_first(nous: Nous, two_decisions: None) -> None:
    heading, report, kept = (await nous("decisions")).stdout.splitlines()
    assert heading.split("\t") == ["decision_id", "agent_id", "decided", "decision", "noise"]
    assert report.split("\t")[1:] == ["b", "2026-03-01 13:00", "Git clone success [80% confidence]", NOISE]
    assert kept.split("\t") == [str(DECISION), "a", "2026-03-01 12:00", "Postgres, not SQLite [80% confidence]"]


async def test_noise_is_listed_alone_and_an_agents_own_too(nous: Nous, two_decisions: None) -> None:
    assert [one["agent_id"] for one in await nous.json("decisions", "--noise")] == ["b"]
    assert [one["agent_id"] for one in await nous.json("decisions", "--agent", "a")] == ["a"]
    assert [one["agent_id"] for one in await nous.json("decisions", "--limit", "1")] == ["b"]
    assert (await nous("decisions", "--noise", "--agent", "a")).stdout == "No decisions of agent 'a' that read like status reports.\n"


@pytest.mark.parametrize("columns", ["80", "160"])
async def test_on_a_terminal_each_is_a_row_that_says_why_it_is_doubted(nous: Nous, two_decisions: None, columns: str) -> None:
    shown = plain((await nous("decisions", FORCE_COLOR="1", COLUMNS=columns)).stdout)
    flat = " ".join(shown.split())
    assert str(DECISION) in flat
    assert "reads like a status report: it is worth 17 letters" in flat
    assert max(map(len, shown.splitlines())) <= int(columns)


async def test_procedures_show_how_often_they_were_used_and_worked(nous: Nous, a_procedure: None) -> None:
    heading, kept = (await nous("procedures")).stdout.splitlines()
    assert heading.split("\t") == ["procedure_id", "agent_id", "used", "worked", "failed", "last_used", "procedure"]
    assert kept.split("\t") == [str(PROCEDURE), "a", "4", "2", "1", "2026-03-01 12:00", "Release: tag; push"]
    (told,) = await nous.json("procedures", "--agent", "a")
    assert told["effectiveness"] == 0.6667
    for columns in (80, 160):
        shown = plain((await nous("procedures", FORCE_COLOR="1", COLUMNS=str(columns))).stdout)
        assert max(map(len, shown.splitlines())) <= columns
        assert str(PROCEDURE) in shown
        assert "×4, 2 of 3 worked" in shown


async def test_where_there_is_nothing_it_says_how_to_begin(nous: Nous) -> None:
    assert "Record one: " in (await nous("decisions")).stdout
    assert "Teach one: " in (await nous("procedures", "--agent", "a")).stdout
    assert await nous.json("decisions") == await nous.json("procedures") == []
