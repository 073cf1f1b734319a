"""Events over HTTP: a batch taken in, each event reported by itself; and what became of one.

    POST /v1/events ──▶ each read by itself, as a worker would read it ─┬─ an event of this agent's ─▶ published in one round trip ─▶ taken
                                                                        └─ anything else, whatever it is ▶ rejected, and why
    GET /v1/events/{id}?wait=5 ──▶ what each worker made of it, once all of them are through, or after so long

"Taken" is said after Redis has it, and what Redis has taken is told even to a client that left meanwhile. An event sent again under its id
has no second effect.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import Field, ValidationError, WithJsonSchema
from starlette.responses import Response

import workers
from events import CATALOGUE, FROM_AGENTS, MalformedEvent, Prepared, derived, is_new_each_time, prepare
from events.wire import is_storable, mended
from nous import clock, ids
from nous.aside import aside
from store import archive, outbox, receipts, retries
from store.database import Read
from store.outbox import Letter

from . import paths
from .problems import nothing, problem, told
from .service import Service
from .shapes import Given, Taken
from .who import Agent, TheService

router = APIRouter(tags=["events"])

MOST_EVENTS = 1_000
MOST_WAIT_S = 30.0
LOOK_S, LOOK_CAP_S = 0.05, 0.5
USUAL_CHARACTERS = 1_000  # of an event


class Sent(Taken):
    """One event: its name and its fields."""

    event: str = Field(max_length=100, description="Its name, such as fact_learned (docs/events.md).")
    data: dict[str, Any] = Field(description="Its fields; agent_id may be left out, and is never another agent's.")


class Batch(Taken):
    """Events, in order."""

    events: tuple[Annotated[Any, WithJsonSchema(Sent.model_json_schema())], ...] = Field(max_length=MOST_EVENTS)
    """Each is read by itself, so that one that is none costs itself only."""


class Reported(Given):
    """How one event of a batch fared."""

    index: int
    status: Literal["taken", "rejected"]
    event_id: str | None = Field(default=None, description="Under which id; send it again with this id if in doubt.")
    made: dict[str, str] = Field(default={}, description="What was filled in besides: the fact_id of a fact that came without one.")
    reason: str | None = Field(default=None, description="Why it was rejected, and what to send instead.")


class Reports(Given):
    """How each event of a batch fared, in order."""

    taken: int
    rejected: int
    events: tuple[Reported, ...]


class Ending(Given):
    """What one worker made of an event."""

    worker: str
    ending: str
    outcome: str
    reason: str | None
    about: UUID | None
    recorded_at: datetime


class Standing(Given):
    """What became of an event."""

    event_id: str
    events: tuple[str, ...] = Field(description="Its names; several when one id was used for several.")
    is_settled: bool = Field(description="Whether every worker that listens to it is through with it.")
    endings: tuple[Ending, ...]
    waiting_for: tuple[str, ...] = Field(description="Workers that are not through with it.")


# ── taking in ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@router.post("/v1/events", response_model=Reports, status_code=202, responses={422: {"model": Reports}})
async def take(
    batch: Batch,
    agent: Agent,
    service: TheService,
    idempotency_key: Annotated[
        str | None, Header(max_length=200, description="For events without an event_id that count as new each time.")
    ] = None,
) -> Reports | Response:
    """Take events in. Each is reported by itself; 422 when none of them could be taken.

    Harmless to send again: an event has one effect for each event_id, and one without gets one that follows from what it says. Where that
    would count as new each time (censor_triggered, procedure_used) send an event_id, or an Idempotency-Key for the batch.
    """
    reports = await taken(batch, agent, service, key=idempotency_key)
    if reports.rejected and not reports.taken:
        first = reports.events[0].reason
        return problem(422, f"none of {reports.rejected} events could be taken; the first: {first}", more=reports.model_dump(mode="json"))
    return reports


async def taken(batch: Batch, agent: str, service: Service, *, key: str | None = None) -> Reports:
    """Publish what does of a batch of this agent's, and say of each event how it fared. Raises Outage."""
    made = await aside(len(batch.events) * USUAL_CHARACTERS, _all_prepared, batch.events, agent, key)
    fit = [one for one in made if isinstance(one, Prepared)]
    await _published(service, agent, fit)
    return Reports(taken=len(fit), rejected=len(made) - len(fit), events=tuple(_report(at, one) for at, one in enumerate(made)))


def _all_prepared(sent: Sequence[object], agent: str, key: str | None) -> list[Prepared | str]:
    return [_prepared(one, agent, _key(key, agent, at)) for at, one in enumerate(sent)]


def _prepared(one: object, agent: str, key: str | None) -> Prepared | str:
    """The event as it is published, or why it cannot be."""
    try:
        sent = Sent.model_validate(one)
    except ValidationError as error:
        return mended(told(error))
    kind = CATALOGUE.get(sent.event)
    if kind is None or sent.event not in FROM_AGENTS:
        return f"agents do not publish {sent.event!r}; they publish {', '.join(sorted(FROM_AGENTS))}"
    if sent.data.get("agent_id") not in (None, agent):
        return "agent_id is not the agent that speaks; leave it out"
    fields = {**sent.data, "agent_id": agent}
    if key and fields.get("event_id") is None and is_new_each_time(kind):
        fields["event_id"] = key
    try:
        return prepare(kind, json.dumps(fields).encode(), now=clock.now(), new_id=ids.new)
    except (MalformedEvent, ValueError, RecursionError) as error:
        return str(error) if isinstance(error, MalformedEvent) else f"not JSON that can be sent on: {error}"


def _key(written: str | None, agent: str, at: int) -> str | None:
    return derived("idempotency", agent, written, str(at)) if written else None


async def _published(service: Service, agent: str, fit: Sequence[Prepared]) -> None:
    """All of them are with Redis, or none is known to be. A client that leaves does not stop what has begun. Raises Outage."""
    letters = [Letter(agent, one.event.event_id, one.event.stream, one.body) for one in fit]
    await asyncio.shield(asyncio.create_task(service.broker.append(letters)))


def _report(at: int, made: Prepared | str) -> Reported:
    if isinstance(made, str):
        return Reported(index=at, status="rejected", reason=made)
    return Reported(index=at, status="taken", event_id=made.event.event_id, made=dict(made.made))


# ── what became of one ────────────────────────────────────────────────────────────────────────────────────────────────────


@router.get("/v1/events/{event_id:path}", response_model=Standing)
async def standing(
    event_id: Annotated[str, paths.WHOLE, Path(max_length=128)],
    request: Request,
    agent: Agent,
    service: TheService,
    wait: Annotated[float, Query(ge=0, le=MOST_WAIT_S, description="Seconds to wait until it is settled.")] = 0,
) -> Standing:
    """What became of an event: what each worker made of it. With `wait`, once it is settled, or as it stands after so long.

    404 while nobody has seen it: an event that was taken a moment ago may not be known yet. 429 when sixteen requests of this agent wait.
    """
    if not is_storable(event_id):
        raise nothing("event")
    with service.waiting.one(agent) if wait else nullcontext():
        seen = await _settled(service, agent, event_id, request, within_s=wait)
    if seen is None:
        raise nothing("event")
    return seen


async def _settled(service: Service, agent: str, event_id: str, request: Request, *, within_s: float) -> Standing | None:
    """What is known of it once it is settled, or as it stands after so long; sooner when nobody waits any longer."""
    deadline, pause = time.monotonic() + within_s, LOOK_S
    while True:
        async with service.database.read([agent]) as db:
            seen = await _seen(db, agent, event_id)
        left = deadline - time.monotonic()
        if (seen and seen.is_settled) or left <= 0 or await request.is_disconnected():
            return seen
        await asyncio.sleep(min(pause, left))
        pause = min(LOOK_CAP_S, pause * 1.5)


async def _seen(db: Read, agent: str, event_id: str) -> Standing | None:
    """What is known of it; None for nothing."""
    told = await receipts.of_events(db, [agent], [event_id])
    archived = {one.stream for one in await archive.of_event(db, agent, event_id)}
    underway = {one.stream for one in await outbox.of_events(db, agent, [event_id])}
    waiting = {one.stream for one in await retries.of_events(db, agent, [event_id])}
    names = {one.stream for one in told} | archived | underway | waiting
    if not names:
        return None
    through = {one.worker for one in told}
    owing = [name for stream in sorted(names) for name in workers.consumers().get(stream, ()) if name not in through]
    return Standing(
        event_id=event_id,
        events=tuple(sorted(names)),
        is_settled=not owing,
        endings=tuple(
            Ending(
                worker=one.worker,
                ending=one.ending,
                outcome=one.outcome,
                reason=one.reason,
                about=one.about,
                recorded_at=one.recorded_at,
            )
            for one in told
        ),
        waiting_for=tuple(owing),
    )
