"""One event typed as key=value: each field read by its type, what a person may leave out made here, mistakes told by name."""

import json
from collections.abc import Iterable, Mapping
from typing import get_origin

from events import Event, MalformedEvent, made_for, prepare
from nous import clock, ids
from nous.errors import UserMistake

from . import screen
from .lines import Line
from .ready import Ready, ready


def typed(kind: type[Event], pairs: Iterable[str]) -> Ready:
    """The event typed as `pairs`, ready to be sent. Raises UserMistake saying what does not fit."""
    given = _given(kind, pairs)
    try:
        body = _body(kind, given)
        return ready(kind, Line(1, body, len(body)))
    except MalformedEvent as error:
        raise UserMistake(f"{screen.unprefixed(str(error))}. {_its_fields(kind)}") from None


def _given(kind: type[Event], pairs: Iterable[str]) -> dict[str, object]:
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserMistake(f"{pair!r} is not key=value; write for example content='The cat is called Mimi.'")
        if name not in kind.model_fields:
            raise UserMistake(f"{kind.stream} has no field {name!r}{screen.meant(name, kind.model_fields)}. {_its_fields(kind)}")
        if _is_list(kind, name):
            given[name] = [*_listed(given.get(name)), *_items(name, value)]
        elif name in given:
            raise UserMistake(f"{name} is given twice")
        else:
            given[name] = value
    return given


def _items(name: str, value: str) -> list[object]:
    """What one key=value adds to a list: an item, or several as JSON."""
    if not value.startswith("["):
        return [value] if value else []
    try:
        return _listed(json.loads(value))
    except ValueError as error:
        raise UserMistake(
            f'{name} is a list, and {value!r} is not JSON ({error}); write {name}=\'["...", "..."]\', or {name}=... again and again'
        ) from None


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_list(kind: type[Event], name: str) -> bool:
    return get_origin(kind.model_fields[name].annotation) is tuple


def _body(kind: type[Event], given: Mapping[str, object]) -> bytes:
    """The body with its numbers and booleans as such, as the event's types read them. Raises MalformedEvent."""
    made = prepare(kind, json.dumps(given).encode(), now=clock.now(), new_id=ids.new)
    return json.dumps(made.event.model_dump(mode="json", include=set(given))).encode()


def _its_fields(kind: type[Event]) -> str:
    made = made_for(kind, {})
    own = {name: info for name, info in kind.model_fields.items() if name not in Event.model_fields}
    told = [f"{name}{' (required)' if info.is_required() and name not in made else ''}" for name, info in own.items()]
    return f"Its fields: agent_id (required), {', '.join(told)}, event_id, occurred_at"
