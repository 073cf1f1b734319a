"""On a terminal of sixty columns no word is broken, and nothing is cut off."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from nous.cli import screen

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
