"""Handles: how a memory is named where it is told and where somebody names it, the letter of its kind and the beginning of its id.

fact 5b0f0d3e-… ─▶ f-5b0f0d3e ─▶ ("fact", "5b0f0d3e")

f- fact   e- episode   d- decision   p- procedure   t- passage   c- censor
"""

import re
from collections.abc import Mapping, Sequence
from uuid import UUID

from store.search import Kind

LETTERS: Mapping[str, str] = {"fact": "f", "episode": "e", "decision": "d", "procedure": "p", "passage": "t", "censor": "c"}
"""The letter of each kind: a passage is of a transcript."""

CHARACTERS = 8
"""Of an id that is told, unless two of one recall begin alike."""

FEWEST = 6
"""Of an id that somebody writes by hand."""

_KINDS = {letter: kind for kind, letter in LETTERS.items()}
_LETTERS = "".join(_KINDS)
_HANDLE = re.compile(rf"\[?([{_LETTERS}])-([0-9a-f]{{{FEWEST},32}})\]?", re.IGNORECASE)

ONE = f"[{_LETTERS}]-[0-9a-f]{{{CHARACTERS},32}}"
"""As part of a regular expression for small letters: a handle as it is told."""


def handle(kind: str, one: UUID, characters: int = CHARACTERS) -> str:
    """The memory of this kind and id, by so many characters of it."""
    return f"{LETTERS[kind]}-{one.hex[:characters]}"


def handles(keys: Sequence[tuple[Kind, UUID]]) -> dict[tuple[Kind, UUID], str]:
    """A handle for each, which no other of them has: `f-5b0f0d3e`."""
    shown: dict[tuple[Kind, UUID], str] = {}
    for kind, one in keys:
        length = CHARACTERS
        while length < 32 and any(other != one and other.hex[:length] == one.hex[:length] for _, other in keys):
            length += CHARACTERS
        shown[kind, one] = handle(kind, one, length)
    return shown


def read(written: str) -> tuple[str, str] | None:
    """The kind and the digits of a handle, in brackets or without; None for what is none."""
    found = _HANDLE.fullmatch(written.strip())
    return (_KINDS[found[1].lower()], found[2].lower()) if found else None
