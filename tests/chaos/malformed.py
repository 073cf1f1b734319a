"""Bodies that are no event, one of each kind a producer may send by mistake."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

Fields = dict[str, bytes]


def _without(name: str) -> Callable[[dict[str, Any]], bytes]:
    return lambda body: json.dumps({key: value for key, value in body.items() if key != name}).encode()


def _with(**over: Any) -> Callable[[dict[str, Any]], bytes]:
    return lambda body: json.dumps(body | over).encode()


KINDS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "not JSON": lambda body: json.dumps(body).encode()[:-1],
    "not UTF-8": lambda body: b"\xff\xfe" + json.dumps(body).encode(),
    "a list": lambda body: json.dumps([body]).encode(),
    "no agent": _without("agent_id"),
    "a blank agent": _with(agent_id=" "),
    "no content": _without("content"),
    "an id that is no UUID": _with(fact_id="fact 17"),
    "a confidence above 1": _with(confidence=17),
    "a provenance that is none": _with(provenance="hearsay"),
    "content too long": _with(content="x" * 8_001),
    "a time without a zone": _with(occurred_at="2026-03-01T12:00:00"),
    "a NUL in an id": _with(event_id="a\x00b"),
    "nested too deeply": lambda body: b"[" * 5_000 + json.dumps(body).encode(),
}
NO_DATA = "no field named data"


def malformed(dice: Random, body: dict[str, Any]) -> tuple[str, Fields]:
    """What is wrong with it, and the fields of the entry, from the body of a good fact."""
    kind = dice.choice([*KINDS, NO_DATA])
    if kind == NO_DATA:
        return kind, {"body": json.dumps(body).encode()}
    return kind, {"data": KINDS[kind](body)}
