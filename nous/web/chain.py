"""What was true, and which fact retired which: a chain of boxes, oldest first, each with the wordings that were merged into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nous.stories.fact import Story
from store import facts, receipts
from store.database import Read
from store.facts import Fact
from store.receipts import OPERATOR, Receipt

MOST = 24  # boxes, those around the fact whose story it is


@dataclass(frozen=True)
class Retired:
    """That a fact was retired: since when it is no longer true, by which other, and how that was decided."""

    at: datetime | None
    by: Fact
    event_id: str
    how: str
    why: str


@dataclass(frozen=True)
class Box:
    """A fact in the chain. `then` is what retired it; `is_next` says that this is the box below."""

    fact: Fact
    merged: Sequence[Fact]
    is_here: bool
    then: Retired | None
    is_next: bool


@dataclass(frozen=True)
class Drawn:
    """The boxes, and how many more there are before and after them."""

    boxes: Sequence[Box]
    before: int
    after: int


async def drawn(db: Read, story: Story) -> Drawn:
    """The chain of this fact; needs an overview."""
    chain = list(story.chain)
    here = next((place for place, one in enumerate(chain) if one.fact_id == story.fact.fact_id), 0)
    first = max(0, min(here - MOST // 2, len(chain) - MOST))
    shown = chain[first : first + MOST]
    merged, because = await _merged(db, shown), await _receipts(db, shown)
    known = {one.fact_id: one for one in chain}
    boxes = []
    for one, following in zip(shown, [*shown[1:], None], strict=True):
        by = known.get(one.superseded_by) if one.superseded_by else None
        then = _retired(one, by, because.get(one.recorded_by, ())) if by else None
        is_next = by is not None and following is not None and by.fact_id == following.fact_id
        boxes.append(Box(one, merged.get(str(one.fact_id), ()), one.fact_id == story.fact.fact_id, then, is_next))
    return Drawn(boxes, first, len(chain) - first - len(shown))


async def _merged(db: Read, chain: Sequence[Fact]) -> Mapping[str, Sequence[Fact]]:
    """What was merged into each of these, by its id."""
    parts = [(row, whole) for row, whole in await facts.parts(db, [one.key for one in chain]) if row != whole]
    rows = await facts.by_key(db, {row for row, _ in parts})
    found: dict[str, list[Fact]] = {}
    for row, whole in parts:
        found.setdefault(str(whole[1]), []).append(rows[row])
    return found


async def _receipts(db: Read, chain: Sequence[Fact]) -> Mapping[str, Sequence[Receipt]]:
    """What ended in these facts' standing, by event."""
    found: dict[str, list[Receipt]] = {}
    for one in await receipts.of_events(db, {one.agent_id for one in chain}, {one.recorded_by for one in chain if one.superseded_by}):
        found.setdefault(one.event_id, []).append(one)
    return found


def _retired(fact: Fact, by: Fact, told: Sequence[Receipt]) -> Retired:
    ids = {str(fact.fact_id), str(by.fact_id)}
    judged = [
        (receipt, one) for receipt in told for one in receipt.evidence.get("candidates", ()) if one["fact_id"] in ids and "relation" in one
    ]
    how, why = _how(*judged[0]) if judged else _otherwise(told)
    return Retired(fact.valid_to, by, fact.recorded_by, how, why)


def _how(receipt: Receipt, one: Mapping[str, Any]) -> tuple[str, str]:
    by = receipt.evidence.get("model") or one.get("decided_by", "") if one.get("decided_by") == "mind" else one.get("decided_by", "")
    return f"{one['relation']}, by {by}" if by else str(one["relation"]), str(one.get("reason") or "")


def _otherwise(told: Sequence[Receipt]) -> tuple[str, str]:
    """What is known when no comparison of the two is."""
    by = next((one for one in told if one.evidence.get("changed")), None)
    if by is None:
        return "", ""
    return ("by a person" if by.worker == OPERATOR else f"by {by.worker}"), by.reason or ""
