"""Events that the routes publish themselves: what was recalled, what an answer drew on, which censors a turn met.

of a turn      ──▶ committed with what the turn was told, or answered ──▶ send ──▶ published; what a crash left, by a running worker
of /v1/recall  ──▶ publish ─┬─ Redis takes them ──▶ published, and nothing is written to Postgres
                            └─ Redis is away ─────▶ committed to the outbox; a running worker publishes them when it is back
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TypeVar
from uuid import UUID

from events import CensorTriggered, Event, MemoryRecalled, MemoryReferenced, RecalledMemory, derived
from events.usage import MOST_MEMORIES
from nous import clock
from nous.errors import Contended, Outage
from recall.matching import Match
from recall.remembering import Remembered
from recall.using import Comparison
from store import outbox
from store.outbox import Letter

from .service import Service

T = TypeVar("T")


async def publish(service: Service, events: Sequence[Event]) -> None:
    """Publish these, now or as soon as Redis is back. Raises Outage when Postgres is away too."""
    letters = [outbox.letter(event) for event in events]
    try:
        await service.broker.append(letters)
    except Outage:
        async with service.database.queue() as db:
            await outbox.insert(db, letters, now=clock.now())


def recalled(
    agent: str, recall_id: UUID, remembered: Remembered, *, session_id: str | None = None, turn: str | None = None, is_past: bool = False
) -> list[Event]:
    """What a recall is told as: what was found and told, if anything, and each censor that applies. Told again they are the same events.

    `is_past`: it was asked what was true at another time. What is told of that says nothing of what is true instead, so it counts as found.
    """
    found = [RecalledMemory(kind=one.kind, id=one.memory_id, injected=not is_past) for one in remembered.memories]
    found += [RecalledMemory(kind=kind, id=memory_id, injected=False) for kind, memory_id in remembered.left_out]
    fields = {"recall_id": recall_id, "session_id": session_id, "turn": turn, "frame": remembered.frame}
    told = [_event(MemoryRecalled, agent, *of, **fields, memories=part) for of, part in _parts(recall_id, found)]
    return [*told, *(triggered(agent, recall_id, match) for match in remembered.censors)]


def referenced(agent: str, recall_id: UUID, comparison: Comparison) -> list[Event]:
    """What an answer was compared with, if anything, and what it drew on."""
    drawn_on = {(one.kind, one.id): one for one in comparison.drawn_on}
    return [
        _event(
            MemoryReferenced,
            agent,
            *of,
            recall_id=recall_id,
            memories=tuple(drawn_on[key] for one in part if (key := (one.kind, one.id)) in drawn_on),
            compared=part,
        )
        for of, part in _parts(recall_id, comparison.compared)
    ]


def _parts(recall_id: UUID, some: Sequence[T]) -> Iterator[tuple[tuple[str, ...], tuple[T, ...]]]:
    """As many at once as one event takes, and what the event of each part is derived of."""
    for at in range(0, len(some), MOST_MEMORIES):
        yield (str(recall_id), *([str(at)] if at else [])), tuple(some[at : at + MOST_MEMORIES])


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
    if not letters:
        return
    with suppress(Outage, Contended):
        await service.broker.append(letters)
        async with service.database.queue() as db:
            await outbox.mark_published(db, [outbox.key(letter) for letter in letters], now=clock.now())
