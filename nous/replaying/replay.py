"""A replay: recorded events of one agent through the real workers, into a store of its own. The live one is only read.

    as applied   transaction by transaction, in the order of the receipts, each thought through when it was: the same store again
    by time      root events alone, each settled with all that follows from it before the next: what order of arrival had changed

    event ──▶ decoded as it was then ──▶ think ▶ write, at the time it was (the clock is held) ──▶ what follows, worked in its turn
                                                                                    └─ what the live store has no receipt of: at once

No broker takes part: what a worker publishes is handed to the workers that listen.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, cast

import workers
from events import CATALOGUE, EpisodeClosed, Event, MalformedEvent, decode
from nous import clock, people
from nous.errors import Contended, Misconfigured, Outage, UserMistake
from recall.ending import closing
from store import archive, episodes, receipts, replays
from store.archive import Archived
from store.database import Database
from store.receipts import OPERATOR, Step
from workers.runtime import record
from workers.runtime.life import Life
from workers.runtime.record import Delivery, Ended
from workers.runtime.worker import Done, GiveUp, Kit, RetryLater, Skip

from . import schedule
from .recorded import Counts, RecordedMind

Order = Literal["applied", "occurred", "arrived"]
Thoughts = dict[int, tuple[Delivery, Any] | None]
"""What was thought about each step, by its number; None when it is not there to be thought about, or thinking failed."""

TRIES = 3
BODIES_AT_ONCE = 200
"""Of what was worked at once, fetched together."""


@dataclass(frozen=True)
class Wanted:
    """Which root events are fed: all of them, unless something is said."""

    streams: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    event_ids: frozenset[str] = frozenset()
    before: str | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self == Wanted()

    def takes(self, row: Archived) -> bool:
        """Whether this one is fed."""
        return (
            (not self.streams or row.stream in self.streams)
            and (self.since is None or row.arrived_at >= self.since)
            and (self.until is None or row.arrived_at < self.until)
            and (not self.event_ids or row.event_id in self.event_ids)
        )


@dataclass(frozen=True)
class Made:
    """One decision of a replay, as it is made, beside what the live store says; None when that has no receipt of it."""

    agent_id: str
    worker: str
    event_id: str
    outcome: str
    reason: str | None
    live: str | None


@dataclass
class Tally(Counts):
    """What a replay did. `absent` are events that are needed and not archived, `waiting` those that did not settle, `failed` raised."""

    fed: int = 0
    receipts: int = 0
    otherwise: int = 0
    extra: int = 0
    absent: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Replay:
    """One agent's replay."""

    def __init__(
        self,
        agent: str,
        live: Database,
        kit: Kit,
        wanted: Wanted,
        tally: Tally,
        *,
        on_made: Callable[[Made], None] = lambda _: None,
    ) -> None:
        """`kit` is that of the fresh store; its mind is a RecordedMind.

        `was` is what became of each event at each worker in the live store, `planned` those that have their turn, `next` what has none.
        """
        self.agent = agent
        self.live = live
        self.kit = kit
        self.wanted = wanted
        self.tally = tally
        self.on_made = on_made
        self.mind = cast("RecordedMind", kit.mind)
        none: Any = None  # no broker takes part
        self.lives = {name: Life(worker, kit, none, "replay", {}) for name, worker in workers.table().items()}
        self.letters: dict[tuple[str, str], bytes] = {}
        self.was: Mapping[tuple[str, str], str] = {}
        self.planned: Collection[tuple[str, str]] = ()
        self.next: deque[tuple[Event, str]] = deque()

    async def run(self, order: Order, roots: Sequence[Archived] | None = None) -> None:
        """Replay the agent; `roots` instead of the archive's. Raises Outage, Contended and Misconfigured."""
        await replays.copy_given(self.live, self.kit.database, self.agent)
        await self._as_closed()
        async with self.live.read([self.agent]) as db:
            steps = await receipts.steps(db, self.agent)
        self.was = {(step.worker, step.event_id): step.outcome for step in steps}
        if order == "applied":
            await self._as_applied(steps)
        else:
            found = roots if roots is not None else [row async for row in self._roots(schedule.derived(steps))]
            await self._by_time(found, (lambda row: row.arrived_at) if order == "arrived" else self._occurred)

    async def _as_closed(self) -> None:
        """Episodes that a session opened have what its end said of them."""
        async with self.kit.database.read([self.agent]) as db:
            there = await episodes.listed(db, agent=self.agent, inactive=True, limit=None)
        for episode in there:
            event_id = closing(episode).event_id if episode.ended_at else ""
            async with self.live.read([self.agent]) as db:
                rows = [row for row in await archive.of_event(db, self.agent, event_id) if row.stream == EpisodeClosed.stream]
            if rows:
                told = decode(EpisodeClosed, rows[0].body, rows[0].entry_id)
                assert isinstance(told, EpisodeClosed)  # noqa: S101 - it was decoded as one
                async with self.kit.database.write([self.agent]) as db:
                    await episodes.put(db, replace(episode, lessons_learned=told.lessons_learned, outcome=told.outcome))

    # ── as it was applied ─────────────────────────────────────────────────────────────────────────────────────────────

    async def _as_applied(self, steps: Sequence[Step]) -> None:
        if self.wanted.before:
            at = next((number for number, step in enumerate(steps) if step.event_id == self.wanted.before), len(steps))
            steps = steps[:at]
        made, plan = schedule.derived(steps), schedule.acts(steps)
        self.planned = {(step.worker, step.event_id) for step in steps}
        thoughts: Thoughts = {}
        for start in range(0, len(plan), BODIES_AT_ONCE):
            some = plan[start : start + BODIES_AT_ONCE]
            bodies = await self._bodies([step for act in some for step in _steps(act)], made)
            for act in some:
                if isinstance(act, schedule.Think):
                    await self._think(act.steps, bodies, thoughts)
                else:
                    await self._write(act.transaction, bodies, thoughts)

    async def _bodies(self, steps: Sequence[Step], made: frozenset[tuple[str, str]]) -> dict[tuple[str, str], list[Archived]]:
        """The roots among these, by stream and event id."""
        roots = {step.event_id for step in steps if (step.stream, step.event_id) not in made}
        async with self.live.read([self.agent]) as db:
            found = await archive.these(db, self.agent, roots)
        return {(stream, event_id): rows for (_, event_id, stream), rows in found.items()}

    async def _think(self, steps: Sequence[Step], bodies: Mapping[tuple[str, str], list[Archived]], thoughts: Thoughts) -> None:
        """Think about these, in the order they are written in."""
        thoughts.update(dict.fromkeys((step.seq for step in steps), None))
        found = [(step, delivery) for step in steps if (delivery := self._delivery(step, bodies))]
        if not found:
            return
        first = found[0][0]
        self.mind.remember(first.model, has_written=bool(first.derived) and first.outcome == "linked")
        with clock.held(first.recorded_at):
            thought = await self._tried(first.worker, partial(self.lives[first.worker].think, [delivery for _, delivery in found]))
        for (step, _), one in zip(found, thought or (), strict=False):
            thoughts[step.seq] = one

    async def _write(
        self,
        transaction: schedule.Transaction,
        bodies: Mapping[tuple[str, str], list[Archived]],
        thoughts: Thoughts,
    ) -> None:
        with clock.held(transaction.steps[0].recorded_at):
            if transaction.worker == OPERATOR:
                for step in transaction.steps:
                    await self._decide(step, bodies)
                return
            if transaction.worker not in self.lives:
                self.tally.absent += [f"{transaction.worker}: no such worker any more" for _ in transaction.steps]
                return
            await self._think([step for step in transaction.steps if step.seq not in thoughts], bodies, thoughts)
            jobs = [job for step in transaction.steps if (job := thoughts.pop(step.seq))]
            if jobs:
                await self._written(transaction.worker, jobs)
        await self._work_extra()

    def _delivery(self, step: Step, bodies: Mapping[tuple[str, str], list[Archived]]) -> Delivery | None:
        """What came then; None when it is not to be fed, or is not there. Malformed ones are parked as they were."""
        key = (step.stream, step.event_id)
        rows = bodies.get(key, [])
        body = self.letters.get(key)
        if body is None and rows:
            row = next((one for one in rows if one.entry_id == step.entry_id), rows[0])
            if not self.wanted.takes(row):
                return None
            body = row.body
            self.tally.fed += 1
        if body is None:
            if self.wanted.is_everything and step.outcome != "forgotten":
                self.tally.absent.append(f"{step.stream} {step.event_id}")
            return None
        try:
            return Delivery(decode(CATALOGUE[step.stream], body, step.entry_id, now=step.recorded_at), step.entry_id, body)
        except MalformedEvent as error:
            self.tally.failed.append(f"{step.stream} {step.event_id}: {error}")
            return None

    async def _decide(self, step: Step, bodies: Mapping[tuple[str, str], list[Archived]]) -> None:
        rows = bodies.get((step.stream, step.event_id), [])
        kind = CATALOGUE.get(step.stream)
        if kind is None or kind not in people.APPLIED or (rows and not self.wanted.takes(rows[0])):
            return
        if not rows:
            self.tally.absent.append(f"{step.stream} {step.event_id}")
            return
        self.tally.fed += 1
        await self._decided(decode(kind, rows[0].body, rows[0].entry_id, now=rows[0].archived_at))

    # ── root after root ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _roots(self, made: frozenset[tuple[str, str]]) -> AsyncIterator[Archived]:
        seen: set[tuple[str, str]] = set()
        async for page in archive.of_agent(self.live, self.agent):
            for row in page:
                key = (row.stream, row.event_id)
                if key not in made and key not in seen and self.wanted.takes(row):
                    seen.add(key)
                    yield row

    def _occurred(self, row: Archived) -> datetime:
        try:
            return decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at).occurred_at
        except MalformedEvent:
            return row.arrived_at

    async def _by_time(self, roots: Sequence[Archived], when: Callable[[Archived], datetime]) -> None:
        late: list[tuple[str, Delivery]] = []
        for row in sorted(roots, key=lambda one: (when(one), one.event_id)):
            if row.event_id == self.wanted.before:
                break
            self.tally.fed += 1
            with clock.held(row.arrived_at):
                await self._root(row)
                late = await self._again(late)
                late += await self._work_extra()
        self.tally.waiting += [f"{name} {delivery.event.event_id}" for name, delivery in await self._again(late)]

    async def _root(self, row: Archived) -> None:
        try:
            event = decode(CATALOGUE[row.stream], row.body, row.entry_id, now=row.archived_at)
        except MalformedEvent as error:
            self.tally.failed.append(f"{row.stream} {row.event_id}: {error}")
            return
        if type(event) in people.APPLIED:
            await self._decided(event)
        else:
            self.letters[row.stream, row.event_id] = row.body
            self.next.append((event, row.entry_id))

    async def _again(self, late: Sequence[tuple[str, Delivery]]) -> list[tuple[str, Delivery]]:
        """What waited for another event, once more; gives what waits still."""
        return [one for one in late if not await self._settles(*one)]

    # ── what both do ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work_extra(self) -> list[tuple[str, Delivery]]:
        """Work what the live store has no receipt of, with all that follows; gives what waits."""
        late: list[tuple[str, Delivery]] = []
        while self.next:
            event, entry_id = self.next.popleft()
            for name in self._unplanned(event):
                delivery = Delivery(event, entry_id, self.letters[event.stream, event.event_id])
                if not await self._settles(name, delivery):
                    late.append((name, delivery))
        return late

    async def _settles(self, name: str, delivery: Delivery) -> bool:
        """Think and write; whether it ended, and not with "later"."""
        self.mind.forget()
        for _ in range(TRIES):
            thought = await self._tried(name, partial(self.lives[name].think, [delivery]))
            if not thought:
                return True
            ended = await self._written(name, thought)
            if not any(isinstance(one.ending, RetryLater) for one in ended):
                return True
        return False

    async def _written(self, name: str, jobs: Sequence[tuple[Delivery, Any]]) -> Sequence[Ended]:
        ended: Sequence[Ended] = await self._tried(name, partial(self.lives[name].write, jobs, since=0.0)) or ()
        for one in ended:
            self._made(name, one)
            if isinstance(one.ending, Done):
                self._follows(one.ending.publishes, [letter.body for letter in one.letters])
        return ended

    async def _decided(self, event: Event) -> None:
        """Apply what a person decided."""
        vector = await people.vector_of(self.kit.database, self.kit.embedder, event)
        try:
            async with self.kit.database.write([self.agent]) as db:
                decided = await people.decide(db, event, table=self.kit.registered.table, vector=vector)
        except UserMistake as error:
            self.tally.failed.append(f"{event.stream} {event.event_id}: {error}")
            return
        self.tally.receipts += 1
        live = self.was.get((OPERATOR, event.event_id))
        self.tally.otherwise += live not in (None, decided.outcome)
        self.on_made(Made(self.agent, OPERATOR, event.event_id, decided.outcome, getattr(event, "reason", None), live))
        self._follows(decided.follows, [letter.body for letter in decided.letters[1:]])

    async def _tried(self, name: str, step: Callable[[], Any]) -> Any:
        """What `step` gives; None when it raised what would be tried again, and at last parked."""
        try:
            return await step()
        except (Outage, Contended, Misconfigured):
            raise
        except Exception as error:
            self.tally.failed.append(f"{name}: {record.why(error)}")
            return None

    def _follows(self, published: Sequence[Event], bodies: Sequence[bytes]) -> None:
        """Keep what workers will hear; what they never heard in the live store is worked next."""
        for event, body in zip(published, bodies, strict=True):
            if workers.consumers().get(event.stream):
                self.letters[event.stream, event.event_id] = body
            if self._unplanned(event):
                self.next.append((event, f"{int(clock.now().timestamp() * 1000)}-0"))
                self.tally.extra += bool(self.planned)

    def _unplanned(self, event: Event) -> list[str]:
        """The workers that hear of it and have no turn for it."""
        return [name for name in workers.consumers().get(event.stream, ()) if (name, event.event_id) not in self.planned]

    def _made(self, name: str, one: Ended) -> None:
        event, ending = one.delivery.event, one.ending
        match ending:
            case Done(outcome=outcome, reason=reason):
                pass
            case Skip(why=reason):
                outcome = "skipped"
            case GiveUp(why=reason):
                outcome = "parked"
            case _:
                return
        live = self.was.get((name, event.event_id))
        self.tally.receipts += 1
        self.tally.otherwise += live not in (None, outcome)
        self.on_made(Made(self.agent, name, event.event_id, outcome, reason, live))


def _steps(act: schedule.Act) -> tuple[Step, ...]:
    return act.steps if isinstance(act, schedule.Think) else act.transaction.steps
