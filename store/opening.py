"""What a worker's transaction must know before it writes, asked with one statement under its agents' locks: each by itself would cost all
who wait for these locks another round trip.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from . import embedders, many
from .database import Write
from .embedders import Registered
from .receipts import Key


@dataclass(frozen=True)
class Opening:
    """Which of the events are settled, and which wait together; whether anything of these agents was erased; the number of each agent's
    latest receipt, 0 for none.
    """

    settled: frozenset[Key]
    waiting: frozenset[Key]
    was_erased: bool
    last: Mapping[str, int]


_OPENING = text(
    "WITH q AS MATERIALIZED (SELECT * FROM unnest(CAST(:agents AS text[]), CAST(:events AS text[])) WITH ORDINALITY"
    "  AS q(agent_id, event_id, place))"
    " SELECT e.name, e.dimension, e.table_name, EXISTS (SELECT FROM bus.forgotten) AS was_erased,"
    " ARRAY(SELECT q.place FROM q CROSS JOIN LATERAL (SELECT FROM bus.receipts r WHERE r.agent_id = q.agent_id"
    "  AND r.event_id = q.event_id AND r.worker = :worker AND r.ending IN ('done', 'skip') OFFSET 0) r) AS settled,"
    " ARRAY(SELECT q.place FROM q CROSS JOIN LATERAL (SELECT FROM bus.retries r WHERE r.worker = :worker AND r.agent_id = q.agent_id"
    "  AND r.event_id = q.event_id AND r.together OFFSET 0) r) AS waiting,"
    " ARRAY(SELECT coalesce((SELECT r.seq FROM bus.receipts r WHERE r.agent_id = a.agent_id AND r.seq > 0 ORDER BY r.seq DESC LIMIT 1), 0)"
    "  FROM unnest(CAST(:every AS text[])) WITH ORDINALITY AS a(agent_id, place) ORDER BY a.place) AS last"
    " FROM heart.embedders e WHERE e.active"
)


async def of(db: Write, worker: str, keys: Collection[Key], registered: Registered) -> Opening:
    """Look, and hold the embedder to what it was. Raises Misconfigured when it is another one, or there is none."""
    asked, every = list(keys), sorted({agent for agent, _ in keys})
    rows = await db.execute(_OPENING, {**many.apart(asked, "agents", "events"), "every": every, "worker": worker})
    row: Any = rows.one_or_none()
    embedders.must_be(registered, embedders.in_use(row))
    return Opening(
        settled=frozenset(asked[place - 1] for place in row.settled),
        waiting=frozenset(asked[place - 1] for place in row.waiting),
        was_erased=row.was_erased,
        last=dict(zip(every, row.last, strict=True)),
    )
