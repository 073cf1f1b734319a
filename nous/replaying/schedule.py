"""What happened to one agent's memory, as a plan to do the same again. Pure.

    receipts by their sequence ─▶ those of one transaction ─▶ think, when as much had happened as the first time
                                                              write, when its turn comes

A transaction's receipts have one worker and one time. What a check saw is in its receipt as `seen`, the number of the latest receipt
at that moment: it is thought through at that point again, however much was written between its reading and its writing.

An episode whose transcript was let go of cannot be read again: what it came to is given, and what was decided about it is taken over.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from store.receipts import OPERATOR, Step


@dataclass(frozen=True)
class Think:
    """Think about these now; they are written later."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Write:
    """Write what was thought about these, together; what was not thought about yet is thought about first."""

    steps: tuple[Step, ...]


Act = Think | Write

Named = tuple[str, str]
"""An event, by stream and id."""


def transactions(steps: Iterable[Step]) -> list[tuple[Step, ...]]:
    """The receipts in runs that were written together."""
    return [tuple(run) for _, run in groupby(steps, key=lambda step: (step.worker, step.recorded_at))]


def acts(steps: Sequence[Step]) -> list[Act]:
    """All there is to do, in order."""
    ordered: list[tuple[int, int, Act]] = []
    for one in transactions(steps):
        ordered.append((one[-1].seq, 0, Write(one)))
        ordered += [(seen, 1, Think(tuple(some))) for seen, some in groupby(one, key=lambda step: step.seen) if seen is not None]
    return [act for _, _, act in sorted(ordered, key=lambda one: one[:2])]


def let_go(steps: Iterable[Step]) -> frozenset[UUID]:
    """The episodes whose transcripts were let go of."""
    return frozenset(step.about for step in steps if step.about and step.worker == "transcript_remover" and step.outcome == "let_go")


def taken_over(steps: Sequence[Step]) -> frozenset[int]:
    """The numbers of what was decided about episodes that cannot be read again, and of what planned that."""
    gone = let_go(steps)
    about = [step for step in steps if step.about in gone]
    planned = {f"{step.stream}:{step.event_id}" for step in about if step.stream in ("episode_aged", "transcript_expired")}
    return frozenset(step.seq for step in steps if step.about in gone or not planned.isdisjoint(step.derived))


def derived(steps: Iterable[Step], *, taken: Collection[int] = ()) -> frozenset[Named]:
    """What workers made: it comes about again by itself, and is never fed; but for what those decisions made that are `taken` over."""
    steps = list(steps)
    made = {_named(name) for step in steps if step.seq not in taken for name in step.derived}
    return frozenset(made - {step.named for step in steps if step.worker == OPERATOR})


def _named(written: str) -> Named:
    stream, _, event_id = written.partition(":")
    return stream, event_id
