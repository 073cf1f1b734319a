"""What is written down about a delivery: its receipt, its row among the retries or in the archive, its entry in the parked stream. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from events import MAX_CLOCK_AHEAD, Event, MalformedEvent, body_of, decode, entry_time, identity, kept_body
from store import archive, outbox, receipts
from store.archive import Archived
from store.forgotten import Arrival
from store.receipts import Receipt
from store.retries import Retry

from .streams import Entry
from .worker import Done, Ending, GiveUp, Skip, Worker

NOT_SET_ASIDE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Delivery:
    """An event on its way through one worker, with the entry and the body it came in, and how often it was set aside and taken again."""

    event: Event
    entry_id: str
    body: bytes
    attempts: int = 0

    @property
    def key(self) -> receipts.Key:
        """(agent_id, event_id)."""
        return self.event.agent_id, self.event.event_id


@dataclass(frozen=True)
class Ended:
    """A delivery and how it ended."""

    delivery: Delivery
    ending: Ending

    @cached_property
    def letters(self) -> Sequence[outbox.Letter]:
        """The events that follow from it, ready for the outbox."""
        if not isinstance(self.ending, Done):
            return ()
        return [outbox.letter(one) for one in self.ending.publishes]


def opened(
    worker: Worker[Any, Any], entries: Iterable[Entry], *, now: datetime, attempts: Mapping[str, int] = NOT_SET_ASIDE
) -> tuple[list[Delivery], list[tuple[Entry, MalformedEvent]]]:
    """The entries that are events of the worker's stream, and those that never will be; `attempts` by entry id."""
    deliveries: list[Delivery] = []
    malformed: list[tuple[Entry, MalformedEvent]] = []
    for entry in entries:
        try:
            body = body_of(entry.fields)
            event = decode(worker.on, body, entry.entry_id, now=now)
            deliveries.append(Delivery(event, entry.entry_id, body, attempts.get(entry.entry_id, 0)))
        except MalformedEvent as error:
            malformed.append((entry, error))
    return deliveries, malformed


def arrival(delivery: Delivery) -> Arrival:
    """The delivery as what may have been forgotten."""
    event = delivery.event
    try:
        at = entry_time(delivery.entry_id)
    except MalformedEvent:
        at = event.occurred_at
    return Arrival(event.agent_id, event.event_id, event.stream, at, event.caused_by)


def receipt(worker: Worker[Any, Any], ended: Ended, now: datetime) -> Receipt:
    """The receipt of a delivery that is done, skipped or given up. Raises ValueError for an ending the worker did not promise."""
    delivery, ending = ended.delivery, ended.ending
    match ending:
        case GiveUp(why=why, attempts=attempts):
            return parked_receipt(worker, delivery.key, delivery.entry_id, why, attempts=attempts, now=now)
        case Skip(why=why):
            return _settled(worker, delivery, "skip", Done("skipped", reason=why), now)
        case Done():
            _hold_to_its_word(worker, ending)
            return _settled(worker, delivery, "done", ending, now)
        case _:
            raise TypeError(f"{worker.name} ended with {ending!r}; a worker ends with Done, Skip, RetryLater or GiveUp")


def parked_receipt(worker: Worker[Any, Any], key: receipts.Key, entry_id: str, reason: str, *, attempts: int, now: datetime) -> Receipt:
    """The receipt of a delivery that waits for a person, after so many attempts."""
    return Receipt(
        worker=worker.name,
        agent_id=key[0],
        event_id=key[1],
        stream=worker.on.stream,
        entry_id=entry_id,
        ending="parked",
        outcome="parked",
        reason=reason,
        about=None,
        occurred_at=None,
        recorded_at=now,
        evidence={"attempts": attempts},
    )


def parked_fields(
    worker: Worker[Any, Any], body: bytes, key: receipts.Key, entry_id: str, reason: str, *, attempts: int, now: datetime
) -> dict[str, str | bytes]:
    """The entry for `<stream>.parked`: the body as it came, so that it can be published again, and what is known of it."""
    return {
        "data": body,
        "worker": worker.name,
        "agent_id": key[0],
        "event_id": key[1],
        "entry_id": entry_id,
        "reason": reason,
        "attempts": str(attempts),
        "parked_at": now.isoformat(),
    }


def archived(kind: type[Event], entry: Entry, *, now: datetime) -> Archived:
    """The row that keeps an entry."""
    try:
        body = body_of(entry.fields)
    except MalformedEvent:  # what a worker would read, or else all there is
        body = kept_body(entry.fields)
    return kept(kind.stream, identity(kind, entry.fields, entry.entry_id), entry.entry_id, body, now=now)


def kept(stream: str, key: receipts.Key, entry_id: str, body: bytes, *, now: datetime) -> Archived:
    """The row that keeps a body under the name its delivery has."""
    return Archived(*key, stream, archive.digest(body), body, entry_id, _arrived_at(entry_id, now), now)


def retry(worker: Worker[Any, Any], delivery: Delivery, reason: str, *, now: datetime, due_at: datetime, together: bool = False) -> Retry:
    """The row of a delivery that is set aside."""
    return Retry(
        worker=worker.name,
        agent_id=delivery.event.agent_id,
        event_id=delivery.event.event_id,
        stream=worker.on.stream,
        entry_id=delivery.entry_id,
        body=delivery.body,
        attempts=0,
        due_at=due_at,
        reason=reason,
        since=now,
        together=together,
    )


def letters(ended: Iterable[Ended]) -> list[outbox.Letter]:
    """The derived events of these endings, ready for the outbox."""
    return [letter for one in ended for letter in one.letters]


def why(error: Exception) -> str:
    """An exception in one line."""
    if isinstance(error, TimeoutError):
        return "it took longer than the time limit (NOUS_TIME_LIMIT_S)"
    text = str(error).strip().splitlines()[0][:500] if str(error).strip() else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arrived_at(entry_id: str, now: datetime) -> datetime:
    """The entry's own time, as far as a clock may have made it."""
    try:
        return min(entry_time(entry_id), now + MAX_CLOCK_AHEAD)
    except MalformedEvent:
        return now


def _settled(worker: Worker[Any, Any], delivery: Delivery, ending: receipts.Ending, done: Done, now: datetime) -> Receipt:
    return Receipt(
        worker=worker.name,
        agent_id=delivery.event.agent_id,
        event_id=delivery.event.event_id,
        stream=worker.on.stream,
        entry_id=delivery.entry_id,
        ending=ending,
        outcome=done.outcome,
        reason=done.reason,
        about=done.about,
        occurred_at=delivery.event.occurred_at,
        recorded_at=now,
        evidence=done.evidence,
        derived=tuple(f"{event.stream}:{event.event_id}" for event in done.publishes),
    )


def _hold_to_its_word(worker: Worker[Any, Any], done: Done) -> None:
    if done.outcome not in worker.outcomes:
        raise ValueError(f"{worker.name} ended with outcome {done.outcome!r}, which is not in its list {worker.outcomes}")
    for event in done.publishes:
        if type(event) not in worker.publishes:
            raise ValueError(f"{worker.name} published {event.stream}, which is not in its list")
