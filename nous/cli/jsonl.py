"""The archive as JSON lines, an event a line, raw as it came: how a line is written and read.

    {"stream": ..., "agent_id": ..., "event_id": ..., "entry_id": ..., "arrived_at": ..., "is_root": true, "body": "..."}

`body` is the text as it came; `body_base64` stands instead of it when that is no UTF-8. `is_root` is false of what workers made: it
comes about again when the roots are worked.
"""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import events
from events.base import MAX_ID_CHARACTERS
from events.wire import is_storable, named
from nous import clock
from nous.errors import UserMistake
from store import archive
from store.archive import Archived

from . import lines, screen

Recorded = dict[str, list[Archived]]
"""Root events of a file, by their agents, in the order of the lines."""


def line(row: Archived, *, is_root: bool) -> str:
    """The line of an event, without its end."""
    told: dict[str, Any] = {
        "stream": row.stream,
        "agent_id": row.agent_id,
        "event_id": row.event_id,
        "entry_id": row.entry_id,
        "arrived_at": row.arrived_at.astimezone(UTC).isoformat(),
        "is_root": is_root,
    }
    try:
        told["body"] = row.body.decode()
    except UnicodeDecodeError:
        told["body_base64"] = base64.b64encode(row.body).decode()
    return screen.as_json(told, indent=None)


def read(file: str) -> Iterator[tuple[Archived, bool]]:
    """The events of a file, each with whether it is a root; `-` is standard input. Raises UserMistake naming the line that is none."""
    with (
        lines.opened(file) as descriptor,
        open(descriptor, encoding="utf-8", errors="surrogateescape", newline="\n", closefd=False) as text,
    ):
        for number, one in enumerate(text, 1):
            if one.strip():
                try:
                    yield _parsed(one)
                except UnicodeError:
                    raise UserMistake(f"line {number} of {lines.called(file)} is no event of an export: it is not UTF-8") from None
                except RecursionError:
                    raise UserMistake(f"line {number} of {lines.called(file)} is no event of an export: it is nested too deeply") from None
                except (ValueError, TypeError) as error:
                    raise UserMistake(f"line {number} of {lines.called(file)} is no event of an export: {error}") from None


def read_roots(file: str) -> Recorded:
    """The root events of a file, by their agents. Raises UserMistake naming the line that is none."""
    found: Recorded = {}
    for row, is_root in read(file):
        if is_root:
            found.setdefault(row.agent_id, []).append(row)
    return found


def _parsed(written: str) -> tuple[Archived, bool]:
    said = json.loads(written)
    if not isinstance(said, dict):
        raise TypeError(f"it is a JSON {type(said).__name__}, and should be an object with stream, agent_id, event_id, entry_id and body")
    stream, agent, event_id, entry_id = (_text(said, name) for name in ("stream", "agent_id", "event_id", "entry_id"))
    if stream not in events.CATALOGUE:
        raise ValueError(f"there is no stream {stream!r}{screen.meant(stream, events.CATALOGUE)}")
    if not event_id:
        raise ValueError("its event_id is empty")
    if max(len(agent), len(event_id)) > MAX_ID_CHARACTERS:
        raise ValueError(f"its agent_id or its event_id has more than {MAX_ID_CHARACTERS} characters")
    events.entry_time(entry_id)
    body = base64.b64decode(_text(said, "body_base64"), validate=True) if "body_base64" in said else _text(said, "body").encode()
    _hold_to_its_body(agent, event_id, body)
    row = Archived(agent, event_id, stream, archive.digest(body), body, entry_id, _time(_text(said, "arrived_at")), clock.now())
    return row, said.get("is_root", True) is not False


def _hold_to_its_body(agent: str, event_id: str, body: bytes) -> None:
    """An event stands under the names that it says of itself: under others, nobody who forgets it would find it.

    One that had no field `data` stands under nobody's, whatever its fields say. Raises ValueError.
    """
    named_agent, named_event = named(body)
    if agent and named_agent not in ("", agent):
        raise ValueError(f"its agent_id is {agent!r} and its body says {named_agent!r}")
    if agent and named_event not in ("", event_id):
        raise ValueError(f"its event_id is {event_id!r} and its body says {named_event!r}")


def _text(said: dict[str, Any], name: str) -> str:
    if name not in said:
        hint = "; events of your own are sent with: nous publish" if name in ("stream", "entry_id") else ""
        raise ValueError(f"it has no {name}{hint}")
    value = said[name]
    if not isinstance(value, str) or (name != "body" and not is_storable(value)):
        raise ValueError(f"its {name} is {str(value)[:60]!r}, which is no text that can be kept")
    return value


def _time(written: str) -> datetime:
    moment = datetime.fromisoformat(written)
    if moment.tzinfo is None:
        raise ValueError(f"its arrived_at, {written}, has no time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"its arrived_at, {written}, is outside the years 1 to 9999 in UTC") from None
