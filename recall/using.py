"""What an answer drew on, of what was told before it: the ids it names, and the memories whose words it says.

    answer ─┬─ names `f-5b0f0d3e`, or the whole id ─────────▶ cited
            └─ shares 0.15 of a memory's words, or more ────▶ overlap        (recall/overlap.py; spec 001, D3)

What is named counts whatever it shares. A memory that was told and is neither was of no use this time.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from events import ReferencedMemory
from store.served import Named

from .overlap import REFERENCED, drawn_on

_NAMED = re.compile(
    r"(?<![0-9a-z])(?:[defpt]-[0-9a-f]{8,32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![0-9a-z])", re.IGNORECASE
)


def referenced(
    told: Sequence[Named], lines: Mapping[tuple[str, UUID], str], answer: str, *, cited: Iterable[str] = ()
) -> tuple[ReferencedMemory, ...]:
    """Those of these memories that an answer drew on, in the order they were told. `lines` is what each says; `cited` are ids besides."""
    names = {one.strip().lower() for one in (*_NAMED.findall(answer), *cited)}
    found = []
    for one in told:
        share = drawn_on(lines.get((one.kind, one.memory_id), ""), answer)
        is_cited = bool(names & {one.handle.lower(), str(one.memory_id), one.memory_id.hex})
        if is_cited or share >= REFERENCED:
            how = "cited" if is_cited else "overlap"
            found.append(ReferencedMemory.model_validate({"kind": one.kind, "id": one.memory_id, "how": how, "overlap": share}))
    return tuple(found)
