"""One event typed as key=value: each field read by its type, what a person may leave out made here, mistakes told by name."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from events import Event, MalformedEvent
from nous import ids
from nous.errors import UserMistake

from . import screen
from .ready import decoded

MADE_HERE = {"fact_learned": ("fact_id",)}  # what a person may leave out and is told afterwards


@dataclass(frozen=True)
class Typed:
    """The body of what was typed, and the fields that were made here."""

    body: bytes
    made_here: Mapping[str, str]


def typed(kind: type[Event], pairs: Iterable[str]) -> Typed:
    """The event typed as `pairs`. Raises UserMistake saying what does not fit."""
    given = _given(kind, pairs)
    made_here = {name: str(ids.new()) for name in MADE_HERE.get(kind.stream, ()) if name not in given}
    try:
        return Typed(_body(kind, {**made_here, **given}), made_here)
    except MalformedEvent as error:
        raise UserMistake(f"{error}. {_its_fields(kind)}") from None


def _given(kind: type[Event], pairs: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserMistake(f"{pair!r} is not key=value; write for example content='The cat is called Mimi.'")
        if name not in kind.model_fields:
            raise UserMistake(f"{kind.stream} has no field {name!r}{screen.meant(name, kind.model_fields)}. {_its_fields(kind)}")
        if name in given:
            raise UserMistake(f"{name} is given twice")
        given[name] = value
    return given


def _body(kind: type[Event], given: Mapping[str, str]) -> bytes:
    """The body with its numbers and booleans as such, as the event's types read them. Raises MalformedEvent."""
    event = decoded(kind, json.dumps(given).encode())
    return json.dumps(event.model_dump(mode="json", include=set(given))).encode()


def _its_fields(kind: type[Event]) -> str:
    made = MADE_HERE.get(kind.stream, ())
    own = {name: info for name, info in kind.model_fields.items() if name not in Event.model_fields}
    told = [f"{name}{' (required)' if info.is_required() and name not in made else ''}" for name, info in own.items()]
    return f"Its fields: agent_id (required), {', '.join(told)}, event_id, occurred_at"
