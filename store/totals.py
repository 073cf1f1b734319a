"""Totals: how much there is of everything, for an operator's page."""

from sqlalchemy import text

from . import everybody
from .database import Read

EXACT_TO = 1_000_000  # rows; of more the planner's estimate is told, which costs nothing

_COUNTED = {
    "facts": "SELECT count(*) FROM heart.facts WHERE active",
    "episodes": "SELECT count(*) FROM heart.episodes WHERE active",
    "agents": f"SELECT count(*) FROM ({everybody.in_('bus.receipts')}) a WHERE agent_id <> ''",
}
_ROWS = {"facts": "heart.facts", "episodes": "heart.episodes", "agents": "bus.receipts"}
_ESTIMATE = (
    "SELECT coalesce(sum(greatest(c.reltuples, 0)), 0) FROM pg_partition_tree(CAST(:name AS regclass)) p"
    " JOIN pg_class c ON c.oid = p.relid WHERE p.isleaf"
)


async def counted(db: Read) -> dict[str, tuple[int | None, bool]]:
    """How many active facts and episodes, and agents, each with whether that is exact; needs an overview.

    Of more than EXACT_TO rows it is an estimate of all rows, active or not; of agents of so many receipts, None.
    """
    found: dict[str, tuple[int | None, bool]] = {}
    for what, query in _COUNTED.items():
        rows = int((await db.execute(text(_ESTIMATE), {"name": _ROWS[what]})).scalar_one())
        if rows <= EXACT_TO:
            found[what] = (int((await db.execute(text(query))).scalar_one()), True)
        else:
            found[what] = (None if what == "agents" else rows, False)
    return found
