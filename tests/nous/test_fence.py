"""A fence hides what was recalled, in its own turn only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nous.fence import recalled, without_recalled

MEBI = 2**20


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ("hi", "hi"),
        (f"a {recalled(['- tea'])} b {recalled([])} c", "a  b  c"),
        ("a < Recalled_Memory >x< / recalled_memory > b", "a  b"),
        ("a <recalled_memory> b", "a "),
        ("a </recalled_memory> b", "a </recalled_memory> b"),
        ("a <recalled_memory>1<recalled_memory>2</recalled_memory>3</recalled_memory> b", "a  b"),
        ("a <recalled_memory>1<recalled_memory>2</recalled_memory>3", "a "),
        ("a <recalled_memory>1</recalled_memory> b </recalled_memory> c", "a  b </recalled_memory> c"),
    ],
)
def test_a_fence_reaches_to_the_tag_that_closes_it_or_to_the_end(said: str, own: str) -> None:
    assert without_recalled(said) == own


PIECES = st.sampled_from([*"a< />|:\n\r\x0b\u2028", "recalled_memory", "<recalled_memory>", "</recalled_memory>"])


@given(st.lists(st.lists(PIECES).map("".join)))
def test_whatever_was_recalled_stays_inside(lines: list[str]) -> None:
    fenced = recalled(lines)
    assert without_recalled(f"before{fenced}behind") == "beforebehind"
    assert all(line.startswith("| ") for line in fenced.splitlines()[1:-1])


def test_each_line_stands_behind_a_bar() -> None:
    assert recalled(["- tea\n  and milk", ""]) == "<recalled_memory>\n| - tea\n|   and milk\n| \n</recalled_memory>"


@pytest.mark.parametrize("said", ["<" * MEBI, f"<{' ' * MEBI}", f"</{' ' * MEBI}", f"<{' ' * MEBI}/{' ' * MEBI}recalled", "< " * MEBI])
def test_a_mebibyte_that_is_no_tag_is_kept(said: str) -> None:
    assert without_recalled(said) == said
    assert without_recalled(recalled([said])) == ""


def test_a_hundred_thousand_tags_are_matched() -> None:
    assert without_recalled("a" + "<recalled_memory>" * 100_000 + "b" + "</recalled_memory>" * 100_000 + "c") == "ac"
    assert without_recalled("</recalled_memory>" * 100_000) == "</recalled_memory>" * 100_000
