"""Events that the routes publish themselves: what was recalled, what an answer drew on, which censors a turn met.

events ─┬─ Redis takes them ───▶ published
        └─ Redis is away ──────▶ committed to the outbox; a running worker publishes them when it is back
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from uuid import UUID

from events import CensorTriggered, Event, MemoryRecalled, MemoryReferenced, RecalledMemory, ReferencedMemory, derived, encode
from nous import clock
from nous.errors import Contended, Outage
from recall.matching import Match
from recall.remembering import Remembered
from store import outbox
from store.outbox import Letter
from workers.runtime import streams
from workers.runtime.sweep import announce

from .service import Service


async def publish(service: Service, events: Sequence[Event]) -> None:
    """Publish these, now or as soon as Redis is back. Raises Outage when Postgres is away too."""
    if not events:
        return
    try:
        await streams.append(service.redis, [(event.stream, event.agent_id, encode(event)) for event in events])
    except Outage:
        async with service.database.queue() as db:
            await outbox.insert(db, [outbox.letter(event) for event in events], now=clock.now())


def recalled(agent: str, recall_id: UUID, remembered: Remembered, *, session_id: str | None = None, turn: str | None = None) -> list[Event]:
    """What a recall is told as: what was found and told, if anything, and each censor that applies. Told again they are the same events."""
    found = [RecalledMemory(kind=one.kind, id=one.memory_id) for one in remembered.memories]
    found += [RecalledMemory(kind=kind, id=memory_id, injected=False) for kind, memory_id in remembered.left_out]
    fields = {"recall_id": recall_id, "session_id": session_id, "turn": turn, "frame": remembered.frame, "memories": tuple(found)}
    told: list[Event] = [_event(MemoryRecalled, agent, str(recall_id), **fields)] if found else []
    return [*told, *(triggered(agent, recall_id, match) for match in remembered.censors)]


def referenced(agent: str, recall_id: UUID, memories: Iterable[ReferencedMemory]) -> list[Event]:
    """What an answer drew on, if anything."""
    found = tuple(memories)
    return [_event(MemoryReferenced, agent, str(recall_id), recall_id=recall_id, memories=found)] if found else []


def triggered(agent: str, recall_id: UUID, match: Match) -> Event:
    """A censor that a turn met."""
    one = match.censor.censor_id
    return _event(
        CensorTriggered, agent, str(recall_id), str(one), censor_id=one, was_blocked=match.is_blocking, matched_text=match.matched
    )


def _event(kind: type[Event], agent: str, *of: str, **fields: object) -> Event:
    named = {"event_id": derived(kind.stream, "recall", agent, *of), "agent_id": agent, "occurred_at": clock.now()}
    return kind.model_validate({**named, **fields})


async def send(service: Service, letters: Sequence[Letter]) -> None:
    """Publish what is committed already; when Redis is away, a running worker does it within seconds of its return."""
    with suppress(Outage, Contended):
        await announce(service.database, service.redis, letters)
