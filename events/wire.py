"""From a stream entry to an event, and back. Any Redis client can publish: one field, `data`, holding a JSON object.

    XADD fact_learned * data '{"fact_id": "...", "content": "...", "agent_id": "..."}'

    fields ──▶ body (bytes) ──▶ JSON object ──▶ cleaned text ──▶ defaults given ──▶ frozen event
                  │                 │                                                  │
                  └── MalformedEvent: what is wrong, with the value, and what to send instead ──┘

What Postgres cannot hold is mended, not refused: NUL characters are dropped, lone surrogates become U+FFFD. Only an id is never
mended, for it could become another agent's, or another event's.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .base import AgentId, Event, EventId
from .identity import derived

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_CLOCK_AHEAD = timedelta(minutes=5)

_AGENT_ID: TypeAdapter[str] = TypeAdapter(AgentId)
_EVENT_ID: TypeAdapter[str] = TypeAdapter(EventId)
_NEVER_MENDED = {"agent_id", "event_id", "caused_by"}
_YEAR_9999_MS = 253_370_764_800_000
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_JSON_NAMES = {list: "a JSON list", str: "a JSON string", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
_SAID = {
    "string_pattern_mismatch": "is blank or has a control character",
    "uuid_parsing": "is no UUID",
    "datetime_parsing": "is no time, such as 2026-03-01T09:30Z",
    "datetime_from_date_parsing": "is no time, such as 2026-03-01T09:30Z",
}
"""What pydantic says in the words of its parser, by its name for it, said plainly."""
BEGINNING = 60  # characters of a body, in a sentence

_FASTSTREAM_MAGIC = b"\x89BIN\r\n\x1a\n"


class MalformedEvent(ValueError):
    """A body that is no event of its stream, and never will be: it is parked at once.

    `agent_id` and `event_id` are what it says of itself, each only if it is a valid one; empty otherwise.
    """

    def __init__(self, why: str, body: Mapping[str, object] | None = None) -> None:
        super().__init__(why)
        self.agent_id = _readable(body, "agent_id", _AGENT_ID)
        self.event_id = _readable(body, "event_id", _EVENT_ID)


def body_of(fields: Mapping[bytes, bytes]) -> bytes:
    """The JSON text of an entry: its field `data`, or `__data__` as FastStream publishes it.

    Raises MalformedEvent when there is neither.
    """
    if b"data" in fields:
        return fields[b"data"]
    if b"__data__" in fields:
        return _unwrapped(fields[b"__data__"])
    names = ", ".join(_shown(name.decode(errors="replace")) for name in sorted(fields)[:5]) or "none"
    raise MalformedEvent(f"the entry has no data field (its fields: {names}); publish one field 'data' holding a JSON object")


def kept_body(fields: Mapping[bytes, bytes]) -> bytes:
    """What is worth keeping of an entry that may be malformed: its body, or all of its fields as JSON when it has none."""
    for name in (b"data", b"__data__"):
        if name in fields:
            return fields[name]
    shown = {name.decode(errors="backslashreplace"): value.decode(errors="backslashreplace") for name, value in fields.items()}
    return json.dumps(shown, ensure_ascii=False).encode()


def decode(kind: type[Event], body: bytes, entry_id: str, *, now: datetime | None = None) -> Event:
    """The event of class `kind` in `body`, which came as stream entry `entry_id` ("milliseconds-sequence").

    An absent `event_id` is derived, an absent `occurred_at` is the entry's own time, and a time in the future is capped at
    the entry's time plus five minutes, so that a wrong clock cannot win for ever. The entry's time itself is capped at five
    minutes from `now`, the reader's time: one entry added under an id of the future gives all later ones such ids.
    Raises MalformedEvent.
    """
    if len(body) > MAX_BODY_BYTES:
        raise MalformedEvent(f"the body has {len(body):,} bytes and the limit is {MAX_BODY_BYTES:,}; split what you send")
    try:
        return _decoded(kind, body, entry_id, now)
    except RecursionError:
        raise MalformedEvent(f"the body is nested too deeply, and an event is flat; {_beginning(body)}") from None


def identity(kind: type[Event], fields: Mapping[bytes, bytes], entry_id: str) -> tuple[str, str]:
    """(agent_id, event_id) of an entry, as `decode` has them, whether or not it is an event.

    The agent of a body that names none is empty; an event that says nothing readable of its id has one that follows from its entry.
    """
    agent, event_id = "", ""
    try:
        body = _object(body_of(fields))
        if body.get("event_id") is None:
            body["event_id"] = kind.derive_id(body, entry_id)
        agent, event_id = _readable(body, "agent_id", _AGENT_ID), _readable(body, "event_id", _EVENT_ID)
    except (MalformedEvent, RecursionError):
        pass
    return agent, event_id or derived(kind.stream, entry_id)


def named(body: bytes) -> tuple[str, str]:
    """(agent_id, event_id) as a body says them itself; empty where it says nothing readable."""
    try:
        fields = _object(body)
    except (MalformedEvent, RecursionError):
        return "", ""
    return _readable(fields, "agent_id", _AGENT_ID), _readable(fields, "event_id", _EVENT_ID)


def encode(event: Event) -> bytes:
    """The body that `decode` reads back to the same event."""
    return event.model_dump_json(exclude_none=True).encode()


def is_storable(text: str) -> bool:
    """Whether Postgres can hold it as it is."""
    return _UNSTORABLE.search(text) is None


def mended(text: str) -> str:
    """`text` as Postgres can hold it: without NUL, halves of a surrogate pair joined, lone ones U+FFFD."""
    return text if is_storable(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")


def entry_time(entry_id: str) -> datetime:
    """When the broker took the entry in, from its id. Raises MalformedEvent for one that no clock made."""
    milliseconds = int(entry_id.split("-")[0])
    if milliseconds >= _YEAR_9999_MS:
        raise MalformedEvent(f"the entry's id {entry_id} lies beyond the year 9998; leave ids to the broker: XADD <stream> * data ...")
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def _decoded(kind: type[Event], body: bytes, entry_id: str, now: datetime | None) -> Event:
    fields = _object(body)
    if fields.get("event_id") is None:
        fields["event_id"] = kind.derive_id(fields, entry_id)
    arrived = entry_time(entry_id)
    if now is not None:
        arrived = min(arrived, now + MAX_CLOCK_AHEAD)
    if fields.get("occurred_at") is None:
        fields["occurred_at"] = arrived
    try:
        event = kind.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise MalformedEvent(_sentence(kind, error), fields) from None
    latest = arrived + MAX_CLOCK_AHEAD
    return event if event.occurred_at <= latest else event.model_copy(update={"occurred_at": latest})


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise MalformedEvent(f"the body is no text (at byte {error.start + 1}); publish JSON as UTF-8") from None
    except ValueError as error:
        where = f"at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else "a number in it is too long"
        raise MalformedEvent(f"the body is not JSON ({where}); {_beginning(body)}") from None
    if not isinstance(fields, dict):
        raise MalformedEvent(f"the body is {_JSON_NAMES[type(fields)]}, and an event is a JSON object; {_beginning(body)}")
    return {name: _storable(name, value) for name, value in fields.items()}


def _storable(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_storable(name, item) if isinstance(item, str) else item for item in value]
    if not isinstance(value, str) or is_storable(value):
        return value
    if name in _NEVER_MENDED:
        raise MalformedEvent(f"{name} has a NUL character or a lone surrogate, got {_shown(value)}; send an id without it")
    return mended(value)


def _readable(body: Mapping[str, object] | None, name: str, kind: TypeAdapter[str]) -> str:
    try:
        return kind.validate_python((body or {}).get(name))
    except ValidationError:
        return ""


def _sentence(kind: type[Event], error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False, include_context=False)[:3]:
        where = ".".join(str(part) for part in problem["loc"]) or "body"
        value = "" if problem["type"] == "missing" else f", got {_shown(problem['input'])}"
        said = _SAID.get(problem["type"]) or _printable(problem["msg"].lower())
        hint = "; add Z or an offset such as +02:00" if problem["type"] == "timezone_aware" else ""
        problems.append(f"{where}: {said}{value}{hint}")
    return f"not a valid {kind.stream}: " + "; ".join(problems)


def _beginning(body: bytes) -> str:
    """How the body begins, on one line."""
    text = _printable(" ".join(body[: 4 * BEGINNING].decode(errors="replace").split()))
    if not text:
        return "it is empty"
    return f"it begins: {text[:BEGINNING]}{'…' if len(text) > BEGINNING or len(body) > 4 * BEGINNING else ''}"


def _printable(message: str) -> str:
    """What pydantic says, which may quote a character that no log line should hold."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in message)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}... ({len(value) if isinstance(value, str) else len(text):,} characters)"


def _unwrapped(envelope: bytes) -> bytes:
    """The payload of FastStream's binary envelope (magic, version, header offset, data offset); anything else is the payload itself."""
    if not envelope.startswith(_FASTSTREAM_MAGIC):
        return envelope
    start = int.from_bytes(envelope[14:18], "big")
    if not 18 <= start <= len(envelope):
        raise MalformedEvent(f"the FastStream envelope points at byte {start} of {len(envelope)}; it was cut on the way")
    return envelope[start:]
