"""Counting use, for both who do: a page's memories are looked up with a few statements, and each row is written once.

ids as they were told ─▶ what they count for now ─▶ rows as they are ─▶ each event added ─▶ written
                                 ├─ what the agent has not is left out, and the receipt names it
                                 └─ a fact that upkeep had demoted counts in full again: it was found
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from events import ComparedMemory, MemoryRecalled, MemoryReferenced, RecalledMemory, ReferencedMemory
from store import facts, usage
from store.database import Write
from store.usage import Key, Usage
from workers.memories import keeping
from workers.runtime.worker import Done, Ending, Job, Skip

E = TypeVar("E", MemoryRecalled, MemoryReferenced)

OUTCOMES = ("counted",)


async def counted(db: Write, jobs: Sequence[Job[E, None]], add: Callable[[Usage, E, Key, Mapping[Key, Key]], Usage]) -> Sequence[Ending]:
    """Count the memories of each event once, as `add` does it to one row; gives how each event ended."""
    meant = await usage.meant(db, {key for job in jobs for key in named(job.event)})
    before = await usage.by_key(db, set(meant.values()))
    rows = dict(before)
    endings = []
    for event in (job.event for job in jobs):
        for key in dict.fromkeys(meant[one] for one in named(event) if one in meant):
            rows[key] = add(rows.get(key) or Usage(*key), event, key, meant)
        endings.append(_ending(event, meant))
    await usage.put(db, [row for key, row in rows.items() if row is not before.get(key)])
    return await _with_reinstated(db, jobs, endings, meant)


def named(event: MemoryRecalled | MemoryReferenced) -> dict[Key, RecalledMemory | ReferencedMemory | ComparedMemory]:
    """What an event says of each memory it names; of one that it names twice, what it says last, and rather that it was drawn on."""
    compared = event.compared if isinstance(event, MemoryReferenced) else ()
    return {(event.agent_id, one.kind, one.id): one for one in (*compared, *event.memories)}


async def _with_reinstated(db: Write, jobs: Sequence[Job[E, None]], endings: Sequence[Ending], meant: Mapping[Key, Key]) -> list[Ending]:
    """The endings; one by which a fact was found that upkeep had demoted says that it counts in full again."""
    named_by: dict[facts.Key, str] = {}
    for event in (job.event for job in jobs):
        for agent, kind, one in (meant[key] for key in named(event) if key in meant):
            if kind == "fact":
                named_by.setdefault((agent, one), event.event_id)
    back = await keeping.found(db, named_by.keys(), by=named_by)
    changes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, change in back.items():
        changes.setdefault((key[0], named_by[key]), []).append(change)
    told = [changes.get((job.event.agent_id, job.event.event_id)) for job in jobs]
    return [
        replace(ending, evidence={**ending.evidence, "changed": some}) if isinstance(ending, Done) and some else ending
        for ending, some in zip(endings, told, strict=True)
    ]


def _ending(event: MemoryRecalled | MemoryReferenced, meant: Mapping[Key, Key]) -> Ending:
    told = named(event)
    unknown = [str(key[2]) for key in told if key not in meant]
    if not told:
        return Skip("it names no memory")
    if len(unknown) == len(told):
        return Skip(f"agent {event.agent_id!r} has none of the {len(told)} memories it names")
    instead = {str(key[2]): str(meant[key][2]) for key in told if key in meant and meant[key] != key}
    evidence: dict[str, object] = {"recall_id": str(event.recall_id), "memories": len(told) - len(unknown)}
    if instead:
        evidence["counted_for"] = instead
    if unknown:
        evidence["unknown"] = unknown
    return Done("counted", evidence=evidence)
