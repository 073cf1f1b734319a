"""A line of a file as an event that can be sent, under an id, so that publishing the file again has no second effect."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import events
from events import MAX_BODY_BYTES, Event, MalformedEvent
from nous import clock, ids

from .lines import Line


@dataclass(frozen=True)
class Ready:
    """An event that will be sent: its line, its id, its body, what was made here of it besides, and the fields it came with."""

    line: int
    agent_id: str
    event_id: str
    body: bytes
    made: Mapping[str, str] = field(default_factory=dict)
    fields: Collection[str] = ()


def ready(kind: type[Event], line: Line) -> Ready:
    """The event of a line as it was written, unknown fields too, with an id. Raises MalformedEvent."""
    if line.is_cut:
        raise MalformedEvent(f"the line has {line.size:,} bytes and the limit is {MAX_BODY_BYTES:,}; split what you send")
    made = events.prepare(kind, line.body.strip(), now=clock.now(), new_id=ids.new)
    return Ready(line.number, made.event.agent_id, made.event.event_id, made.body, made.made, made.fields)
