"""Decision recorder: what an agent decided is kept, with a warning when it reads like a status report.

decision_recorded ─┬─ a new id ──────────────────────▶ kept; `noise` says why it looks like no decision, if it does
                   ├─ known, the same again ─────────▶ skipped
                   └─ known, something else was said ▶ parked

What is kept is linked to the episodes that have ended and to which it belongs (episodes.links); settling an episode links those that were
there before. The warning blocks nothing (spec 000, C2): it is stored, listed by `nous decisions --noise`, and recall ranks by it.
"""

from uuid import UUID

import structlog

from events import DecisionRecorded
from nous import clock
from nous.noise import why_noise
from store import decisions, episodes
from store.database import Write
from store.decisions import Decision
from store.episodes import How
from workers.episodes import links
from workers.runtime.worker import Done, Ending, GiveUp, Kit, Skip, Worker, each

OUTCOMES = ("recorded", "recorded_as_noise")
LOGGED_CHARACTERS = 80

SAID = ("description", "context", "reasons", "alternatives", "confidence", "category", "stakes", "pattern", "session_id")
"""What makes it this decision: what came of it is reviewed."""

log = structlog.get_logger()


async def record(db: Write, event: DecisionRecorded, kit: Kit) -> Ending:
    """Keep a decision, and mark it when it reads like a status report."""
    known = await decisions.get(db, event.agent_id, event.decision_id)
    if known:
        return _known(known, event)
    decision = _decision(event)
    await decisions.put(db, decision)
    linked = await _linked(db, decision)
    evidence = {"brief": decision.brief, "outcome": decision.outcome, "episodes": {str(one): how for one, how in linked.items()}}
    if decision.noise is None:
        return Done("recorded", about=decision.decision_id, evidence=evidence)
    log.warning(
        "decision.doubted",
        agent_id=event.agent_id,
        decision_id=str(event.decision_id),
        description=event.description[:LOGGED_CHARACTERS],
        reason=decision.noise,
        next="it is kept; record choices between alternatives, with their reasons (nous decisions --noise lists what is doubted)",
    )
    return Done("recorded_as_noise", about=decision.decision_id, reason=decision.noise, evidence=evidence)


def _known(known: Decision, event: DecisionRecorded) -> Ending:
    others = [name for name in SAID if getattr(known, name) != getattr(event, name)]
    if not others:
        return Skip(f"decision {event.decision_id} is known")
    return GiveUp(
        f"agent {event.agent_id!r} recorded decision {event.decision_id} before ({known.description[:LOGGED_CHARACTERS]!r})"
        f" and says another thing now in {', '.join(others)}; record another decision under an id of its own, and what came of one as"
        " decision_reviewed"
    )


async def _linked(db: Write, decision: Decision) -> dict[UUID, How]:
    found = await links.find_episodes(db, decision)
    for episode, how in found.items():
        await episodes.link_decisions(db, decision.agent_id, episode, {decision.decision_id: how})
    return found


def _decision(event: DecisionRecorded) -> Decision:
    now = clock.now()
    decision = Decision(
        agent_id=event.agent_id,
        decision_id=event.decision_id,
        brief="",
        outcome=event.outcome,
        noise=why_noise(event.description, event.reasons),
        decided_at=event.occurred_at,
        created_at=now,
        recorded_at=now,
        recorded_by=event.event_id,
        **{name: getattr(event, name) for name in SAID},
    )
    return decision.with_brief()


worker = Worker(on=DecisionRecorded, write=each(record), outcomes=OUTCOMES)
