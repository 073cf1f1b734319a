"""What a worker is: one event class, one function that writes, and at most one that thinks before.

    worker = Worker(on=FactLearned, think=embed, write=deduplicate, outcomes=("stored", "confirmed"))

`think` sees a page of events and opens no transaction while a model works; `write` gets the events with their thoughts inside
one transaction that holds their agents' locks, and says how each ended. The worker's name, its consumer group, its log field
and the key of its receipts are the name of the module that defines it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import wraps
from typing import Any, Generic, TypeVar
from uuid import UUID

from events import Event
from nous.settings import Settings
from providers.embedder import Embedder
from providers.mind import Mind
from store.database import Database, Write
from store.embedders import Registered

E = TypeVar("E", bound=Event)
T = TypeVar("T")


@dataclass(frozen=True)
class Done:
    """It had its effect. `outcome` is one of the worker's list, `about` the fact or censor it touched."""

    outcome: str
    about: UUID | None = None
    reason: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    publishes: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Skip:
    """There is nothing to do, and never will be."""

    why: str


@dataclass(frozen=True)
class RetryLater:
    """Not now, and not a failure: worked again after `wait`, not counted towards parking unless it says so.

    `together`, what waits is worked in pages again, and waits twice as long each time, unless `exactly` says how long it takes.
    `counted`, what it waits for may never come: each look counts as an attempt, and the last one parks it.
    """

    wait: timedelta
    why: str
    together: bool = False
    exactly: bool = False
    counted: bool = False


@dataclass(frozen=True)
class GiveUp:
    """It can never succeed: parked at once, for a person to look at; after so many `attempts`, if it was waited for."""

    why: str
    attempts: int = 1


Ending = Done | Skip | RetryLater | GiveUp
"""The four ways a worker ends; any exception is the fifth, and is tried again."""


@dataclass(frozen=True)
class Job(Generic[E, T]):
    """One event and what was thought about it."""

    event: E
    thought: T


@dataclass(frozen=True)
class Kit:
    """What workers work with. `questions` are the turns at the mind: who has one has looked at the budget, and is counted soon."""

    database: Database
    embedder: Embedder
    registered: Registered
    settings: Settings
    mind: Mind
    questions: asyncio.Semaphore = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """As many turns as the settings say."""
        object.__setattr__(self, "questions", asyncio.Semaphore(self.settings.mind_concurrency))


Think = Callable[[Sequence[E], Kit], Awaitable[Sequence[T]]]
WriteJobs = Callable[[Write, Sequence[Job[E, T]], Kit], Awaitable[Sequence[Ending]]]


async def no_thought(events: Sequence[Event], kit: Kit) -> Sequence[None]:
    """Nothing to think about before writing."""
    return [None] * len(events)


@dataclass(frozen=True)
class Worker(Generic[E, T]):
    """One worker. `publishes` and `outcomes` are what its receipts may say; the runtime holds it to them.

    `asks`, what it waits for is a mind, and `patience` is how many time limits a page may be thought about: a mind takes its time. One that
    asks at length about each event says how many it works `side_by_side`, each on its own: in a page what is thought through early would
    wait for the rest.
    """

    on: type[E]
    write: WriteJobs[E, T]
    outcomes: tuple[str, ...]
    think: Think[E, T] = no_thought  # type: ignore[assignment]
    publishes: tuple[type[Event], ...] = ()
    patience: int = 1
    asks: bool = False
    side_by_side: int | None = None

    @property
    def name(self) -> str:
        """The module that defines it: `deduplicator`."""
        return self.write.__module__.rpartition(".")[2]

    @property
    def thinks(self) -> bool:
        """Whether it thinks before it writes, so that what is settled already had better not be thought about again."""
        return self.think is not no_thought

    @property
    def does(self) -> str:
        """What it does, in the first line of its function's docstring."""
        return (self.write.__doc__ or "").strip().splitlines()[0]


K = TypeVar("K")
R = TypeVar("R")


def on_rows(
    key: Callable[[E], K],
    load: Callable[[Write, Collection[K]], Awaitable[dict[K, R]]],
    save: Callable[[Write, Sequence[R]], Awaitable[None]],
    one: Callable[[R | None, E, Kit], tuple[Ending, R | None]],
) -> WriteJobs[E, None]:
    """Make a worker's function from one that decides what a single event does to its row, and touches nothing.

    The rows of a page, by their `key`, are read with one statement and written with one: what a page asks for by itself keeps its agents
    locked all the while. `one` gets the row as the event before left it, None if there is none, and gives it as it is now.
    """

    @wraps(one)
    async def write(db: Write, jobs: Sequence[Job[E, None]], kit: Kit) -> Sequence[Ending]:
        keys = [key(job.event) for job in jobs]
        before = await load(db, set(keys))
        rows = dict(before)
        endings = []
        for at, job in zip(keys, jobs, strict=True):
            ending, row = one(rows.get(at), job.event, kit)
            endings.append(ending)
            if row is not None:
                rows[at] = row
        await save(db, [row for at, row in rows.items() if row is not before.get(at)])
        return endings

    return write


def each(one: Callable[[Write, E, Kit], Awaitable[Ending]]) -> WriteJobs[E, None]:
    """Make a worker's function from one that takes a single event: the page's events are written one after another.

    The simplest way, and for many events a slow one: see `on_rows`.
    """

    @wraps(one)
    async def write(db: Write, jobs: Sequence[Job[E, None]], kit: Kit) -> Sequence[Ending]:
        return [await one(db, job.event, kit) for job in jobs]

    return write
