"""`docs/events.md`, written from the code: every event, every field, who publishes it and how.

python -m tests.events.table > docs/events.md
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import events
import workers
from events import (
    CATALOGUE,
    MAX_BODY_BYTES,
    MAX_CONTENT_CHARACTERS,
    AgentForgotten,
    CensorAdded,
    CensorRelaxed,
    CensorTriggered,
    DecisionRecorded,
    DecisionReviewed,
    EpisodeClosed,
    EpisodeRestored,
    EpisodeThawed,
    EpisodeUnsettled,
    Event,
    FactForgotten,
    FactJoined,
    FactLearned,
    FactMerged,
    FactPinned,
    FactReinstated,
    FactRestored,
    FactRetired,
    FactSplit,
    FactSuperseded,
    FactUnpinned,
    FactUnsettled,
    MemoryRecalled,
    MemoryReferenced,
    ProcedureLearned,
    ProcedureRestored,
    ProcedureUsed,
)
from events.wire import MAX_CLOCK_AHEAD

FROM_OUTSIDE: Mapping[type[Event], str] = {
    FactLearned: "agents",
    EpisodeClosed: "agents and their sessions",
    CensorTriggered: "agents",
    DecisionRecorded: "agents",
    DecisionReviewed: "agents",
    ProcedureLearned: "agents",
    ProcedureUsed: "agents",
    MemoryRecalled: "agents and whoever serves them (`nous serve`)",
    MemoryReferenced: "agents and whoever serves them (`nous serve`)",
    CensorAdded: "`nous censor add`",
    CensorRelaxed: "`nous censor relax`",
    FactRestored: "`nous fact restore`",
    FactSplit: "`nous fact split`",
    FactJoined: "`nous fact merge`",
    FactRetired: "`nous fact retire`",
    FactSuperseded: "`nous fact`",
    FactMerged: "`nous fact`",
    FactPinned: "`nous fact pin`",
    FactUnpinned: "`nous fact unpin`",
    FactReinstated: "`nous fact restore`",
    ProcedureRestored: "`nous procedure restore`",
    FactForgotten: "`nous fact forget`",
    AgentForgotten: "`nous agent forget`",
    FactUnsettled: "`nous fact`",
    EpisodeUnsettled: "`nous episode`",
    EpisodeRestored: "`nous episode restore`",
    EpisodeThawed: "`nous episode thaw`",
}

EXAMPLES: Mapping[type[Event], dict[str, object]] = {
    FactLearned: {
        "fact_id": "5f0c1a52-6f3e-4c1b-9d57-0a4d3c1e8b21",
        "content": "The standup of team Lisbon is at 9:30.",
        "subject": "standup",
        "agent_id": "agent-7",
    },
    EpisodeClosed: {
        "episode_id": "0b9d4f6c-8f0e-4d3a-bb53-5b8f2f0f7a10",
        "transcript": "user: When is the standup of team Lisbon?\nassistant: At 9:30.",
        "agent_id": "agent-7",
    },
    CensorTriggered: {"censor_id": "c6a2f1de-47b0-4d0a-8a7e-2f9c51f6a3b4", "was_blocked": False, "agent_id": "agent-7"},
}

PAGE = """# Events

What agents publish and what comes back. This page is written from the code, and a test holds it against the code:
`python -m tests.events.table > docs/events.md`

## Publishing

Any Redis client can publish. The stream is the event's name; the entry has one field, `data`, that holds a JSON object:

```sh
{examples}
```

A conversation that was reported turn by turn (`nous session`) needs no transcript; a censor must be there before it can fire:
`nous censor add --id`.

FastStream publishes the same events as they are, under its own field `__data__`. From Python, `pip wheel --no-deps -w dist ./events`
makes a wheel with the models and `publish`, importable as `nous_memory_events`.

- What is not required may be left out or `null`. Fields that a consumer does not know are ignored, so producers can be upgraded first.
- **Retries.** An event has one effect for each `event_id`. Without one, the id follows from what a retrying producer repeats: agent,
  `fact_id`, `content` and `occurred_at` of a fact; agent, `decision_id`, `outcome`, `note` and `occurred_at` of a decision's review; the
  whole body of an episode, of a decision and of a procedure that was learned. A `censor_triggered` or `procedure_used` without an
  `event_id` counts as new each time it is published, so a producer that retries must send one. A `memory_recalled` and a
  `memory_referenced` are counted once for each `recall_id`.
- **Time.** `occurred_at` has a time zone (`2026-03-01T12:00:00Z`, `+02:00`). One that lies more than {ahead} minutes after the entry itself
  is taken as that, so that a wrong clock cannot win for ever.
- **Text** is UTF-8. NUL characters are dropped and lone surrogates become U+FFFD, except in an id, which is never changed. A fact has at
  most {content:,} characters and a body at most {body} MiB.
- **A body that is no event** (not JSON, a field missing or out of its range) is parked at once in `<stream>.parked`, with a sentence that
  says what to send instead. Its neighbours go on.
- **Partitions.** Where `NOUS_STREAM_PARTITIONS` is N, a stream is also read at `<stream>:{{0}}` … `<stream>:{{N-1}}`, braces included.
  An agent belongs to the one that the CRC-32 of its id in UTF-8 (as in zlib and zip), modulo N, names: with N = 8, `agent-7` to
  `fact_learned:{{4}}`. The plain stream is always read, so a producer need not know; one that does spares a cluster's busiest server.
  From Python: `publish(redis, events, partitions=8)`. A producer may use a smaller N than the workers, not a larger one.

## Every event and every field

*required*: the event is parked without it. *given*: filled in on arrival when it is absent. *optional*: with the value an absent one has.

| field | type | | meaning |
|---|---|---|---|
{rows}
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(
        examples="\n".join(f"redis-cli XADD {kind.stream} '*' data '{json.dumps(body)}'" for kind, body in EXAMPLES.items()),
        ahead=int(MAX_CLOCK_AHEAD.total_seconds() // 60),
        content=MAX_CONTENT_CHARACTERS,
        body=MAX_BODY_BYTES // 2**20,
        rows="\n".join(f"| {' | '.join(row)} |".replace("<", "&lt;") for row in rows()),
    )


def rows() -> Iterator[tuple[str, str, str, str]]:
    """The table: the fields of all events, then each event with the fields of its own."""
    yield "**every event**", "", "", _first_line(Event)
    yield from fields_of(Event, list(Event.model_fields))
    for kind in CATALOGUE.values():
        yield f"**`{kind.stream}`**", "", "", f"{_first_line(kind)} {_whereabouts(kind)}"
        yield from fields_of(kind, [name for name in kind.model_fields if name not in Event.model_fields])


def publishers(kind: type[Event]) -> list[str]:
    """Who publishes it."""
    outside = [FROM_OUTSIDE[kind]] if kind in FROM_OUTSIDE else []
    return outside + [f"`{worker.name}`" for worker in workers.table().values() if kind in worker.publishes]


def fields_of(kind: type[Event], names: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """The rows of some fields of an event."""
    schema = kind.model_json_schema()
    for name in names:
        yield (
            f"`{name}`",
            _type(schema["properties"][name]),
            _presence(kind, name, schema["required"]),
            kind.model_fields[name].description or "",
        )


def _whereabouts(kind: type[Event]) -> str:
    readers = [f"`{name}`" for name in workers.consumers().get(kind.stream, ())]
    return f"From {' and '.join(publishers(kind))}; read by {' and '.join(readers) or 'no worker, for whoever wants to know'}."


def _presence(kind: type[Event], name: str, required: list[str]) -> str:
    field = kind.model_fields[name]
    if field.is_required():
        return "required" if name in required else "given"
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return "optional" if default is None else f"optional, `{json.dumps(default)}`"


def _type(schema: dict[str, Any]) -> str:
    match schema:
        case {"anyOf": [one, {"type": "null"}]}:
            return _type(one)
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"format": "uuid"}:
            return "UUID"
        case {"format": "date-time"}:
            return "time with zone"
        case {"type": "string", "maxLength": most}:
            return f"text, to {most:,} characters"
        case {"type": "number", "minimum": least, "maximum": most}:
            return f"number, {least:g} to {most:g}"
        case {"type": "integer", "minimum": least}:
            return f"whole number, from {least}"
        case {"type": "boolean"}:
            return "`true` or `false`"
        case {"type": "array", "items": items}:
            bound = f"at most {schema['maxItems']} of " if "maxItems" in schema else ""
            return f"list of {bound}{_objects(items['$ref']) if '$ref' in items else _type(items)}"
    raise ValueError(f"the table has no words for {schema}; add a case to _type")


def _objects(reference: str) -> str:
    fields = getattr(events, reference.rpartition("/")[2]).model_fields
    return f"objects with {', '.join(f'`{name}`' for name in fields)}"


def _first_line(kind: type[Event]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


if __name__ == "__main__":
    print(page(), end="")
