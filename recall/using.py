"""What an answer drew on, of what was told before it: the ids it names, and the memories whose words it says.

    answer ─┬─ names `f-5b0f0d3e`, or the whole id ─────────────────────▶ cited
            └─ shares 0.15 of a memory's words, and one at least that
               neither the question had nor the memory is about ────────▶ overlap     (recall/overlap.py; spec 001, D3)

What is named counts whatever it shares. What an answer was compared with and did not draw on was of no use this time. A memory that says
nothing but what the question said is not compared: that the answer says it too tells nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from events import ComparedMemory, ReferencedMemory
from nous.terms import terms
from store.served import Line, Serving

from . import handles
from .overlap import REFERENCED, drawn_on

_WHOLE = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = re.compile(rf"(?<![0-9a-z])(?:{handles.ONE}|{_WHOLE})(?![0-9a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an answer was compared with, in the order it was told, and what of that it drew on."""

    compared: tuple[ComparedMemory, ...] = ()
    drawn_on: tuple[ReferencedMemory, ...] = ()


def compared(serving: Serving, lines: Mapping[tuple[str, UUID], Line], answer: str, *, cited: Iterable[str] = ()) -> Comparison:
    """Compare an answer with what its turn was told. `lines` is what each memory says; `cited` are handles or ids besides."""
    names = {one.strip().lower() for one in (*_NAMED.findall(answer), *cited)}
    if not names and not terms(answer):
        return Comparison()
    asked = frozenset(terms(serving.question))
    against: list[ComparedMemory] = []
    found: list[ReferencedMemory] = []
    for one in serving.memories:
        line = lines.get((one.kind, one.memory_id), Line(""))
        known = asked | set(terms(line.subject))
        is_cited = bool(names & {one.handle.lower(), str(one.memory_id), one.memory_id.hex})
        if not is_cited and not set(terms(line.text)) - known:
            continue
        named = {"kind": one.kind, "id": one.memory_id}
        against.append(ComparedMemory.model_validate(named))
        share = drawn_on(line.text, answer, known=known)
        if is_cited or share >= REFERENCED:
            found.append(ReferencedMemory.model_validate({**named, "how": "cited" if is_cited else "overlap", "overlap": share}))
    return Comparison(tuple(against), tuple(found))
