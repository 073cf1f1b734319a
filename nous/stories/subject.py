"""What happened to one thing that events name by its id: those that had an effect on it, and those that had none or wait for one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from events import CATALOGUE
from store import archive, receipts, retries
from store.database import Read
from store.receipts import Receipt
from store.retries import Retry

from . import evidence
from .moment import Moment, of_receipt
from .words import Line, line, moment, one_line, plural


@dataclass(frozen=True)
class Happened:
    """The receipts of all that happened to it, in the order they were written, and the deliveries that wait."""

    receipts: Sequence[Receipt]
    waiting: Sequence[Retry]

    def moments(self, more: Mapping[str, Sequence[Line]] | None = None) -> list[Moment]:
        """What happened, in the order it was recorded; `more` are further lines, by event id."""
        further = more or {}
        ended = [of_receipt(one, [*evidence.in_words(one, {}), *further.get(one.event_id, ()), *origin(one)]) for one in self.receipts]
        return [*ended, *map(waits, self.waiting)]


async def happened(db: Read, agent: str, subject: UUID, *kinds: str) -> Happened:
    """Everything that happened to `subject`, by events whose streams begin with one of these `kinds`, such as `episode_`."""
    streams = [stream for stream in CATALOGUE if stream.startswith(kinds)]
    about = [one for one in await receipts.about(db, agent, subject) if one.stream in streams]
    nameless = await receipts.naming(db, agent, subject, streams)
    ids = await archive.naming(db, agent, str(subject), streams)
    others = [one for one in await receipts.of_events(db, [agent], ids) if one.stream in streams]
    every = {(one.worker, one.event_id): one for one in (*about, *nameless, *others)}
    return Happened(sorted(every.values(), key=lambda one: one.seq), await _waiting(db, agent, {*ids, *_published(about)}, streams))


def waits(retry: Retry) -> Moment:
    """The moment since which a delivery waits."""
    return Moment(retry.since, "waiting", retry.worker, [waiting_line(retry)], {"waiting": retry_as_data(retry)})


def waiting_line(retry: Retry) -> Line:
    """What a delivery waits for, and until when."""
    tries = plural(retry.attempts, "attempt")
    return line(f"{one_line(retry.reason)}; {tries} so far, due {moment(retry.due_at)}", "telling")


def retry_as_data(retry: Retry) -> dict[str, object]:
    """A delivery that waits, for JSON."""
    names = ("worker", "event_id", "stream", "entry_id", "attempts", "due_at", "reason", "since", "together")
    return {name: getattr(retry, name) for name in names}


def origin(receipt: Receipt) -> list[Line]:
    """Which event it was, and what it published."""
    entry = f", entry {receipt.entry_id}" if receipt.entry_id else ""
    return [line(f"{receipt.stream} {receipt.event_id}{entry}", "faint")]


def _published(told: Collection[Receipt]) -> set[str]:
    return {name.partition(":")[2] for one in told for name in one.derived}


async def _waiting(db: Read, agent: str, ids: Collection[str], streams: Collection[str]) -> list[Retry]:
    return [one for one in await retries.of_events(db, agent, ids) if one.stream in streams]
