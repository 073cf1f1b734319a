"""What is obviously no claim about the world is called junk, and nothing else is."""

import pytest

from nous.junk import KINDS, why_junk
from nous.trialling import exclusion
from workers.episodes import question

PROMPT = f"{question.facts_by(question.POSITIVE)} {question.facts_by(exclusion.CRITERION)}"

JUNK = [
    ("", "too short"),
    ("Yes.", "too short"),
    ("Maria", "too short"),
    ("Ja ja.", "too short"),
    ("Does Maria live in Oslo?", "a question"),
    ("Wohnt Maria in Oslo? ", "a question"),
    ("玛丽亚住在奥斯陆吗？", "a question"),
    ("Thank you so much!", "no content"),
    ("Hello, good morning to you.", "no content"),
    ("Muchas gracias, muy bien.", "no content"),
    ("The update was completed successfully.", "status"),
    ("Das Update wurde abgeschlossen.", "status"),
    ("The project is a project.", "tautology"),
    ("Maria is Maria, and she is Maria.", "tautology"),
    ("Would this fact help a future conversation that does not contain this turn", "echo"),
    ("As many as were asked for or fewer", "echo"),
]
CLAIMS = [
    "Maria lives in Oslo.",
    "Ida naps daily.",
    "The user's deadline is April 15, 2024.",
    "Maria est infirmière à Lyon.",
    "玛丽亚住在奥斯陆。",
    "マリアはオスロに住んでいる。",
    "Мария живёт в Осло.",
    "Maria does not eat meat.",
    "The status page of the project is at status.example.org.",
    "This fact helps a future user.",
    "The user's name is Craig.",
]


@pytest.mark.parametrize(("content", "kind"), JUNK)
def test_obvious_junk_is_named_by_its_kind(content: str, kind: str) -> None:
    assert why_junk(content, prompt=PROMPT) == kind


@pytest.mark.parametrize("content", CLAIMS)
def test_a_claim_is_no_junk_in_any_script(content: str) -> None:
    assert why_junk(content, subject="Maria", prompt=PROMPT) is None


def test_what_says_no_more_than_its_subject_is_a_tautology() -> None:
    assert why_junk("It is the Flask server.", subject="Flask server") == "tautology"
    assert why_junk("The Flask server is slow.", subject="Flask server") is None


def test_each_kind_is_in_the_table() -> None:
    assert {kind for _, kind in JUNK} == set(KINDS)
