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
from store.censors import Censor
from store.database import Write
from workers.runtime.worker import Done, Ending, GiveUp, Kit, Worker, each

OUTCOMES = ("counted", "escalated", "false_positive")


async def escalate(db: Write, event: CensorTriggered, kit: Kit) -> Ending:
    """Count a censor's firing, and turn a warning into a block when it has fired often enough."""
    censor = await censors.get(db, event.agent_id, event.censor_id)
    if censor is None:
        known = f"agent {event.agent_id!r} has no censor {event.censor_id}"
        return GiveUp(f"{known}; add it (nous censor add --id {event.censor_id}), then publish the event again")
    if event.false_positive:
        spared = replace(censor, false_positive_count=censor.false_positive_count + 1)
        await censors.update(db, spared)
        return Done("false_positive", about=censor.censor_id, evidence=_evidence(censor, spared, event))
    fired = replace(censor, activation_count=censor.activation_count + 1, last_activated=_later(censor.last_activated, event.occurred_at))
    if not _is_due(fired):
        await censors.update(db, fired)
        return Done("counted", about=censor.censor_id, evidence=_evidence(censor, fired, event))
    blocking = replace(fired, severity="block")
    await censors.update(db, blocking)
    return Done(
        "escalated",
        about=censor.censor_id,
        reason=f"fired {fired.activation_count - fired.counted_from} times, the threshold is {fired.escalation_threshold}",
        evidence=_evidence(censor, blocking, event),
        publishes=(
            CensorEscalated.following(
                event,
                censor_id=censor.censor_id,
                old_severity="warn",
                new_severity="block",
                activation_count=fired.activation_count,
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


worker = Worker(on=CensorTriggered, write=each(escalate), outcomes=OUTCOMES, publishes=(CensorEscalated,))
