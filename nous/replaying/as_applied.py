"""As it was applied: transaction by transaction, each at its time and thought through when it was, so that it is the same store again.

receipts ─▶ schedule ─┬─ think ─▶ kept until it is written
                      └─ write ─▶ its effect, at the time it was; what follows and has no turn of its own is worked at once
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from events import CATALOGUE, MalformedEvent, decode
from nous import clock, people
from store import archive, receipts
from store.archive import Archived
from store.database import Database
from store.receipts import OPERATOR, Step
from workers.runtime.record import Delivery

from . import schedule
from .schedule import Named
from .tally import Tally
from .wanted import Wanted
from .working import Job, Working

ACTS_AT_ONCE = 200  # whose bodies are fetched together
BY_PEOPLE = ("dropped", "forgotten")
"""Outcomes that no worker came to: a person's, whose receipt is taken over as it is."""

Bodies = Mapping[Named, Sequence[Archived]]
"""What came of root events, the first first."""


class AsApplied:
    """One agent's replay in the order of its receipts."""

    def __init__(self, working: Working, live: Database, wanted: Wanted, tally: Tally) -> None:
        """`live` has the archive."""
        self.agent = working.agent
        self.working = working
        self.live = live
        self.wanted = wanted
        self.tally = tally
        self.thoughts: dict[int, Job | None] = {}
        self.made: frozenset[Named] = frozenset()
        self.taken: frozenset[int] = frozenset()

    async def run(self, steps: Sequence[Step]) -> None:
        """Do again what these say. Raises Outage, Contended and Misconfigured."""
        self.taken = schedule.taken_over(steps)
        self.made, plan = schedule.derived(steps, taken=self.taken), schedule.acts(steps)
        for start in range(0, len(plan), ACTS_AT_ONCE):
            some = plan[start : start + ACTS_AT_ONCE]
            bodies = await self._bodies([step for act in some for step in act.steps])
            for act in some:
                await (self._think(act.steps, bodies) if isinstance(act, schedule.Think) else self._write(act.steps, bodies))
        await self.working.finish()

    async def _bodies(self, steps: Sequence[Step]) -> Bodies:
        roots = {step.event_id for step in steps if step.named not in self.made}
        async with self.live.read([self.agent]) as db:
            found = await archive.these(db, self.agent, roots)
        return {(stream, event_id): rows for (_, event_id, stream), rows in found.items()}

    async def _think(self, steps: Sequence[Step], bodies: Bodies) -> None:
        """Think about these; what is not there to be thought about has no thought."""
        self.thoughts |= dict.fromkeys((step.seq for step in steps), None)
        first = steps[0]
        if first.worker not in self.working.lives:
            return
        with clock.held(first.recorded_at):
            found = [(step, delivery) for step in steps if (delivery := await self._delivery(step, bodies))]
            self.working.mind.be(first.model, has_written=bool(first.derived) and first.outcome == "linked")
            jobs = await self.working.think(first.worker, [delivery for _, delivery in found])
        numbers = {id(delivery): step.seq for step, delivery in found}
        self.thoughts |= {numbers[id(job[0])]: job for job in jobs}

    async def _write(self, steps: Sequence[Step], bodies: Bodies) -> None:
        with clock.held(steps[0].recorded_at):
            for is_taken, run in groupby(steps, key=lambda step: step.seq in self.taken):
                some = list(run)
                await (self._take_all_over(some) if is_taken else self._write_anew(some, bodies))

    async def _take_all_over(self, steps: Sequence[Step]) -> None:
        for step in steps:
            await self._take_over(step)

    async def _write_anew(self, steps: Sequence[Step], bodies: Bodies) -> None:
        worker = steps[0].worker
        for step in steps:
            if step.outcome in BY_PEOPLE:
                await self._take_over(step)
            elif worker == OPERATOR:
                await self._decide(step, bodies)
        worked = [step for step in steps if worker != OPERATOR and step.outcome not in BY_PEOPLE]
        if worker in self.working.lives:
            await self._work(worker, worked, bodies)
        elif worked:
            self.tally.failed.append(f"{worker}: there is no such worker any more, and {len(worked)} of its decisions are left out")
        await self.working.work_next()

    async def _work(self, worker: str, steps: Sequence[Step], bodies: Bodies) -> None:
        if unthought := [step for step in steps if step.seq not in self.thoughts]:
            await self._think(unthought, bodies)
        if jobs := [job for step in steps if (job := self.thoughts.pop(step.seq))]:
            await self.working.write(worker, jobs)

    async def _delivery(self, step: Step, bodies: Bodies) -> Delivery | None:
        """What came then; None when it is not wanted, is not there, or was no event, which is parked as it was."""
        body = self.working.letters.pop((step.worker, step.event_id), None)
        if body is None:
            row = self._root(step, bodies)
            if row is None:
                return None
            body = row.body
        try:
            return Delivery(decode(CATALOGUE[step.stream], body, step.entry_id, now=step.recorded_at), step.entry_id, body)
        except MalformedEvent as error:
            await self.working.park_malformed(step.worker, step.event_id, step.entry_id, error)
            return None

    def _root(self, step: Step, bodies: Bodies) -> Archived | None:
        """A root event that is wanted: of several bodies under one id, the one that had its effect."""
        rows = bodies.get(step.named)
        if not rows:
            self._miss(step)
            return None
        row = next((one for one in rows if one.entry_id == step.entry_id), rows[0])
        if not self.wanted.takes(row):
            return None
        self.tally.fed += 1
        return row

    def _miss(self, step: Step) -> None:
        """What is left out on purpose is not missed."""
        if not self.wanted.is_everything:
            return
        if step.named in self.made:
            self.tally.missing += 1
        else:
            self.tally.absent.append(f"{step.stream} {step.event_id}")

    async def _decide(self, step: Step, bodies: Bodies) -> None:
        kind = CATALOGUE.get(step.stream)
        if kind is None or kind not in people.APPLIED:
            return
        if (row := self._root(step, bodies)) is not None:
            await self.working.decide(decode(kind, row.body, row.entry_id, now=row.archived_at))

    async def _take_over(self, step: Step) -> None:
        if not self.wanted.is_everything:
            return
        async with self.live.read([self.agent]) as db:
            found = await receipts.of_events(db, [self.agent], [step.event_id])
        async with self.working.kit.database.write([self.agent]) as db:
            await receipts.insert(db, [one for one in found if one.worker == step.worker])
