"""`nous recall`: a look at what an agent is told, as a person sees it."""

import pytest

from store import censors, facts
from store.database import Database
from tests.factories import a_censor, a_fact
from tests.nous.conftest import Nous

TEA = a_fact(agent_id="a", content="Maria drinks green tea in the morning", provenance="user_stated")
DESK = a_fact(agent_id="a", content="The desk is by the window", provenance="user_stated")


@pytest.fixture
async def remembered(database: Database) -> None:
    async with database.write(["a", "b"]) as db:
        await facts.insert(db, [TEA, DESK, a_fact(agent_id="b", content="Maria drinks nothing")])
        await censors.insert(db, a_censor(agent_id="a", trigger_pattern="tea", reason="she has had enough"))


async def test_what_an_agent_is_told_is_printed_as_it_is_told(nous: Nous, remembered: None) -> None:
    shown = await nous("recall", "What does Maria drink?", "--agent", "a")
    assert shown.exit_code == 0
    assert TEA.content in shown.stdout
    assert "nothing" not in shown.stdout
    assert "frame question" in shown.stderr


async def test_a_machine_is_given_what_the_api_gives_but_for_the_id_that_is_counted(nous: Nous, remembered: None) -> None:
    told = await nous.json("recall", "Is there tea for Maria?", "--agent", "a", "--kind", "fact", "--explain")
    assert told["memories"][0]["id"] == str(TEA.fact_id)
    assert [one["reason"] for one in told["censors"]] == ["she has had enough"]
    assert {one["id"] for one in told["explained"]["candidates"]} == {str(TEA.fact_id), str(DESK.fact_id)}
    assert "recall_id" not in told


async def test_why_something_was_told_or_not_is_a_line_each(nous: Nous, remembered: None) -> None:
    shown = await nous("recall", "What does Maria drink?", "--agent", "a", "--budget", "0", "--explain")
    _, *candidates = (line for line in shown.stdout.splitlines() if "\t" in line)
    assert {line.split("\t")[6] for line in candidates} == {TEA.content, DESK.content}
    assert all("budget" in line.split("\t")[7] for line in candidates)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--frame", "poetry"], "poetry"),
        (["--kind", "feeling"], "there is no kind of memory 'feeling'"),
        (["--budget", "-1"], "a budget of -1 tokens does not do"),
    ],
)
async def test_what_cannot_be_meant_is_said(nous: Nous, remembered: None, asked: list[str], says: str) -> None:
    shown = await nous("recall", "What does Maria drink?", "--agent", "a", *asked)
    assert shown.exit_code == 2
    assert says in shown.stderr
