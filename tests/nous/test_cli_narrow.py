"""On a terminal of sixty columns no word is broken, and nothing is cut off."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

from nous.cli import app, paragraphs, recall, screen

ID, WHEN, DAY, DERIVED = "5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10", "2026-03-01 09:30", "2026-03-01", "assistant_derived"


def shown(made: Table, width: int) -> str:
    file = StringIO()
    Console(file=file, force_terminal=True, color_system=None, width=width).print(made)
    return file.getvalue()


def table(names: str, *rows: tuple[str, ...], right: tuple[str, ...] = ()) -> Table:
    made = screen.table(*names.split("/"), right=right)
    for row in rows:
        made.add_row(*row)
    return made


TABLES = {
    "token list": table(
        "token id/agent/name/made/state", (ID, "harbour-desk", "the server in the harbour", WHEN, "until 2027-01-01 00:00")
    ),
    "group list": table(
        "stream/group/lag/pending/heard of/holds back",
        ("memory_referenced", "supersession_rechecker", "1,000", "12", WHEN, "1,000,000"),
        right=("lag", "pending", "holds back"),
    ),
    "facts": table(
        "fact/heard/vouched for by/true since", ("Maria drinks green tea in the morning", "×12", DERIVED, DAY), right=("heard",)
    ),
    "recall --explain": table(
        "score/relevance/cosine/words/factors/kind/memory/became",
        ("0.432", "0.500", "0.812", "0.25", "provenance 0.80, recency 0.93", "procedure", "Maria drinks green tea", "told"),
        right=("score", "relevance", "cosine", "words"),
    ),
}


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_no_word_is_broken_nor_lost_however_narrow_the_terminal(name: str, width: int) -> None:
    made = TABLES[name]
    told = shown(made, width)
    words = {word for column in made.columns for cell in column.cells for word in str(cell).split()}
    longest = width - max(len(str(column.header)) for column in made.columns) - 2
    assert {word for word in words if len(word) <= longest} <= set(told.split())
    assert all(len(line) <= width for line in told.splitlines())


def test_what_has_room_stays_a_table_and_what_has_none_is_told_field_by_field() -> None:
    made = TABLES["token list"]
    assert "token id" in shown(made, 120).splitlines()[0]
    assert len(shown(made, 120).splitlines()) == 2
    assert shown(made, 60).splitlines()[:2] == [f"token id  {ID}".ljust(46), "agent     harbour-desk".ljust(46)]


def test_fields_without_a_value_are_left_out_and_rows_without_headings_stay_as_they_are() -> None:
    assert "name" not in shown(table("token id/agent/name/made/state", (ID, "harbour-desk", "", WHEN, "good")), 50)
    plain = screen.rows(2)
    plain.add_row("listens on", "memory_referenced")
    assert shown(plain, 20).startswith("listens on  memory_r")


def test_prose_is_wrapped_between_words_on_a_terminal_and_is_one_line_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = f"where the two are one fact, which {ID} says; undone by nous fact split"
    screen.say(sentence, indent=2)
    assert capsys.readouterr().out == f"  {sentence}\n"
    monkeypatch.setattr(screen, "out", lambda: Console(force_terminal=True, width=40))
    screen.say(sentence, indent=2)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 40 and line.startswith("  ") for line in lines)
    assert " ".join(line.strip() for line in lines) == sentence


def test_a_candidate_of_a_recall_has_the_width_of_the_terminal_for_its_memory() -> None:
    one = {
        "score": 0.432,
        "relevance": 0.5,
        "similarity": 0.812,
        "words": 0.25,
        "factors": {"provenance": 0.8, "confidence": 1.0},
        "kind": "fact",
        "text": "Maria drinks green tea in the morning, and coffee only where there is no tea",
        "ended": "told",
    }
    file = StringIO()
    recall._print_narrow(Console(file=file, force_terminal=True, color_system=None, width=60), one)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "0.432  fact  told",
        "    relevance 0.500, cosine 0.812, words 0.25, provenance",
        "    0.80",
        "    Maria drinks green tea in the morning, and coffee only",
        "    where there is no tea",
    ]


def test_the_paragraphs_of_help_wrap_where_the_terminal_ends() -> None:
    shown = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).stdout
    assert " LIMIT is a number of things, or a share under 1; what is found by a sample is" in shown
    assert paragraphs.one_line_each("One.\n\n    Two\n    lines.\n") == "One.\n\nTwo lines."
