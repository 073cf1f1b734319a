"""Censor escalator: a warning that keeps firing becomes a block, and each firing counts once.

censor_triggered ─┬─ false positive ──────────▶ counted apart, pushes nothing
                  ├─ warn, below threshold ───▶ counted
                  ├─ warn, at the threshold ──▶ block, censor_escalated
                  ├─ block or absolute ───────▶ counted, left as it is
                  └─ no such censor of this agent ▶ parked
"""

from dataclasses import replace
from datetime import datetime

from events import CensorEscalated, CensorTriggered
from store import censors
from store.censors import Censor, Key
from workers.runtime.worker import Done, Ending, GiveUp, Kit, Worker, on_rows

OUTCOMES = ("counted", "escalated", "false_positive")


def escalate(censor: Censor | None, event: CensorTriggered, kit: Kit) -> tuple[Ending, Censor | None]:
    """Count a censor's firing, and turn a warning into a block when it has fired often enough."""
    if censor is None:
        known = f"agent {event.agent_id!r} has no censor {event.censor_id}"
        return GiveUp(f"{known}; add it (nous censor add --id {event.censor_id}), then publish the event again"), None
    if event.false_positive:
        spared = replace(censor, false_positive_count=censor.false_positive_count + 1)
        return Done("false_positive", about=censor.censor_id, evidence=_evidence(censor, spared, event)), spared
    fired = replace(censor, activation_count=censor.activation_count + 1, last_activated=_later(censor.last_activated, event.occurred_at))
    if not _is_due(fired):
        return Done("counted", about=censor.censor_id, evidence=_evidence(censor, fired, event)), fired
    blocking = replace(fired, severity="block")
    return _escalated(censor, blocking, event), blocking


def _escalated(censor: Censor, blocking: Censor, event: CensorTriggered) -> Done:
    return Done(
        "escalated",
        about=censor.censor_id,
        reason=f"fired {blocking.activation_count - blocking.counted_from} times, the threshold is {blocking.escalation_threshold}",
        evidence=_evidence(censor, blocking, event),
        publishes=(
            CensorEscalated.following(
                event,
                censor_id=censor.censor_id,
                old_severity="warn",
                new_severity="block",
                activation_count=blocking.activation_count,
            ),
        ),
    )


def _is_due(censor: Censor) -> bool:
    return censor.severity == "warn" and censor.activation_count - censor.counted_from >= censor.escalation_threshold


def _later(known: datetime | None, heard: datetime) -> datetime:
    return heard if known is None else max(known, heard)


def _evidence(before: Censor, after: Censor, event: CensorTriggered) -> dict[str, object]:
    """The censor as it was written, and what it was."""
    return {
        "activation_count": after.activation_count,
        "counted_from": after.counted_from,
        "false_positive_count": after.false_positive_count,
        "escalation_threshold": after.escalation_threshold,
        "severity": after.severity,
        "severity_before": before.severity,
        "was_blocked": event.was_blocked,
        "matched_text": event.matched_text,
    }


def _key(event: CensorTriggered) -> Key:
    return event.agent_id, event.censor_id


worker = Worker(
    on=CensorTriggered, write=on_rows(_key, censors.by_key, censors.update, escalate), outcomes=OUTCOMES, publishes=(CensorEscalated,)
)
