"""The bare loop: reads the stream and inserts the rows a stored fact leaves, deciding nothing. `python -m tests.bench.bare`.

It is the limit for a worker whose embedder costs nothing: the same page, the same driver below SQLAlchemy, one transaction and one
XACK a page, and no question asked of the database. It ends with SIGTERM.
"""

import asyncio
import json
import signal
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg
import uvloop
from pgvector import HalfVector
from pgvector.asyncpg import register_vector
from redis.asyncio import Redis

from events import FactLearned
from nous.settings import Settings
from nous.text import content_hash
from providers.zero import ZeroEmbedder

from .stand import GROUP

_ROLE = "SELECT set_config('role', 'nous_worker', true), set_config('nous.agents', $1::text[]::text, true)"
_TYPES = {
    "agent_id": "text",
    "fact_id": "uuid",
    "content": "text",
    "hash": "bytea",
    "subject": "text",
    "provenance": "text",
    "confidence": "float8",
    "source": "text",
    "at": "timestamptz",
    "event_id": "text",
    "seq": "bigint",
    "entry_id": "text",
    "vector": "halfvec",
}
_SAID = ("agent_id", "event_id", "fact_id", "content", "hash", "subject", "provenance", "confidence", "source", "at")
_ROWS = {
    """
INSERT INTO heart.facts (agent_id, fact_id, content, content_hash, subject, subject_key, provenance, confidence, source, valid_from,
    claimed_at, claimed_by, created_at, text_key, stored_by, recorded_at, recorded_by)
SELECT agent_id, fact_id, content, hash, subject, subject, provenance, confidence, source, at, at, event_id, now(), hash, event_id, now(),
    event_id""": _SAID,
    "INSERT INTO {table} (agent_id, fact_id, vector) SELECT agent_id, fact_id, vector": ("agent_id", "fact_id", "vector"),
    """
INSERT INTO heart.fact_mentions (agent_id, event_id, mention_id, fact_id, content, content_hash, subject, provenance, confidence, source,
    similarity, outcome, occurred_at, heard_at)
SELECT agent_id, event_id, fact_id, fact_id, content, hash, subject, provenance, confidence, source, 1, 'stored', at, now()""": _SAID,
    """
INSERT INTO bus.receipts (worker, agent_id, event_id, seq, stream, entry_id, ending, outcome, about, occurred_at, recorded_at)
SELECT 'deduplicator', agent_id, event_id, seq, 'fact_learned', entry_id, 'done', 'stored', fact_id, at, now()""": (
        "agent_id",
        "event_id",
        "seq",
        "entry_id",
        "fact_id",
        "at",
    ),
}
"""What is inserted, and the columns it is made of."""


async def main(settings: Settings) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    redis = Redis.from_url(settings.redis_url or "")
    await redis.xgroup_create(FactLearned.stream, GROUP, id="0", mkstream=True)
    connection = await asyncpg.connect(settings.database_url or "")
    await register_vector(connection)
    table = await connection.fetchval("SELECT table_name FROM heart.embedders WHERE active")
    while not stop.is_set():
        read = await redis.xreadgroup(GROUP, "bare", {FactLearned.stream: ">"}, count=settings.page, block=200)
        for _, entries in read:
            async with connection.transaction():
                await _insert(connection, table, entries)
            await redis.xack(FactLearned.stream, GROUP, *(entry_id for entry_id, _ in entries))
    await connection.close()
    await redis.aclose()


async def _insert(connection: asyncpg.Connection, table: str, entries: list[tuple[bytes, dict[bytes, bytes]]]) -> None:
    events = [json.loads(fields[b"data"]) for _, fields in entries]
    vectors = await ZeroEmbedder().embed([event["content"] for event in events])
    rows = [
        _row(event, entry_id.decode()) | {"vector": HalfVector(vector)}
        for event, (entry_id, _), vector in zip(events, entries, vectors, strict=True)
    ]
    await connection.execute(_ROLE, sorted({event["agent_id"] for event in events}))
    for statement, names in _ROWS.items():
        arrays = ", ".join(f"${at}::{_TYPES[name]}[]" for at, name in enumerate(names, start=1))
        rows_as_arrays = [[row[name] for row in rows] for name in names]
        await connection.execute(f"{statement.format(table=table)} FROM unnest({arrays}) AS q({', '.join(names)})", *rows_as_arrays)


def _row(event: dict[str, Any], entry_id: str) -> dict[str, Any]:
    milliseconds, sequence = entry_id.split("-")
    return event | {
        "fact_id": UUID(event["fact_id"]),
        "hash": content_hash(event["content"]),
        "at": datetime.fromisoformat(event["occurred_at"]),
        "entry_id": entry_id,
        "seq": (int(milliseconds) << 20) + int(sequence),
    }


if __name__ == "__main__":
    uvloop.run(main(Settings()))
