"""`nous recall`: a look at what an agent is told, as a person sees it."""

import re

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
    assert "What is archived, or not true at the time that is asked about, was not looked at: nous facts --all" in shown.stderr
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


@pytest.mark.parametrize("budget", ["0", "20", "60"])
async def test_a_budget_too_small_for_any_memory_is_not_told_as_having_none(nous: Nous, remembered: None, budget: str) -> None:
    question = ("recall", "What does Maria drink in the morning?", "--agent", "a", "--kind", "fact")
    shown = await nous(*question, "--budget", budget)
    assert "Nothing bears on it" not in shown.stdout
    told = re.search(r"(\d+) memor\w+ bears? on it, and a budget of (\d+) tokens has no room for .+; (\d+) would do", shown.stdout)
    assert told is not None, shown.stdout
    enough = await nous.json(*question, "--budget", told[3])
    assert (len(enough["memories"]), enough["no_room"], told[2]) == (int(told[1]), None, budget)
    short = await nous.json(*question, "--budget", budget)
    assert short["no_room"] == {"count": int(told[1]), "budget": int(budget), "enough": int(told[3])}


async def test_an_agent_of_whom_nothing_bears_on_it_is_told_so(nous: Nous, remembered: None) -> None:
    shown = await nous("recall", "zebra?", "--agent", "b", "--kind", "episode")
    assert "Nothing bears on it." in shown.stdout


async def test_an_agent_whose_name_is_misspelt_is_told_apart_from_one_with_nothing_to_tell(nous: Nous, database: Database) -> None:
    async with database.write(["harbour-desk"]) as db:
        await facts.insert(db, [a_fact(agent_id="harbour-desk")])
    says = "Nothing is kept of agent 'harbor-desk' (did you mean harbour-desk?)."
    for words in (("recall", "tea?"), ("facts",), ("episodes",), ("decisions",), ("procedures",), ("session", "list")):
        assert says in (await nous(*words, "--agent", "harbor-desk")).stdout, words
    assert "Nothing is kept" not in (await nous("episodes", "--agent", "harbour-desk")).stdout


async def test_a_question_that_asks_nothing_is_a_mistake(nous: Nous, remembered: None) -> None:
    shown = await nous("recall", " ", "--agent", "a")
    assert (shown.exit_code, "the question is empty" in shown.stderr) == (2, True)
