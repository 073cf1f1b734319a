"""An event before it is sent: read as a worker would read it, and given its ids, so that sending it again has no second effect.

    JSON object ─▶ its fact_id, if it is a fact without one ─▶ decoded ─▶ its event_id, if it came without one ─▶ the body to send

What is sent is what was written, unknown fields too. Time and new ids are the caller's.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .base import Event
from .facts import FactLearned
from .wire import decode, mended


@dataclass(frozen=True)
class Prepared:
    """An event that can be sent: the body as it goes out, what was made here of it besides its id, and the fields it came with."""

    event: Event
    body: bytes
    made: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


def prepare(kind: type[Event], body: bytes, *, now: datetime, new_id: Callable[[], object]) -> Prepared:
    """The event of class `kind` in `body`, with an id: its own, or one that follows from what it says, or `new_id()` where none does.

    Raises MalformedEvent.
    """
    fields = _object(body)
    made = made_for(kind, fields) if fields else {}
    if made:
        body = json.dumps({**fields, **made}).encode()
    event = decode(kind, body, f"{int(now.timestamp() * 1000)}-0")
    if fields.get("event_id") is not None:
        return Prepared(event, body, made, fields)
    if is_new_each_time(kind):
        event = event.model_copy(update={"event_id": str(new_id())})
    return Prepared(event, json.dumps({**fields, **made, "event_id": event.event_id}).encode(), made, fields)


def made_for(kind: type[Event], fields: Mapping[str, object]) -> dict[str, str]:
    """The fact_id of a fact that came without: it follows from agent and content, so that saying the same again is the same fact."""
    if kind is not FactLearned or fields.get("fact_id") is not None:
        return {}
    return {"fact_id": FactLearned.derive_fact_id(*(mended(str(fields.get(name) or "")) for name in ("agent_id", "content")))}


def is_new_each_time(kind: type[Event]) -> bool:
    """Whether an event of this kind without an id counts as new whenever it is published."""
    return kind.derive_id.__func__ is Event.derive_id.__func__  # type: ignore[attr-defined]


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; nothing of what is none, which decoding tells."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
