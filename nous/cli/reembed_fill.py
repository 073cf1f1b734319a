"""Filling another embedder's table beside the one in use, and switching over to it.

    round:   what has no vector yet, the oldest first ─▶ embedded (no transaction open) ─▶ put ─▶ the next round
    switch:  little is left ─▶ every writer waits ─▶ the last ones embedded and put ─▶ now it is the active one

Killed anywhere it has kept what it put, and goes on from there when it is run again. Until the switch nothing reads the new table.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

import structlog

from providers.embedder import Embedder, EmbeddingMalformed, EmbeddingRefused
from store import embedders, reembedding, vectors
from store.database import Database, Read, Write, acting
from store.embedders import Registered
from store.reembedding import Askew, Wanted
from store.vectors import Vector

from .endings import Incomplete
from .patience import patiently

ROUND = 20_000  # texts whose words are in memory at once; finding them looks at every fact
SWITCH_S = 2.0  # about as long as writers may wait for the last ones to be embedded
LEAST_LAST, MOST_LAST = 64, 1_000  # how few and how many are left for the switch, whatever the speed

T = TypeVar("T")

log = structlog.get_logger()


@dataclass
class Filled:
    """What was done: how many vectors were made and put, in how many seconds, and what the embedder would not have."""

    made: int = 0
    seconds: float = 0.0
    refused: dict[Wanted, str] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """How many texts the switch may embed while writers wait."""
        fitting = int(SWITCH_S * self.made / self.seconds) if self.seconds else LEAST_LAST
        return min(max(fitting, LEAST_LAST), MOST_LAST)


@dataclass(frozen=True)
class Filling:
    """One embedder's table to be filled, `batch` texts at a time; `advance` hears how many are done and how many are left."""

    database: Database
    embedder: Embedder
    to: Registered
    batch: int
    advance: Callable[[int, int], object]
    filled: Filled = field(default_factory=Filled)

    async def run(self) -> Filled:
        """Catch up and switch. Raises Incomplete when some texts get no vector, Outage and Contended when it gave up waiting."""
        while True:
            await self._catch_up()
            self._hold_to_all()
            if await _patiently(self._switched):
                return self.filled
            log.info("switch.postponed", reason="too much arrived meanwhile", next="tried again by itself")

    # ── catching up ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _catch_up(self) -> None:
        """Round by round, until what arrived during one is little enough for the switch."""
        before: int | None = None
        while True:
            left = await _patiently(self._left)
            self.advance(self.filled.made, left)
            if before is not None and left >= before > self.filled.last:
                log.warning("reembedding.outrun", left=left, next="it goes on; fewer workers, or none for a while, let it catch up")
            before = left
            wanted = await _patiently(self._missing)
            for start in range(0, len(wanted), self.batch):
                await self._fill(wanted[start : start + self.batch])
                self.advance(self.filled.made, max(0, left - start - self.batch))
            if len(wanted) <= self.filled.last:
                break
            log.info("vectors.made", made=self.filled.made, left=max(0, left - len(wanted)))
        await _patiently(self._set_straight)

    async def _left(self) -> int:
        async with self.database.overview() as db:
            return await reembedding.count(db, self.to) - len(self.filled.refused)

    async def _missing(self) -> list[Wanted]:
        async with self.database.overview() as db:
            return await self._found(db, limit=ROUND)

    async def _found(self, db: Read, *, limit: int) -> list[Wanted]:
        """What has no vector yet, without what was refused."""
        found = await reembedding.missing(db, self.to, limit=limit + len(self.filled.refused))
        return [one for one in found if one not in self.filled.refused]

    async def _fill(self, batch: Sequence[Wanted]) -> None:
        began = time.monotonic()
        made = await _patiently(lambda: self._embedded(batch))

        async def put() -> None:
            async with self.database.write({one.agent_id for one, _ in made}) as db:
                await reembedding.put(db, self.to, made)

        await _patiently(put)
        self.filled.made += len(made)
        self.filled.seconds += time.monotonic() - began

    async def _set_straight(self) -> None:
        """Mark what was retired or came back since it was put, and let the planner know the table: the switch has less to do then."""
        async with self.database.overview() as db:
            askew = await reembedding.askew(db, self.to)
        await self._mark(askew, self.database.write)
        async with self.database.switching() as switch:
            await embedders.analyze(switch, self.to)

    async def _mark(self, askew: Iterable[Askew], writing: Callable[[list[str]], AbstractAsyncContextManager[Write]]) -> None:
        for agent, ones in groupby(askew, lambda one: one.agent_id):
            either: dict[bool, list[Askew]] = {True: [], False: []}
            for one in ones:
                either[one.is_current].append(one)
            current, past = ([one.fact_id for one in either[which]] for which in (True, False))
            async with writing([agent]) as db:
                await vectors.mark(db, self.to.table, agent, current=current, past=past)

    # ── embedding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _embedded(self, batch: Sequence[Wanted]) -> list[tuple[Wanted, Vector]]:
        """Each text with its vector; those that are refused are noted, and the others of the batch do not pay for them."""
        try:
            made = await self.embedder.embed([one.content for one in batch])
        except (EmbeddingRefused, EmbeddingMalformed) as error:
            if len(batch) == 1:
                self.filled.refused[batch[0]] = str(error)
                return []
            return [one for wanted in batch for one in await self._embedded([wanted])]
        return list(zip(batch, made, strict=True))

    def _hold_to_all(self) -> None:
        """Raises Incomplete when some have no vector: a fact without one would have no neighbours."""
        if self.filled.refused:
            first, why = next(iter(self.filled.refused.items()))
            raise Incomplete(
                f"{len(self.filled.refused):,} of the texts get no vector from {self.embedder.name}, so nothing was switched; the first is"
                f" {first.part} {first.id} of agent {first.agent_id}: {why}"
            )

    # ── the switch ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _switched(self) -> bool:
        """Whether it is the active one now: not when more arrived than writers should wait for."""
        async with self.database.switching() as switch:
            most = self.filled.last
            async with acting(switch, None) as db:
                rest = await self._found(db, limit=most + 1)
            made = await self._embedded(rest) if rest and len(rest) <= most else []
            if len(made) < len(rest):
                return False
            async with acting(switch, {one.agent_id for one in rest}) as db:
                await reembedding.put(db, self.to, made)
            async with acting(switch, None) as db:
                askew = await reembedding.askew(db, self.to)
            await self._mark(askew, lambda agents: acting(switch, agents))
            await embedders.switch(switch, self.to)
        self.filled.made += len(made)
        return True


async def _patiently(step: Callable[[], Awaitable[T]]) -> T:
    return await patiently(step, what="reembedding")
