"""The sweep: events that a crash left unpublished, or that were committed where no broker was at hand, and those Redis lost, are
published until their consumers have answered and the archive has them.

outbox row ─┬─ never published ──────────────────────────────────────▶ XADD
            └─ published ─┬─ every consumer has its receipt, or it
                          │  waits there for another attempt; and the
                          │  archive has it, if there is an archivist ▶ gone
                          ├─ one of them still has its stream to read ▶ looked at again later
                          └─ all are through and one has it not ──────▶ XADD again: Redis may lose its last second
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog
from redis.asyncio import Redis

from nous import clock
from store import archive, outbox, receipts, retries
from store.database import Database
from store.outbox import Letter

from . import streams

LEFT_BEHIND_AFTER = timedelta(seconds=5)
UNANSWERED_AFTER = timedelta(seconds=60)
LETTERS_AT_ONCE = 2_000

Consumers = Mapping[str, Sequence[str]]
"""The workers on each stream."""

log = structlog.get_logger()


class Sweep:
    """Rounds over all of the outbox, as one process makes them."""

    def __init__(self, database: Database, redis: Redis, consumers: Consumers, *, archives: bool = False) -> None:
        """`archives`, this process has an archivist.

        One that works elsewhere is known by its groups, and for good: Redis may lose these with the rest, and the archivist makes them
        again a moment later. What it had not read until then would be gone from the archive.
        """
        self._database, self._redis, self._consumers = database, redis, consumers
        self._archives = archives

    async def round(self) -> int:
        """One round; returns how many letters were published. Raises Outage and Contended."""
        self._archives = self._archives or await self._is_archived()
        left = await self._publish_left_behind()
        lost = await self._settle_published()
        if left or lost:
            log.info("outbox.swept", left_behind=left, lost_by_redis=lost)
        return left + lost

    async def _is_archived(self) -> bool:
        keys = await streams.positions(self._redis, streams.all_keys(await streams.spread(self._redis)))
        return any(streams.ARCHIVIST in key.groups for key in keys.values())

    async def _publish_left_behind(self) -> int:
        before, published = clock.now() - LEFT_BEHIND_AFTER, 0
        while True:
            async with self._database.queue() as db:
                letters = await outbox.unpublished(db, before=before, limit=LETTERS_AT_ONCE)
            await announce(self._database, self._redis, letters)
            published += len(letters)
            if len(letters) < LETTERS_AT_ONCE:
                return published

    async def _settle_published(self) -> int:
        before, published = clock.now() - UNANSWERED_AFTER, 0
        while True:
            async with self._database.queue() as db:
                letters = await outbox.unanswered(db, before=before, limit=LETTERS_AT_ONCE)
            through = {stream for stream in {letter.stream for letter in letters} if await self._are_through(stream)}
            open_ = await self._unanswered(letters)  # after that: what was through by then has its receipt
            lost = [letter for letter in open_ if letter.stream in through]
            await streams.append(self._redis, [(letter.stream, letter.agent_id, letter.body) for letter in lost])
            async with self._database.queue() as db:
                await outbox.mark_published(db, _keys(open_), now=clock.now())
                await outbox.delete(db, _keys(letters) - _keys(open_))
            published += len(lost)
            if len(letters) < LETTERS_AT_ONCE:
                return published

    async def _unanswered(self, letters: Sequence[Letter]) -> list[Letter]:
        """Those the archive has not, or for which some worker has no receipt, of whatever ending, and holds none for another attempt."""
        if not letters:
            return []
        keys = {(letter.agent_id, letter.event_id) for letter in letters}
        names = {name for letter in letters for name in self._workers(letter.stream)}
        async with self._database.read({agent for agent, _ in keys}) as db:
            answered = {name: await receipts.answered(db, name, keys) | await retries.held(db, name, keys) for name in names}
            archived = await archive.held(db, keys)
        return [
            letter
            for letter in letters
            if any((letter.agent_id, letter.event_id) not in answered[name] for name in self._workers(letter.stream))
            or (self._archives and (letter.agent_id, letter.event_id, letter.stream) not in archived)
        ]

    async def _are_through(self, stream: str) -> bool:
        """Whether all who must answer for its letters are through with a stream: what one has not then was lost."""
        keys = (await streams.positions(self._redis, await streams.keys(self._redis, stream))).values()
        groups = (*self._workers(stream), *([streams.ARCHIVIST] if self._archives else []))
        states = [streams.state_of(keys, group) for group in groups]
        return all(state.lag == 0 and state.pending == 0 for state in states)

    def _workers(self, stream: str) -> Sequence[str]:
        return self._consumers.get(stream, ())


async def announce(database: Database, redis: Redis, letters: Sequence[Letter]) -> None:
    """Publish letters now; they stay in the outbox until whoever reads them has answered. Raises Outage and Contended."""
    if not letters:
        return
    await streams.append(redis, [(letter.stream, letter.agent_id, letter.body) for letter in letters])
    async with database.queue() as db:
        await outbox.mark_published(db, _keys(letters), now=clock.now())


def _keys(letters: Sequence[Letter]) -> set[outbox.Key]:
    return {outbox.key(letter) for letter in letters}
