"""What a person means by an id they wrote: the rows of that id, or, when there are none, of those that begin so, in any locale."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text

from .database import Read


async def rows(db: Read, columns: str, table: str, written: str, *, agent: str | None, order: str, limit: int) -> Sequence[Any]:
    """`columns` of the rows of `table` by their `event_id`; every agent's when `agent` is None; needs an overview."""
    found: Sequence[Any] = ()
    for how in ("event_id = :written", "starts_with(event_id, :written)"):
        if not found:
            told = await db.execute(
                text(
                    f"SELECT {columns} FROM {table} WHERE {how}"
                    f" AND (CAST(:agent AS text) IS NULL OR agent_id = :agent) ORDER BY {order} LIMIT :limit"
                ),
                {"written": written, "agent": agent, "limit": limit},
            )
            found = told.all()
    return found
