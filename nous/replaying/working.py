"""The real workers on a replay's store, for one agent, without a broker: what one publishes is handed to those that listen.

deliveries ──▶ think ▶ write ─┬─ ended ──▶ told, and what follows is kept until its turn; what has none is worked next
                              ├─ raised ─▶ each alone, and the one at fault is parked, as in the end it would be
                              └─ later ──▶ once more when more has happened; what never ends is parked, or told
"""

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import workers
from events import Event, MalformedEvent
from nous import clock, people
from nous.errors import Contended, Misconfigured, Outage, UserMistake
from store import receipts
from store.receipts import OPERATOR
from workers.runtime import record
from workers.runtime.life import Life
from workers.runtime.record import Delivery, Ended
from workers.runtime.worker import Done, GiveUp, Kit, RetryLater, Skip

from .recorded import RecordedMind
from .tally import Made, Tally

Turn = tuple[str, str]
"""A worker and the id of an event: one delivery."""

Job = tuple[Delivery, Any]
"""A delivery and what was thought about it."""

Later = tuple[str, Delivery, RetryLater]

T = TypeVar("T")
TRIES = 3  # of what is to be looked at again at once


class Working:
    """The workers of one agent's replay."""

    def __init__(
        self, agent: str, kit: Kit, tally: Tally, *, was: Mapping[Turn, str], planned: Collection[Turn], on_made: Callable[[Made], None]
    ) -> None:
        """`kit` is that of the replay's store, with a RecordedMind; `was` is what came of each live, `planned` those that have a turn."""
        self.agent = agent
        self.kit = kit
        self.tally = tally
        self.mind = cast("RecordedMind", kit.mind)
        none: Any = None  # no broker takes part
        self.lives = {name: Life(worker, kit, none, "replay") for name, worker in workers.table().items()}
        self.letters: dict[Turn, bytes] = {}
        self._was = was
        self._planned = planned
        self._on_made = on_made
        self._next: deque[tuple[str, Delivery]] = deque()
        self._late: list[Later] = []

    # ── what has its turn ─────────────────────────────────────────────────────────────────────────────────────────────

    async def think(self, name: str, deliveries: Sequence[Delivery]) -> list[Job]:
        """Each with what is thought about it; one that cannot be thought about is parked."""
        return await self._tried(name, deliveries, self.lives[name].think)

    async def write(self, name: str, jobs: Sequence[Job]) -> None:
        """Their effects, together; one that fails is parked."""
        for one in await self._written(name, jobs):
            if isinstance(one.ending, RetryLater):
                self._late.append((name, one.delivery, one.ending))

    async def decide(self, event: Event) -> None:
        """Apply what a person decided."""
        vector = await people.vector_of(self.kit.database, self.kit.embedder, event)
        try:
            async with self.kit.database.write([self.agent]) as db:
                decided = await people.decide(db, event, table=self.kit.registered.table, vector=vector)
        except UserMistake as error:
            self.tally.failed.append(f"{event.stream} {event.event_id}: {error}")
            return
        self._tell(OPERATOR, event.event_id, decided.outcome, getattr(event, "reason", None))
        self._follow(decided.follows, [letter.body for letter in decided.letters[1:]])

    async def park_malformed(self, name: str, event_id: str, entry_id: str, error: MalformedEvent) -> None:
        """It never was an event of the worker's stream."""
        await self._park(name, event_id, entry_id, str(error), attempts=1)

    # ── what has none ─────────────────────────────────────────────────────────────────────────────────────────────────

    def hear(self, delivery: Delivery) -> None:
        """It came, and every worker that listens works it next."""
        self._next.extend((name, delivery) for name in workers.consumers().get(delivery.event.stream, ()))

    async def work_next(self) -> None:
        """Work what has no turn, with all that follows from it."""
        self.mind.be_the_last()
        while self._next:
            name, delivery = self._next.popleft()
            await self._work(name, delivery)

    async def work_late(self) -> None:
        """Once more what waited for another event, and may wait no longer."""
        late = [one for one in self._late if one[2].counted]
        self._late = [one for one in self._late if not one[2].counted]
        self.mind.be_the_last()
        for name, delivery, _ in late:
            await self._work(name, delivery)
        await self.work_next()

    async def finish(self) -> None:
        """Nothing more will come: what waits for another event is parked, as in the end it would be; what waits for a mind is told."""
        await self.work_late()
        for name, delivery, later in self._late:
            if later.counted:
                await self._park_in_the_end(name, delivery, later.why)
            else:
                self.tally.waiting.append(f"{delivery.event.stream} {delivery.event.event_id} at {name}: {later.why}")

    # ── what all of it comes to ───────────────────────────────────────────────────────────────────────────────────────

    async def _work(self, name: str, delivery: Delivery) -> None:
        for job in await self.think(name, [delivery]):
            await self.write(name, [job])

    async def _written(self, name: str, jobs: Sequence[Job]) -> list[Ended]:
        """How they ended; what is to be looked at again at once has been."""
        ended = await self._write_once(name, jobs)
        for _ in range(TRIES):
            again = [one.delivery for one in ended if isinstance(one.ending, RetryLater) and not one.ending.wait]
            if not again:
                break
            ended = [one for one in ended if one.delivery not in again]
            ended += await self._write_once(name, await self.think(name, again))
        return ended

    async def _write_once(self, name: str, jobs: Sequence[Job]) -> list[Ended]:
        ended: list[Ended] = await self._tried(name, jobs, partial(self.lives[name].write, since=0.0))
        for one in ended:
            self._ended(name, one)
        return ended

    async def _tried(self, name: str, ones: Sequence[Any], step: Callable[[Sequence[Any]], Awaitable[list[T]]]) -> list[T]:
        """What `step` gives of these; if it raises, of each alone, and the one at fault is parked."""
        if not ones:
            return []
        try:
            return await step(ones)
        except (Outage, Contended, Misconfigured):
            raise
        except Exception as error:
            if len(ones) > 1:
                return [each for one in ones for each in await self._tried(name, [one], step)]
            delivery = ones[0] if isinstance(ones[0], Delivery) else ones[0][0]
            await self._park_in_the_end(name, delivery, record.why(error))
            return []

    async def _park_in_the_end(self, name: str, delivery: Delivery, why: str) -> None:
        attempts = self.kit.settings.max_attempts
        reason = f"{why} (after {attempts} attempts)"
        await self._park(name, delivery.event.event_id, delivery.entry_id, reason, attempts=attempts)

    async def _park(self, name: str, event_id: str, entry_id: str, reason: str, *, attempts: int) -> None:
        key = (self.agent, event_id)
        parked = record.parked_receipt(self.lives[name].worker, key, entry_id, reason, attempts=attempts, now=clock.now())
        async with self.kit.database.write([self.agent]) as db:
            await receipts.insert(db, [parked])
        self._tell(name, event_id, "parked", reason)

    def _ended(self, name: str, one: Ended) -> None:
        match one.ending:
            case Done(outcome=outcome, reason=reason, publishes=publishes):
                self._tell(name, one.delivery.event.event_id, outcome, reason)
                self._follow(publishes, [letter.body for letter in one.letters])
            case Skip(why=why):
                self._tell(name, one.delivery.event.event_id, "skipped", why)
            case GiveUp(why=why):
                self._tell(name, one.delivery.event.event_id, "parked", why)

    def _follow(self, published: Sequence[Event], bodies: Sequence[bytes]) -> None:
        """Keep what has its turn at the workers that listen; what has none is next."""
        for event, body in zip(published, bodies, strict=True):
            for name in workers.consumers().get(event.stream, ()):
                if (name, event.event_id) in self._planned:
                    self.letters[name, event.event_id] = body
                    continue
                self._next.append((name, Delivery(event, f"{int(clock.now().timestamp() * 1000)}-0", body)))
                self.tally.extra += bool(self._planned)

    def _tell(self, name: str, event_id: str, outcome: str, reason: str | None) -> None:
        live = self._was.get((name, event_id))
        self.tally.receipts += 1
        if live not in (None, outcome, "forgotten"):
            self.tally.otherwise += 1
            self.tally.others.append(f"{name} of {event_id}: {outcome}, and live {live}")
        self._on_made(Made(self.agent, name, event_id, outcome, reason, live))
