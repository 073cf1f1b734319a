"""An event on its way: read as a worker would read it, and given an id, so that publishing it again has no second effect."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import events
from events import MAX_BODY_BYTES, Event, FactLearned, MalformedEvent
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
    body = line.body.strip()
    fields = _object(body)
    made = made_here(kind, fields) if fields else {}
    if made:
        body = json.dumps({**fields, **made}).encode()
    event = decoded(kind, body)
    if fields.get("event_id") is not None:
        return Ready(line.number, event.agent_id, event.event_id, body, made, fields)
    event_id = str(ids.new()) if _is_new_each_time(kind) else event.event_id
    body = json.dumps({**fields, **made, "event_id": event_id}).encode()
    return Ready(line.number, event.agent_id, event_id, body, made, fields)


def made_here(kind: type[Event], fields: Mapping[str, object]) -> dict[str, str]:
    """The fact_id of a fact that came without: it follows from agent and content, so that saying the same again is the same fact."""
    if kind is not FactLearned or fields.get("fact_id") is not None:
        return {}
    return {"fact_id": events.derived("fact_id", *(str(fields.get(name) or "") for name in ("agent_id", "content")))}


def decoded(kind: type[Event], body: bytes) -> Event:
    """The event of a body that comes in at this moment. Raises MalformedEvent."""
    return events.decode(kind, body, f"{int(clock.now().timestamp() * 1000)}-0")


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; nothing of what is none, which decoding tells."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _is_new_each_time(kind: type[Event]) -> bool:
    """Whether an event of this kind without an id counts as new whenever it is published."""
    return kind.derive_id.__func__ is Event.derive_id.__func__  # type: ignore[attr-defined]
