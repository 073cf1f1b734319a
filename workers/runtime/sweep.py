"""The sweep: derived events that a crash left unpublished, and those Redis lost, are published again until their consumers have answered.

outbox row ─▶ never published ─▶ XADD
           └▶ published ─▶ every consumer has its receipt ─▶ gone
                        └▶ a consumer is through with its stream and has no receipt ─▶ XADD again (Redis may lose its last second)
"""

from collections.abc import Sequence
from datetime import timedelta

import structlog
from redis.asyncio import Redis

from nous import clock
from store import outbox, receipts
from store.database import Database

from . import streams

LEFT_BEHIND_AFTER = timedelta(seconds=5)
UNANSWERED_AFTER = timedelta(seconds=60)
LETTERS_PER_SWEEP = 500

log = structlog.get_logger()


async def sweep(database: Database, redis: Redis, consumers: dict[str, tuple[str, ...]]) -> int:
    """One round; `consumers` names the workers on each stream. Returns how many letters were published. Raises Outage and Contended."""
    now = clock.now()
    async with database.queue() as db:
        left = await outbox.unpublished(db, before=now - LEFT_BEHIND_AFTER, limit=LETTERS_PER_SWEEP)
        kept = await outbox.unanswered(db, before=now - UNANSWERED_AFTER, limit=LETTERS_PER_SWEEP)
    open_ = await _unanswered(database, kept, consumers)
    lost = [letter for letter in open_ if await _is_idle(redis, letter.stream, consumers)]
    again = [*left, *lost]
    await streams.append(redis, [(letter.stream, letter.body) for letter in again])
    async with database.queue() as db:
        await outbox.delete(
            db,
            {outbox.key(letter) for letter in [*kept, *left] if letter not in open_ and letter not in left}
            | {outbox.key(letter) for letter in left if not consumers.get(letter.stream)},
        )
        await outbox.mark_published(db, {outbox.key(letter) for letter in [*again, *open_]}, now=now)
    if again:
        log.info("outbox.swept", published=len(again))
    return len(again)


async def _unanswered(database: Database, letters: Sequence[outbox.Letter], consumers: dict[str, tuple[str, ...]]) -> list[outbox.Letter]:
    """Those for which some consumer has no receipt yet."""
    if not letters:
        return []
    open_ = []
    async with database.read({letter.agent_id for letter in letters}) as db:
        for letter in letters:
            key = (letter.agent_id, letter.event_id)
            answered = [await receipts.settled(db, worker, [key]) for worker in consumers.get(letter.stream, ())]
            if not all(answered):
                open_.append(letter)
    return open_


async def _is_idle(redis: Redis, stream: str, consumers: dict[str, tuple[str, ...]]) -> bool:
    """Whether every consumer of the stream is through with it: what has no receipt then was lost."""
    states = [await streams.group_state(redis, stream, worker) for worker in consumers.get(stream, ())]
    return all(state.lag == 0 and state.pending == 0 for state in states)
