"""What a person decides, applied: the effect, its receipt and its letters in one transaction, however often it is told.

    fact_restored, fact_split         relations of texts, and what follows from them (workers/standing/decisions.py)
    fact_joined, fact_retired         the same, where the facts stood beside each other (workers/standing/mending.py)
    fact_pinned, fact_unpinned        upkeep lets a fact be, or need not any more
    fact_reinstated                   what upkeep did to a fact is undone (workers/standing/decisions.py)
    procedure_restored                the notes of a procedure are as they were (workers/memories/notes.py)
    episode_restored                  an episode that was put aside is active again (recall/ending.py)
    episode_thawed                    what was said in an episode is at hand again (workers/episodes/ageing.py)
    censor_added, censor_relaxed      a warning more, or a block less

The commands decide, and a replay decides the same again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from events import (
    CensorAdded,
    CensorRelaxed,
    EpisodeRestored,
    EpisodeThawed,
    Event,
    FactJoined,
    FactPinned,
    FactReinstated,
    FactRestored,
    FactRetired,
    FactSplit,
    FactUnpinned,
    ProcedureRestored,
)
from nous.errors import UserMistake
from providers.embedder import Embedder
from recall import ending
from store import censors, facts, outbox, receipts
from store.censors import Censor
from store.database import Database, Write
from store.episodes import Episode
from store.facts import Fact
from store.mentions import Mention
from store.outbox import Letter
from store.procedures import Procedure
from store.receipts import OPERATOR, Receipt
from store.vectors import Vector
from workers.episodes import ageing
from workers.memories import keeping, notes
from workers.standing import decisions, mending
from workers.standing.settling import Change

STATE = ("active", "superseded_by", "merged_into", "disputes", "valid_from", "valid_to", "content")
CENSOR_STATE = ("severity", "activation_count", "counted_from", "false_positive_count", "escalation_threshold", "relaxed_reason")


@dataclass(frozen=True)
class Decided:
    """What was decided and what came of it; `after` is the censor or the episode as it is now, `change` what facts stand otherwise."""

    outcome: str
    about: UUID
    evidence: Mapping[str, object]
    follows: Sequence[Event] = ()
    change: Change | None = None
    after: Any = None
    letters: Sequence[Letter] = field(default=())


async def decide(db: Write, told: Event, *, table: str, vector: Vector | None = None) -> Decided:
    """Apply it, with its receipt and its letters. `table` holds the vectors, `vector` is that of a wording that never had one.

    Raises UserMistake when there is nothing to decide, and KeyError for an event that no person decides.
    """
    decided = await APPLIED[type(told)](db, told, table, vector)
    letters = await record(
        db,
        told,
        outcome=decided.outcome,
        about=decided.about,
        reason=getattr(told, "reason", ""),
        evidence=decided.evidence,
        follows=decided.follows,
    )
    return replace(decided, letters=letters)


async def vector_of(database: Database, embedder: Embedder, told: Event) -> Vector | None:
    """The vector that a decision needs, if it needs one. Raises Outage."""
    heard = await to_embed(database, told)
    return await embedded(embedder, heard) if heard else None


async def to_embed(database: Database, told: Event) -> Mention | None:
    """What a decision needs the vector of: a wording that was confirmed and never had a row, when it is split off. Raises Outage."""
    if not isinstance(told, FactSplit):
        return None
    row, apart = (told.agent_id, told.fact_id), (told.agent_id, told.apart_from)
    async with database.read([told.agent_id]) as db:
        known = await facts.by_key(db, {row, apart})
        is_needed = row not in known and apart in known
        return await decisions.wording(db, told.agent_id, known[apart], told.fact_id) if is_needed else None


async def embedded(embedder: Embedder, heard: Mention) -> Vector:
    """The vector of a wording. Raises Outage."""
    await embedder.open()
    made: Vector = (await embedder.embed([heard.content]))[0]
    return made


async def record(
    db: Write,
    told: Event,
    *,
    outcome: str,
    about: UUID,
    reason: str,
    evidence: Mapping[str, object],
    follows: Sequence[Event] = (),
) -> list[Letter]:
    """The receipt, and a letter for the event and for each that follows from it, in the transaction of the effect; gives the letters."""
    published = (told, *follows)
    receipt = Receipt(
        worker=OPERATOR,
        agent_id=told.agent_id,
        event_id=told.event_id,
        stream=told.stream,
        entry_id="",
        ending="done",
        outcome=outcome,
        reason=reason,
        about=about,
        occurred_at=told.occurred_at,
        recorded_at=told.occurred_at,
        evidence=evidence,
        derived=tuple(f"{one.stream}:{one.event_id}" for one in published),
    )
    letters = [outbox.letter(one) for one in published]
    await receipts.insert(db, [receipt])
    await outbox.insert(db, letters, now=told.occurred_at)
    return letters


# ── facts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _restore(db: Write, told: FactRestored, table: str, _vector: Vector | None) -> Decided:
    change, follows = await decisions.restore(db, table, told)
    return _of_facts("restored", change, told.fact_id, told.beside, follows)


async def _split(db: Write, told: FactSplit, table: str, vector: Vector | None) -> Decided:
    change, follows = await decisions.split(db, table, told, vector=vector)
    return _of_facts("split", change, told.fact_id, told.apart_from, follows)


async def _join(db: Write, told: FactJoined, table: str, _vector: Vector | None) -> Decided:
    change, follows = await mending.join(db, table, told)
    return _of_facts("merged", change, told.fact_id, told.joined_with, follows)


async def _retire(db: Write, told: FactRetired, table: str, _vector: Vector | None) -> Decided:
    change, follows = await mending.retire(db, table, told)
    return _of_facts("retired", change, told.fact_id, told.retired_by, follows)


def _of_facts(outcome: str, change: Change, fact_id: UUID, other: UUID, follows: Sequence[Event]) -> Decided:
    """How the fact stood and stands, beside which other one, and every fact that stands otherwise since."""
    evidence = {
        "other": str(other),
        "before": _state(change.before.get(fact_id)),
        "after": _state(change.after[fact_id]),
        "changed": [_changed(change.before.get(fact.fact_id), fact) for fact in change.changed],
    }
    return Decided(outcome, fact_id, evidence, follows, change)


def _changed(before: Fact | None, now: Fact) -> dict[str, object]:
    was, is_ = _state(before), _state(now)
    names = [name for name in STATE if was.get(name) != is_[name]]
    return {
        "fact_id": str(now.fact_id),
        "now": {name: is_[name] for name in names},
        "was": {name: was[name] for name in names if name in was},
    }


def _state(fact: Fact | None) -> dict[str, Any]:
    return {name: getattr(fact, name) for name in STATE} if fact else {}


async def _pin(db: Write, told: FactPinned | FactUnpinned, _table: str, _vector: Vector | None) -> Decided:
    is_pinned = isinstance(told, FactPinned)
    changes = await decisions.pin(db, told, is_pinned=is_pinned)
    return Decided("pinned" if is_pinned else "unpinned", told.fact_id, {"changed": changes})


async def _reinstate(db: Write, told: FactReinstated, _table: str, _vector: Vector | None) -> Decided:
    before, after, follows = await decisions.reinstate(db, told)
    return Decided("reinstated", told.fact_id, {"changed": [keeping.changed(before, after)]}, follows, after=after)


# ── episodes ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _bring_back(db: Write, told: EpisodeRestored, _table: str, _vector: Vector | None) -> Decided:
    before, after, follows = await ending.restore(db, told)
    return Decided("restored", after.episode_id, {"before": _standing(before), "after": _standing(after)}, follows, after=after)


async def _thaw(db: Write, told: EpisodeThawed, _table: str, _vector: Vector | None) -> Decided:
    after, evidence = await ageing.thaw(db, told)
    return Decided("thawed", after.episode_id, evidence, after=after)


def _standing(episode: Episode) -> dict[str, object]:
    return {"active": episode.active, "put_aside": episode.put_aside, "ended_at": episode.ended_at and episode.ended_at.isoformat()}


# ── procedures ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _put_back(db: Write, told: ProcedureRestored, _table: str, _vector: Vector | None) -> Decided:
    before, after = await notes.restore(db, told)
    return Decided("restored", after.procedure_id, {"before": _said(before), "after": _said(after)}, after=after)


def _said(procedure: Procedure) -> dict[str, object]:
    return {"implementation_notes": procedure.implementation_notes, "core_patterns": procedure.core_patterns}


# ── censors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _add(db: Write, told: CensorAdded, _table: str, _vector: Vector | None) -> Decided:
    added = Censor(
        agent_id=told.agent_id,
        censor_id=told.censor_id,
        trigger_pattern=told.trigger_pattern,
        reason=told.reason,
        severity=told.severity,
        escalation_threshold=told.escalation_threshold,
        activation_count=0,
        counted_from=0,
        false_positive_count=0,
        last_activated=None,
        relaxed_at=None,
        relaxed_reason=None,
        created_at=told.occurred_at,
    )
    if not await censors.insert(db, added):
        raise UserMistake(f"agent {told.agent_id!r} has a censor {added.censor_id} already; leave --id out for a new one")
    return Decided("added", added.censor_id, {"after": _standing_of(added)}, after=added)


async def _relax(db: Write, told: CensorRelaxed, _table: str, _vector: Vector | None) -> Decided:
    before = await censors.get(db, told.agent_id, told.censor_id)
    if before is None:
        raise UserMistake(f"agent {told.agent_id!r} has no censor {told.censor_id}; nous censor list shows what there is")
    if before.severity != "block":
        raise UserMistake(_why_not(before.severity, told.censor_id))
    after = replace(before, severity="warn", counted_from=before.activation_count, relaxed_at=told.occurred_at, relaxed_reason=told.reason)
    await censors.update(db, [after])
    return Decided("relaxed", after.censor_id, {"before": _standing_of(before), "after": _standing_of(after)}, after=after)


def _standing_of(censor: Censor) -> dict[str, object]:
    return {name: getattr(censor, name) for name in CENSOR_STATE}


def _why_not(severity: str, censor: UUID) -> str:
    if severity == "absolute":
        return f"censor {censor} is absolute, and an absolute censor is never relaxed; add another one in its place if it is wrong"
    return f"censor {censor} only warns, so there is nothing to relax; only a block can be"


APPLIED: Mapping[type[Event], Callable[[Write, Any, str, Vector | None], Awaitable[Decided]]] = {
    FactRestored: _restore,
    FactSplit: _split,
    FactJoined: _join,
    FactRetired: _retire,
    FactPinned: _pin,
    FactUnpinned: _pin,
    FactReinstated: _reinstate,
    ProcedureRestored: _put_back,
    EpisodeRestored: _bring_back,
    EpisodeThawed: _thaw,
    CensorAdded: _add,
    CensorRelaxed: _relax,
}
"""What each event that people decide does."""
