"""The sweep: events that a crash left unpublished, or that were committed where no broker was at hand, and those Redis lost, are
published until their consumers have answered.

outbox row ─┬─ never published ──────────────────────────────────────▶ XADD
            └─ published ─┬─ every consumer has its receipt, or it
                        │  waits there for another attempt ────────▶ gone
                          ├─ a consumer still has its stream to read ▶ looked at again later
                          └─ all are through and one has no receipt ─▶ XADD again: Redis may lose its last second
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import structlog
from redis.asyncio import Redis

from nous import clock
from store import outbox, receipts, retries
from store.database import Database
from store.outbox import Letter

from . import streams

LEFT_BEHIND_AFTER = timedelta(seconds=5)
UNANSWERED_AFTER = timedelta(seconds=60)
LETTERS_AT_ONCE = 2_000

Consumers = Mapping[str, Sequence[str]]
"""The workers on each stream."""

log = structlog.get_logger()


async def sweep(database: Database, redis: Redis, consumers: Consumers) -> int:
    """One round over all of the outbox; returns how many letters were published. Raises Outage and Contended."""
    left = await _publish_left_behind(database, redis, consumers)
    lost = await _settle_published(database, redis, consumers)
    if left or lost:
        log.info("outbox.swept", left_behind=left, lost_by_redis=lost)
    return left + lost


async def _publish_left_behind(database: Database, redis: Redis, consumers: Consumers) -> int:
    before, published = clock.now() - LEFT_BEHIND_AFTER, 0
    while True:
        async with database.queue() as db:
            letters = await outbox.unpublished(db, before=before, limit=LETTERS_AT_ONCE)
        await announce(database, redis, letters, consumers)
        published += len(letters)
        if len(letters) < LETTERS_AT_ONCE:
            return published


async def _settle_published(database: Database, redis: Redis, consumers: Consumers) -> int:
    before, published = clock.now() - UNANSWERED_AFTER, 0
    while True:
        async with database.queue() as db:
            letters = await outbox.unanswered(db, before=before, limit=LETTERS_AT_ONCE)
        idle = {stream for stream in {letter.stream for letter in letters} if await _is_idle(redis, stream, consumers)}
        open_ = await _unanswered(database, letters, consumers)  # after that: what was through by then has its receipt
        lost = [letter for letter in open_ if letter.stream in idle]
        await streams.append(redis, [(letter.stream, letter.agent_id, letter.body) for letter in lost])
        async with database.queue() as db:
            await outbox.mark_published(db, _keys(open_), now=clock.now())
            await outbox.delete(db, _keys(letters) - _keys(open_))
        published += len(lost)
        if len(letters) < LETTERS_AT_ONCE:
            return published


async def announce(database: Database, redis: Redis, letters: Sequence[Letter], consumers: Consumers) -> None:
    """Publish letters now; those a consumer must answer for stay in the outbox until it has. Raises Outage and Contended."""
    if not letters:
        return
    await streams.append(redis, [(letter.stream, letter.agent_id, letter.body) for letter in letters])
    kept = _keys([letter for letter in letters if consumers.get(letter.stream)])
    async with database.queue() as db:
        await outbox.mark_published(db, kept, now=clock.now())
        await outbox.delete(db, _keys(letters) - kept)


async def _unanswered(database: Database, letters: Sequence[Letter], consumers: Consumers) -> list[Letter]:
    """Those for which some consumer has no receipt, of whatever ending, and which do not wait there for another attempt."""
    if not letters:
        return []
    keys = {(letter.agent_id, letter.event_id) for letter in letters}
    async with database.read({agent for agent, _ in keys}) as db:
        names = {name for letter in letters for name in consumers.get(letter.stream, ())}
        answered = {name: await receipts.answered(db, name, keys) | await retries.held(db, name, keys) for name in names}
    return [
        letter
        for letter in letters
        if any((letter.agent_id, letter.event_id) not in answered[name] for name in consumers.get(letter.stream, ()))
    ]


async def _is_idle(redis: Redis, stream: str, consumers: Consumers) -> bool:
    """Whether every consumer of the stream is through with it: what has no receipt then was lost."""
    states = [await streams.group_state(redis, stream, name) for name in consumers.get(stream, ())]
    return all(state.lag == 0 and state.pending == 0 for state in states)


def _keys(letters: Sequence[Letter]) -> set[outbox.Key]:
    return {outbox.key(letter) for letter in letters}
