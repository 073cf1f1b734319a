"""Decision reviewer: what came of a decision, as the review that was made last says.

decision_reviewed ─┬─ the latest there is ───────────────▶ its outcome, note and brief
                   ├─ made before one that is known ─────▶ changes nothing; what it said is in its receipt
                   └─ no such decision of this agent ────▶ looked at again, for it may have overtaken it; then parked
"""

from dataclasses import replace

from events import DecisionReviewed
from nous import clock
from store import decisions
from store.decisions import Decision, Key
from workers.runtime import overtaken
from workers.runtime.worker import Done, Ending, Kit, Worker, on_rows

OUTCOMES = ("reviewed", "outdated")


def review(decision: Decision | None, event: DecisionReviewed, kit: Kit) -> tuple[Ending, Decision | None]:
    """Say of a decision what came of it, unless that was reviewed later."""
    if decision is None:
        known = f"agent {event.agent_id!r} has no decision {event.decision_id}"
        why = f"{known}; record it (decision_recorded), then publish the review again under the same event_id"
        return overtaken.wait_for(why, kit), None
    evidence: dict[str, object] = {"outcome": event.outcome, "note": event.note}
    evidence |= {"outcome_before": decision.outcome, "note_before": decision.outcome_note}
    if not _is_latest(event, decision):
        since = decision.reviewed_at or decision.decided_at
        why = f"what came of it was said later, at {since.isoformat()}: {decision.outcome}"
        return Done("outdated", about=decision.decision_id, reason=why, evidence=evidence), decision
    reviewed = replace(
        decision,
        outcome=event.outcome,
        outcome_note=event.note,
        reviewed_at=event.occurred_at,
        reviewed_by=event.event_id,
        recorded_at=clock.now(),
        recorded_by=event.event_id,
    ).with_brief()
    return Done("reviewed", about=decision.decision_id, evidence={**evidence, "brief": reviewed.brief}), reviewed


def _is_latest(event: DecisionReviewed, decision: Decision) -> bool:
    """By the time it was made; an outcome that the decision was recorded with was said when it was recorded, and "pending" says nothing."""
    if decision.reviewed_at and decision.reviewed_by:
        return (event.occurred_at, event.event_id) > (decision.reviewed_at, decision.reviewed_by)
    return decision.outcome == "pending" or event.occurred_at >= decision.decided_at


def _key(event: DecisionReviewed) -> Key:
    return event.agent_id, event.decision_id


worker = Worker(on=DecisionReviewed, write=on_rows(_key, decisions.by_key, decisions.put, review), outcomes=OUTCOMES)
