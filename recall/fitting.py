"""What fits: memories into the tokens there are, the best first, and never a token more.

    ranked memories ─▶ section by section within its own budget, all together within the whole ─▶ fits
                                                                                              ├─▶ what is long: cut at the end of a sentence
                                                                                              └─▶ left out, and why

A section without a budget of its own has what is left of all. What a line takes is added up here; the whole is counted once it is assembled
(telling.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from .plans import Section
from .sentences import cut_at_a_sentence

SHORTEST_CUT_TOKENS = 24
"""A beginning that is shorter is not worth telling."""


class Piece(Protocol):
    """Something to be told: its section, its text, and what its line takes beside the text."""

    @property
    def section(self) -> Section: ...
    @property
    def text(self) -> str: ...
    @property
    def around(self) -> str: ...


P = TypeVar("P", bound=Piece)
Cost = Callable[[str], int]
"""Tokens that a text takes."""


@dataclass(frozen=True, slots=True)
class Fitted(Generic[P]):
    """What is told, in the order it came, with what each costs, and what is not, and why."""

    told: tuple[tuple[P, int], ...]
    left_out: tuple[tuple[P, str], ...]


def fitted(
    pieces: Sequence[P],
    *,
    tokens: int,
    sections: Mapping[Section, int],
    cost: Cost,
    beginning: Callable[[str, int], str],
) -> Fitted[P]:
    """Take pieces, the best first, while there are tokens left, in their section and in all.

    `cost` says what a text takes, `beginning` gives the longest beginning of a text that takes no more than so many.
    """
    left, left_in = tokens, dict(sections)
    told: list[tuple[P, int]] = []
    left_out: list[tuple[P, str]] = []
    for piece in pieces:
        room = min(left, left_in.get(piece.section, left))
        taken = _fit(piece, room, cost, beginning)
        if taken is None:
            of = f"the {piece.section}" if left_in.get(piece.section, left) <= left else "all"
            left_out.append((piece, f"budget: {cost(piece.around + piece.text)} tokens, and {room} of {of} are left"))
            continue
        price = cost(taken.around + taken.text)
        left -= price
        if piece.section in left_in:
            left_in[piece.section] -= price
        told.append((taken, price))
    return Fitted(tuple(told), tuple(left_out))


def _fit(piece: P, room: int, cost: Cost, beginning: Callable[[str, int], str]) -> P | None:
    """The piece, or as many of its sentences as there is room for."""
    if cost(piece.around + piece.text) <= room:
        return piece
    inside = room - cost(piece.around) - 1
    if inside < SHORTEST_CUT_TOKENS:
        return None
    cut = cut_at_a_sentence(piece.text, beginning(piece.text, inside))
    shorter: P = replace(piece, text=f"{cut} …")  # type: ignore[type-var]  # pieces are frozen dataclasses
    return shorter if cut and cost(shorter.around + shorter.text) <= room else None
