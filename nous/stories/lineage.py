"""What led to an event, back to the one that nothing led to, and all that followed from it.

root ──▶ ... ──▶ the event ──┬─▶ what followed ──▶ ...
                             └─▶ what followed
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import workers
from store import archive, outbox, receipts, retries
from store.archive import Archived
from store.database import Read
from store.outbox import Letter
from store.receipts import Receipt
from store.retries import Retry

from .moment import receipt_as_data
from .subject import retry_as_data

MOST = 500  # events that followed, of one
DEEPEST = 50
TELLING = ("content", "title", "description", "name", "trigger_pattern", "matched_text", "note", "reason", "why")


@dataclass(frozen=True)
class Happening:
    """An event as it is known here: what came under its id, each different body, how it ended at each worker, where it still waits.

    `follows` are the events it led to; `is_whole` says whether all of them are here. `letters` are what is still kept to be published.
    """

    agent_id: str
    event_id: str
    came: Sequence[Archived] = ()
    receipts: Sequence[Receipt] = ()
    waiting: Sequence[Retry] = ()
    letters: Sequence[Letter] = ()
    named: Sequence[str] = ()
    follows: Sequence["Happening"] = ()
    is_whole: bool = True

    @property
    def streams(self) -> list[str]:
        """The streams it is known on: those it came on, else where it was worked, waits, or is to be published, or was said to be."""
        worked = [*(one.stream for one in self.receipts), *(one.stream for one in self.waiting), *(one.stream for one in self.letters)]
        return list(dict.fromkeys([*(one.stream for one in self.came), *worked, *self.named]))

    @property
    def is_heard(self) -> bool:
        """Whether any worker listens to it."""
        return any(workers.consumers().get(stream) for stream in self.streams)

    @property
    def bodies(self) -> list[tuple[str, bytes]]:
        """Each different (stream, body) of it, archived or not."""
        came = [(one.stream, one.body) for one in self.came]
        waiting = [*((one.stream, one.body) for one in self.waiting), *((one.stream, one.body) for one in self.letters)]
        return list(dict.fromkeys(came or waiting))

    @property
    def at(self) -> datetime | None:
        """When it is heard of first."""
        times = [one.arrived_at for one in self.came] + [one.recorded_at for one in self.receipts] + [one.since for one in self.waiting]
        return min(times, default=None)

    @property
    def gist(self) -> str:
        """The words in it that tell it from others of its stream; empty when it has none."""
        said = (fields(body).get(name) for name in TELLING for _, body in self.bodies)
        return next((one for one in said if isinstance(one, str) and one.strip()), "")

    @property
    def published(self) -> list[tuple[str, str]]:
        """(stream, event_id) of what followed from it, without itself."""
        names = dict.fromkeys(name for one in self.receipts for name in one.derived)
        apart = [(stream, event_id) for name in names for stream, _, event_id in [name.partition(":")]]
        return [(stream, event_id) for stream, event_id in apart if event_id != self.event_id]

    def as_data(self) -> dict[str, object]:
        """For JSON, with all that followed."""
        return {
            "event_id": self.event_id,
            "streams": self.streams,
            "at": self.at,
            "receipts": [receipt_as_data(one) for one in self.receipts],
            "waiting": [retry_as_data(one) for one in self.waiting],
            "in_outbox": [one.stream for one in self.letters],
            "derived": [one.as_data() for one in self.follows],
        }


async def of(db: Read, agent: str, event_id: str) -> Happening:
    """What is known of one event, without what led to it or followed."""
    return (await _these(db, agent, {event_id: ()}))[event_id]


async def with_all_that_followed(db: Read, event: Happening) -> Happening:
    """It, with every event it led to, and those led to, at most MOST."""
    found = {event.event_id: event}
    left = _after(event, found)
    while left and len(found) < MOST:
        some = dict(list(left.items())[: MOST - len(found)])
        level = await _these(db, event.agent_id, some)
        found |= level
        left = {event_id: streams for one in level.values() for event_id, streams in _after(one, found).items()}
    return _grown(event, found, set())


async def what_led_to(db: Read, event: Happening) -> list[Happening]:
    """The events it follows from, the first of all first. Of several that led to one, the earliest."""
    chain: list[Happening] = []
    seen, here = {event.event_id}, event
    while len(chain) < DEEPEST:
        cause = await _cause(db, here, seen)
        if cause is None:
            break
        chain.append(cause)
        seen.add(cause.event_id)
        here = cause
    return chain[::-1]


async def _cause(db: Read, event: Happening, seen: Collection[str]) -> Happening | None:
    """By the receipt that lists it among what it published, or else by what it says of itself."""
    by = await receipts.because_of(db, event.agent_id, [f"{stream}:{event.event_id}" for stream in event.streams])
    ids = [one.event_id for one in by] or list(stated(event, "caused_by"))
    first = next((one for one in ids if one not in seen), None)
    return await of(db, event.agent_id, first) if first else None


def stated(event: Happening, name: str) -> Iterator[str]:
    """What its bodies say in this field."""
    for _, body in event.bodies:
        said = fields(body).get(name)
        if isinstance(said, str):
            yield said


def fields(body: bytes) -> Mapping[str, object]:
    """The fields of a body; none of one that is no JSON object."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _after(event: Happening, found: Mapping[str, Happening]) -> dict[str, tuple[str, ...]]:
    named: dict[str, tuple[str, ...]] = {}
    for stream, event_id in event.published:
        if event_id not in found:
            named[event_id] = (*named.get(event_id, ()), stream)
    return named


async def _these(db: Read, agent: str, ids: Mapping[str, Sequence[str]]) -> dict[str, Happening]:
    """What is known of each of these events; `ids` names the streams they were published on, as far as that is known."""
    came = await archive.these(db, agent, ids)
    ended = await receipts.of_events(db, [agent], ids)
    waiting = await retries.of_events(db, agent, ids)
    letters = await outbox.of_events(db, agent, ids)
    return {
        event_id: Happening(
            agent_id=agent,
            event_id=event_id,
            came=sorted((row for key, rows in came.items() if key[1] == event_id for row in rows), key=lambda row: row.arrived_at),
            receipts=[one for one in ended if one.event_id == event_id],
            waiting=[one for one in waiting if one.event_id == event_id],
            letters=[one for one in letters if one.event_id == event_id],
            named=streams,
        )
        for event_id, streams in ids.items()
    }


def _grown(event: Happening, found: Mapping[str, Happening], seen: set[str]) -> Happening:
    """The event with what followed; what several led to stands where it is met first."""
    seen.add(event.event_id)
    ids = [event_id for _, event_id in event.published if event_id not in seen]
    follows = [_grown(found[event_id], found, seen) for event_id in ids if event_id in found and event_id not in seen]
    return replace(event, follows=follows, is_whole=all(event_id in found for event_id in ids))
