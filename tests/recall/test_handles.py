"""Handles: what recall calls a memory is what it is found by, whatever kind it is of."""

from typing import get_args
from uuid import UUID

import pytest

from events.usage import MemoryKind
from recall.handles import LETTERS, handle, handles, read

ONE = UUID("5b0f0d3e-7a0e-4b52-9d0a-2f6f1f2f3a10")


def test_two_ids_that_begin_alike_are_told_in_full() -> None:
    one, other, third = UUID(int=1), UUID(int=2), UUID(int=3 << 96)
    assert handles([("fact", one), ("fact", other), ("decision", third)]) == {
        ("fact", one): f"f-{one.hex}",
        ("fact", other): f"f-{other.hex}",
        ("decision", third): "d-00000003",
    }


@pytest.mark.parametrize("kind", LETTERS)
def test_what_a_memory_is_told_as_leads_back_to_its_kind_and_its_id(kind: str) -> None:
    told = handle(kind, ONE)
    for written in (told, f" [{told}] ", told.upper()):
        assert read(written) == (kind, "5b0f0d3e")


def test_no_two_kinds_have_one_letter_and_none_that_is_told_has_none() -> None:
    assert len(set(LETTERS.values())) == len(LETTERS)
    assert set(get_args(MemoryKind)) <= set(LETTERS)


@pytest.mark.parametrize("written", ["", "f-", "f-5b0f0", "x-5b0f0d3e", "5b0f0d3e", "f-5b0f0d3g", "f-5b0f0d3e and more", str(ONE)])
def test_what_is_no_handle_is_none(written: str) -> None:
    assert read(written) is None
