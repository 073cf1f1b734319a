"""What an answer drew on, of what was told before it: the ids it names, and the memories whose words it says.

    answer ─┬─ names `f-5b0f0d3e`, or the whole id ─────────────────────▶ cited
            └─ shares 0.15 of a memory's words, and one at least that
               neither the question had nor the memory is about ────────▶ overlap     (recall/overlap.py; spec 001, D3)

What is named counts whatever it shares; beside the answer also by the beginning of an id that only one of those told has. What an answer
was compared with and did not draw on was of no use this time. A memory that says nothing but what the question said is not compared: that
the answer says it too tells nothing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from events import ComparedMemory, ReferencedMemory
from nous.terms import terms
from store.served import Line, Named, Serving

from . import handles
from .overlap import REFERENCED, drawn_on

_WHOLE = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAMED = re.compile(rf"(?<![0-9a-z])(?:{handles.ONE}|{_WHOLE})(?![0-9a-z])", re.IGNORECASE)
_HANDLE = re.compile(rf"(?<![0-9a-z]){handles.ONE}(?![0-9a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an answer was compared with, in the order it was told, and what of that it drew on."""

    compared: tuple[ComparedMemory, ...] = ()
    drawn_on: tuple[ReferencedMemory, ...] = ()


def compared(serving: Serving, lines: Mapping[tuple[str, UUID], Line], answer: str, *, cited: Iterable[str] = ()) -> Comparison:
    """Compare an answer with what its turn was told. `lines` is what each memory says; `cited` are handles or ids besides."""
    names = [*_NAMED.findall(answer), *cited]
    meant = {(one.kind, one.memory_id) for name in names for one in _meant(name, serving.memories)}
    if not names and not terms(answer):
        return Comparison()
    asked = frozenset(terms(serving.question))
    against: list[ComparedMemory] = []
    found: list[ReferencedMemory] = []
    for one in serving.memories:
        line = lines.get((one.kind, one.memory_id), Line(""))
        known = asked | set(terms(line.subject))
        is_cited = (one.kind, one.memory_id) in meant
        if not is_cited and not set(terms(line.text)) - known:
            continue
        named = {"kind": one.kind, "id": one.memory_id}
        against.append(ComparedMemory.model_validate(named))
        share = drawn_on(line.text, answer, known=known)
        if is_cited or share >= REFERENCED:
            found.append(ReferencedMemory.model_validate({**named, "how": "cited" if is_cited else "overlap", "overlap": share}))
    return Comparison(tuple(against), tuple(found))


def not_understood(told: Sequence[Named], answer: str, *, cited: Iterable[str] = ()) -> tuple[str, ...]:
    """What was cited, as it was written, and names nothing that was told: the handles in an answer, and whatever was cited beside it."""
    return tuple(dict.fromkeys(name for name in (*_HANDLE.findall(answer), *cited) if not _meant(name, told)))


def _meant(written: str, told: Sequence[Named]) -> Collection[Named]:
    """What of that which was told is named so."""
    name = written.strip().removeprefix("[").removesuffix("]").strip().lower()
    return list(_called(name, told)) or _beginning_so(name, told)


def _called(name: str, told: Sequence[Named]) -> Iterator[Named]:
    return (one for one in told if name in (one.handle.lower(), str(one.memory_id), one.memory_id.hex))


def _beginning_so(name: str, told: Sequence[Named]) -> Collection[Named]:
    """The only one whose id begins so."""
    kind, digits = handles.read(name) or (None, name.replace("-", ""))
    if len(digits) < handles.FEWEST:
        return []
    found = [one for one in told if kind in (None, one.kind) and one.memory_id.hex.startswith(digits)]
    return found if len(found) == 1 else []
