"""Root events that stand in the live streams, for a replay of what is not archived yet, or was never.

every stream ──read, by no group──▶ as the archive would keep them ──▶ those that workers made are left out ──▶ by agent
"""

from redis.asyncio import Redis

import events
from nous import clock
from store import receipts
from store.archive import Archived
from store.database import Database
from workers.runtime import record, streams

from . import schedule


async def roots(live: Database, redis: Redis) -> dict[str, list[Archived]]:
    """Every agent's. What was said twice in the same words is one. Raises Outage and Contended."""
    found: dict[str, dict[tuple[str, str, bytes], Archived]] = {}
    now = clock.now()
    for stream, kind in events.CATALOGUE.items():
        async for page in streams.entries(redis, stream):
            for row in (record.archived(kind, entry, now=now) for entry in page):
                found.setdefault(row.agent_id, {}).setdefault((row.stream, row.event_id, row.digest), row)
    return {agent: await _roots(live, agent, list(rows.values())) for agent, rows in found.items()}


async def _roots(live: Database, agent: str, rows: list[Archived]) -> list[Archived]:
    async with live.read([agent]) as db:
        made = schedule.derived(await receipts.steps(db, agent))
    return [row for row in rows if (row.stream, row.event_id) not in made]
