"""An event on its way: read as a worker would read it, and given an id, so that publishing it again has no second effect."""

import json
from dataclasses import dataclass

import events
from events import MAX_BODY_BYTES, Event, MalformedEvent
from nous import clock, ids

from .lines import Line


@dataclass(frozen=True)
class Ready:
    """An event that will be sent: its line, its id, and its body."""

    line: int
    event_id: str
    body: bytes


def ready(kind: type[Event], line: Line) -> Ready:
    """The event of a line as it was written, unknown fields too, with an id. Raises MalformedEvent."""
    if line.is_cut:
        raise MalformedEvent(f"the line has {line.size:,} bytes and the limit is {MAX_BODY_BYTES:,}; split what you send")
    body = line.body.strip()
    event = decoded(kind, body)
    fields = json.loads(body)
    if fields.get("event_id") is not None:
        return Ready(line.number, event.event_id, body)
    event_id = str(ids.new()) if _is_new_each_time(kind) else event.event_id
    return Ready(line.number, event_id, json.dumps({**fields, "event_id": event_id}).encode())


def decoded(kind: type[Event], body: bytes) -> Event:
    """The event of a body that comes in at this moment. Raises MalformedEvent."""
    return events.decode(kind, body, f"{int(clock.now().timestamp() * 1000)}-0")


def _is_new_each_time(kind: type[Event]) -> bool:
    """Whether an event of this kind without an id counts as new whenever it is published."""
    return kind.derive_id.__func__ is Event.derive_id.__func__  # type: ignore[attr-defined]
