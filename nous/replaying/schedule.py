"""What happened to one agent's memory, as a plan to do the same again. Pure.

    receipts by their sequence ─▶ those of one transaction ─▶ think, when as much had happened as the first time
                                                              write, when its turn comes

A transaction's receipts have one worker and one time. What a check saw is in its receipt as `seen`, the number of the latest receipt
at that moment: it is thought through at that point again, however much was written between its reading and its writing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from store.receipts import OPERATOR, Step


@dataclass(frozen=True)
class Transaction:
    """What one worker wrote at once, in order."""

    steps: tuple[Step, ...]

    @property
    def worker(self) -> str:
        """Whose it was."""
        return self.steps[0].worker

    @property
    def last(self) -> int:
        """The number of its last receipt."""
        return self.steps[-1].seq


@dataclass(frozen=True)
class Think:
    """Think about these now; they are written later."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Write:
    """Write what was thought about these; what was not thought about yet is thought about first."""

    transaction: Transaction


Act = Think | Write


def transactions(steps: Iterable[Step]) -> list[Transaction]:
    """The receipts in runs that were written together."""
    return [Transaction(tuple(run)) for _, run in groupby(steps, key=lambda step: (step.worker, step.recorded_at))]


def acts(steps: Sequence[Step]) -> list[Act]:
    """All there is to do, in order."""
    ordered: list[tuple[int, int, Act]] = []
    for one in transactions(steps):
        ordered.append((one.last, 0, Write(one)))
        ordered += [(seen, 1, Think(tuple(some))) for seen, some in groupby(one.steps, key=lambda step: step.seen) if seen is not None]
    return [act for _, _, act in sorted(ordered, key=lambda one: one[:2])]


def derived(steps: Iterable[Step]) -> frozenset[tuple[str, str]]:
    """(stream, event id) of what workers made: it comes about again by itself, and is never fed."""
    made = {(stream, event_id) for step in steps for stream, _, event_id in (name.partition(":") for name in step.derived)}
    return frozenset(made - {(step.stream, step.event_id) for step in steps if step.worker == OPERATOR})
