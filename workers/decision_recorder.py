"""Decision recorder: what an agent decided is kept, with a warning when it reads like a status report.

decision_recorded ─┬─ a new id ──────────────────────▶ kept; `noise` says why it looks like no decision, if it does
                   ├─ known, the same again ─────────▶ skipped
                   └─ known, something else was said ▶ parked

What is kept is linked to the episodes that have ended and to which it belongs (episodes.links); settling an episode links those that were
there before. The warning blocks nothing (spec 000, C2): it is stored, listed by `nous decisions --noise`, and recall ranks by it.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from events import DecisionRecorded
from nous import clock
from nous.noise import why_noise
from store import decisions, episodes
from store.database import Write
from store.decisions import Decision, Key
from store.episodes import How
from workers.episodes import links
from workers.runtime.worker import Done, Ending, GiveUp, Job, Kit, Skip, Worker

OUTCOMES = ("recorded", "recorded_as_noise")
LOGGED_CHARACTERS = 80

SAID = ("description", "context", "reasons", "alternatives", "confidence", "category", "stakes", "pattern", "session_id")
"""What makes it this decision: what came of it is reviewed."""

log = structlog.get_logger()


async def record(db: Write, jobs: Sequence[Job[DecisionRecorded, None]], kit: Kit) -> Sequence[Ending]:
    """Keep a decision, and mark it when it reads like a status report."""
    known = await decisions.by_key(db, {_key(job.event) for job in jobs})
    new: dict[Key, Decision] = {}
    for job in jobs:
        if (key := _key(job.event)) not in known:
            new.setdefault(key, _decision(job.event))
    await decisions.put(db, list(new.values()))
    linked = await _linked(db, list(new.values()))
    return [_ending(job.event, known, new, linked) for job in jobs]


def _ending(
    event: DecisionRecorded, known: Mapping[Key, Decision], new: Mapping[Key, Decision], linked: Mapping[Key, Mapping[UUID, How]]
) -> Ending:
    key = _key(event)
    if key in new and new[key].recorded_by == event.event_id:
        return _recorded(new[key], event, linked.get(key, {}))
    return _known(known.get(key) or new[key], event)


def _recorded(decision: Decision, event: DecisionRecorded, linked: Mapping[UUID, How]) -> Ending:
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


async def _linked(db: Write, new: Sequence[Decision]) -> Mapping[Key, Mapping[UUID, How]]:
    found = await links.find_episodes(db, new)
    for (agent, decision), belongs in found.items():
        for episode, how in belongs.items():
            await episodes.link_decisions(db, agent, episode, {decision: how})
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


def _key(event: DecisionRecorded) -> Key:
    return event.agent_id, event.decision_id


worker = Worker(on=DecisionRecorded, write=record, outcomes=OUTCOMES)
