"""Whether all is at rest: nothing unread, pending, waiting or unpublished, streams trimmed; later no transaction open, no lock held."""

from typing import Any

from redis.asyncio import Redis

import workers
from events import CATALOGUE
from workers.runtime import streams

from .eyes import Eyes

_WAITING = (
    "SELECT worker, together, count(*) AS n, extract(epoch FROM now() - min(due_at))::float AS due_s, min(reason) AS why"
    " FROM bus.retries GROUP BY worker, together ORDER BY worker, together"
)
OPEN = {
    "no transaction is left open": "SELECT pid, state, query FROM pg_stat_activity"
    " WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()",
    "no lock is left": "SELECT pid, mode FROM pg_locks WHERE locktype = 'advisory'",
    "no prepared transaction is left": "SELECT gid FROM pg_prepared_xacts",
}


async def left(eyes: Eyes, redis: Redis) -> list[str]:
    """What is not at rest yet, a line each."""
    found = []
    for stream in CATALOGUE:
        for group in (*workers.consumers().get(stream, ()), streams.ARCHIVIST):
            state = await streams.group_state(redis, stream, group)
            if state.lag or state.pending:
                found.append(f"{group} on {stream}: {state.lag} unread, {state.pending} pending")
        if length := await redis.xlen(stream):
            found.append(f"{stream} holds {length} entries")
    for row in await eyes.rows(_WAITING):
        how = "together" if row["together"] else "alone"
        found.append(f"{row['n']} of {row['worker']} wait {how}, the longest due for {row['due_s']:.0f} s, such as: {row['why']}")
    if letters := await eyes.value("SELECT count(*) FROM bus.outbox"):
        found.append(f"{letters} events wait to be published or answered")
    return found


async def open_still(eyes: Eyes) -> dict[str, list[Any]]:
    """What is open in Postgres when nobody works any more, by the promise it breaks."""
    return {promise: [tuple(row.values()) for row in await eyes.rows(query)] for promise, query in OPEN.items()}
