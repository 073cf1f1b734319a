"""Looking: how far every worker is, and waiting until all of them are through.

    stream ──lag──▶ delivered ──pending──▶ settled
                        └──failed, or must wait──▶ retrying ──▶ settled, or parked for a person

Two looks in a row that find nothing to do are "settled". A look changes nothing; who tells what was seen is elsewhere: a person by
`nous status` (nous/cli/standing.py), Prometheus by shared.py.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from redis.asyncio import Redis

import workers
from events import partitions
from nous import clock
from nous.errors import Contended, Outage
from nous.settings import Settings
from providers.offline import OfflineMind
from store import answers, outbox, receipts, retries, unembedded, wordless
from store.database import Database, Read

from . import streams
from .host import RECLAIMS_PER_CLAIM_TIME
from .retention import Kept
from .streams import Consumer, GroupState

LOOK_S = 0.1
LOOK_CAP_S = 0.5
SILENT_S = 5.0  # an idle replica asks for work every second


@dataclass(frozen=True)
class Standing:
    """One worker: entries not delivered yet, delivered and not settled, waiting for another attempt, parked; and why the longest waits.

    Of those that wait, `unadjudicated` wait for a mind. `seen_s` is how long ago a replica of it was heard of; None when none ever was.
    `held` of the pending are with replicas that are silent; all of these are taken over within `until_taken_s`, if another is alive.
    `oldest_s` is how long ago the oldest of the pending was published; `settled` counts what its group has acknowledged, if that is known.
    `replicas` are alive.
    """

    worker: str
    stream: str
    lag: int
    pending: int
    retrying: int
    parked: int
    waits_for: str | None
    seen_s: float | None
    is_alive: bool
    held: int = 0
    until_taken_s: float = 0.0
    unadjudicated: int = 0
    oldest_s: float | None = None
    settled: int | None = None
    replicas: int = 0

    @property
    def is_through(self) -> bool:
        """Nothing to do; what is parked waits for a person."""
        return not (self.lag or self.pending or self.retrying)

    def __str__(self) -> str:
        left = [
            f"{count:,} {what}" for count, what in ((self.lag, "unread"), (self.pending, "in work"), (self.retrying, "retrying")) if count
        ]
        if self.held:
            left.append(f"{self.held:,} of them held by a replica that is silent")
        nobody = "" if self.is_alive else f"; no {self.worker} is running"
        return f"{self.worker}: {', '.join(left)}{f' ({self.waits_for})' if self.waits_for else ''}{nobody}"


ALL_STREAMS = "(all streams)"
NOBODY = Standing(streams.ARCHIVIST, ALL_STREAMS, 0, 0, 0, 0, None, None, is_alive=False)


@dataclass(frozen=True)
class Look:
    """Every worker at one moment, the archivist, and how many derived events Redis does not have yet.

    `mind` is why the longest of what waits for a mind does; `unsure` counts the pairs of facts that no mind could tell about, `by_rule`
    those of them that only the offline mind was asked about; `streams` says what each stream holds and who holds it back; `unfilled` what
    search does not find yet as it will. These last are dear, and are there only where they were looked at too.
    """

    workers: tuple[Standing, ...]
    outbox: int
    mind: str | None = None
    unsure: int = 0
    by_rule: int = 0
    archivist: Standing = NOBODY
    streams: Sequence[Kept] = ()
    unfilled: "Unfilled | None" = None

    @property
    def is_settled(self) -> bool:
        """Everything published so far has had its effect, and is in the archive if an archivist runs."""
        return not self.outbox and all(one.is_through for one in self._waited_for)

    @property
    def unadjudicated(self) -> int:
        """How many checks wait for a mind."""
        return sum(one.unadjudicated for one in self.workers)

    def left(self) -> list[str]:
        """What is not settled yet, a sentence each."""
        open_ = [str(one) for one in self._waited_for if not one.is_through]
        return [*open_, f"outbox: {self.outbox:,} event{'' if self.outbox == 1 else 's'} to publish"] if self.outbox else open_

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {
            "settled": self.is_settled,
            "outbox": self.outbox,
            "unadjudicated": self.unadjudicated,
            "unsure": self.unsure,
            "unsure_by_rule": self.by_rule,
            "workers": [asdict(one) for one in self.workers],
            "archivist": asdict(self.archivist),
            **({"streams": [asdict(one) for one in self.streams]} if self.streams else {}),
            **({"search": asdict(self.unfilled)} if self.unfilled else {}),
        }

    @property
    def _waited_for(self) -> Sequence[Standing]:
        return (*self.workers, self.archivist) if self.archivist.is_alive else self.workers


@dataclass(frozen=True)
class Unfilled:
    """How many memories from before search have no words yet, and how many wait for a vector: workers fill both in, beside their work."""

    without_words: int
    without_vector: int


async def unfilled(db: Read) -> Unfilled:
    """What search does not find yet as it will; needs an overview, and while a fill goes on looks at all that is left of it."""
    return Unfilled(await wordless.count(db), await unembedded.count(db))


@dataclass(frozen=True)
class Unsure:
    """How many pairs of facts no mind could tell about, and how many of these only the offline mind was asked about."""

    pairs: int = 0
    by_rule: int = 0

    def told_in(self, seen: Look) -> Look:
        """The look that tells it too."""
        return replace(seen, unsure=self.pairs, by_rule=self.by_rule)


async def unsure(db: Read) -> Unsure:
    """What no mind could tell; needs an overview, and reads every answer."""
    counted = await answers.unsure_pairs(db)
    by_rule = sum(count for models, count in counted.items() if all(map(OfflineMind.is_named, models)))
    return Unsure(sum(counted.values()), by_rule)


async def look(settings: Settings, database: Database, redis: Redis) -> Look:
    """Redis first, then Postgres: what moves from one to the other meanwhile is seen at least once. Raises Outage and Contended."""
    groups = await _groups(redis)
    async with database.overview() as db:
        waiting, parked, unpublished = await retries.waiting(db), await receipts.parked_counts(db), await outbox.count_unpublished(db)
        asking = [name for name, worker in workers.table().items() if worker.asks]
        for_a_mind = {name: some for name, some in (await retries.waiting_together(db)).items() if name in asking}
    return Look(
        workers=tuple(
            replace(
                _standing(settings, worker.name, worker.on.stream, groups[worker.name]),
                retrying=waiting[worker.name].count if worker.name in waiting else 0,
                parked=parked.get(worker.name, 0),
                waits_for=waiting[worker.name].reason if worker.name in waiting else None,
                unadjudicated=for_a_mind[worker.name].count if worker.name in for_a_mind else 0,
            )
            for worker in workers.table().values()
        ),
        outbox=unpublished,
        mind=next((one.reason for one in for_a_mind.values()), None),
        archivist=_standing(settings, streams.ARCHIVIST, ALL_STREAMS, groups[streams.ARCHIVIST]),
    )


@dataclass(frozen=True)
class _Seen:
    """What Redis says of a group: how far it is, its replicas, and the id of the oldest entry that is pending."""

    state: GroupState
    replicas: Sequence[Consumer]
    oldest: str | None


async def _groups(redis: Redis) -> dict[str, _Seen]:
    """The group of every worker and of the archivist, in a few round trips however many there are."""
    spread = await streams.spread(redis)
    reads = {name: partitions.keys(worker.on.stream, spread) for name, worker in workers.table().items()}
    reads[streams.ARCHIVIST] = streams.all_keys(spread)
    keys = await streams.positions(redis, reads[streams.ARCHIVIST])
    there = [(key, name) for name, read in reads.items() for key in read if name in keys[key].groups]
    replicas = await streams.replicas(redis, there)
    oldest = await streams.oldest_pending(redis, [(key, name) for key, name in there if keys[key].groups[name].pending])
    return {
        name: _Seen(
            state=streams.state_of([keys[key] for key in read], name),
            replicas=streams.together(one for key in read for one in replicas.get((key, name), ())),
            oldest=min((oldest[key, name] for key in read if (key, name) in oldest), key=_milliseconds, default=None),
        )
        for name, read in reads.items()
    }


def _standing(settings: Settings, name: str, stream: str, seen: _Seen) -> Standing:
    """What Redis alone knows of a worker."""
    seen_s = min((one.idle_s for one in seen.replicas), default=None)
    return Standing(
        worker=name,
        stream=stream,
        lag=seen.state.lag,
        pending=seen.state.pending,
        retrying=0,
        parked=0,
        waits_for=None,
        seen_s=seen_s,
        is_alive=seen_s is not None and seen_s < silent_after_s(settings),
        held=sum(one.pending for one in _silent(settings, seen.replicas)),
        until_taken_s=_until_taken_s(settings, seen.replicas),
        oldest_s=_age_s(seen.oldest),
        settled=seen.state.settled,
        replicas=sum(one.idle_s < silent_after_s(settings) for one in seen.replicas),
    )


def silent_after_s(settings: Settings) -> float:
    """How long nothing is heard of a replica before it counts as gone: a busy one speaks every third of the claim time."""
    return max(settings.claim_after_s / 2, SILENT_S)


async def settled(
    settings: Settings,
    database: Database,
    redis: Redis,
    *,
    timeout_s: float,
    on_look: Callable[[Look], None] = lambda _: None,
    on_outage: Callable[[], None] = lambda: None,
) -> tuple[bool, list[str]]:
    """Wait until everything is settled, for at most `timeout_s`: whether it is, and what is left.

    Two clean looks in a row are wanted, because work can move behind the back of a single one. An outage is waited out too, unless
    `on_outage` raises.
    """
    deadline, pause_s, clean, left = time.monotonic() + timeout_s, LOOK_S, 0, ["nothing could be seen yet"]
    while True:
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 1.0)):
                seen = await look(settings, database, redis)
        except (Outage, Contended) as error:
            on_outage()
            clean, left = 0, [str(error)]
        except TimeoutError:
            clean, left = 0, ["Redis and Postgres have not both answered yet"]
        else:
            clean, left = (clean + 1 if seen.is_settled else 0), seen.left()
            on_look(seen)
        if clean == 2:
            return True, []
        if time.monotonic() >= deadline and not clean:
            return False, left
        await asyncio.sleep(pause_s if not clean else LOOK_S)
        pause_s = min(pause_s * 1.3, LOOK_CAP_S)


def _silent(settings: Settings, replicas: Sequence[Consumer]) -> list[Consumer]:
    """Replicas that hold entries and are not heard of."""
    return [one for one in replicas if one.pending and one.idle_s > silent_after_s(settings)]


def _until_taken_s(settings: Settings, replicas: Sequence[Consumer]) -> float:
    """The longest it takes until a living replica has all that silent ones hold; 0 when they hold nothing."""
    waits_s = [max(settings.claim_after_s - one.idle_s, 0) for one in _silent(settings, replicas)]
    return max(waits_s) + settings.claim_after_s / RECLAIMS_PER_CLAIM_TIME if waits_s else 0.0


def _age_s(entry_id: str | None) -> float | None:
    return max(clock.now().timestamp() - _milliseconds(entry_id) / 1000, 0.0) if entry_id else None


def _milliseconds(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])
