"""Rankings: among which of an agent's facts a page's questions look for their nearest, so that all of them are answered in one pass.

    now_and_past   any vector ─▶ what is true now; what no longer is
    others         a fact     ─▶ other facts that are true now; others that were still true at a moment
    named          a fact     ─▶ other facts of some subjects, true now or at a moment

The same rules as in the statements of vectors.py, said for a matrix of questions and facts (narrowing.py).
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text

from . import facts
from .database import Read
from .narrowing import Among, Mask


async def now_and_past(db: Read, table: str, agent: str) -> Among:
    """All facts of the agent that have a vector."""
    rows = await db.execute(
        text(f"SELECT array_agg(v.fact_id) AS facts, array_agg(v.current) AS current FROM {table} v WHERE v.agent_id = :agent"),
        {"agent": agent},
    )
    row = rows.one()
    current = np.array(row.current or [], bool)[None]
    return Among(agent, row.facts or [], (lambda at: current[:, at], lambda at: ~current[:, at]))


async def others(db: Read, table: str, agent: str, own: Sequence[UUID], since: Sequence[datetime]) -> Among:
    """For each fact of `own` the others that are true now, and those that were retired later than its `since`."""
    rows = await db.execute(
        text(
            "SELECT array_agg(v.fact_id) AS facts, array_agg(v.current) AS current, array_agg(f.valid_to) AS until"
            f" FROM {table} v LEFT JOIN LATERAL (SELECT one.valid_to FROM heart.facts one"
            "  WHERE one.agent_id = v.agent_id AND one.fact_id = v.fact_id OFFSET 0) f ON NOT v.current WHERE v.agent_id = :agent"
        ),
        {"agent": agent},
    )
    row = rows.one()
    current = np.array(row.current or [], bool)[None]
    own_places, until, after = _places(own, row.facts or []), _moments(row.until or [])[None], _moments(since)[:, None]

    def now(at: slice) -> Mask:
        return _apart(own_places, at, current[:, at])

    def past(at: slice) -> Mask:
        return _apart(own_places, at, ~current[:, at] & (until[:, at] > after))

    return Among(agent, row.facts or [], (now, past))


async def named(db: Read, agent: str, own: Sequence[UUID], since: Sequence[datetime], subjects: Sequence[Sequence[str]]) -> Among:
    """For each fact of `own` the others of its folded `subjects` that are so, or were retired later than its `since`."""
    names = {name: place for place, name in enumerate(sorted({name for some in subjects for name in some}))}
    rows = await db.execute(
        text(
            "SELECT array_agg(f.fact_id) AS facts, array_agg(f.subject_key) AS subjects,"
            f" array_agg({facts.is_so('f')}) AS so, array_agg(f.valid_to) AS until FROM heart.facts f"
            " WHERE f.agent_id = :agent AND f.merged_into IS NULL AND f.subject_key = ANY(CAST(:names AS text[]))"
        ),
        {"agent": agent, "names": list(names)},
    )
    row = rows.one()
    until = np.where(np.array(row.so or [], bool), np.inf, _moments(row.until or []))[None]
    own_places, after = _places(own, row.facts or []), _moments(since)[:, None]
    of, wanted = np.array([names[one] for one in row.subjects or []], int), np.zeros((len(own), len(names)), bool)
    for place, some in enumerate(subjects):
        wanted[place, [names[name] for name in some]] = True
    return Among(agent, row.facts or [], (lambda at: _apart(own_places, at, wanted[:, of[at]] & (until[:, at] > after)),))


def _places(own: Sequence[UUID], those: Sequence[UUID]) -> NDArray[np.intp]:
    """Where each of its own facts stands among those, as a column; -1 for nowhere."""
    places = {one: place for place, one in enumerate(those)}
    return np.array([places.get(one, -1) for one in own], np.intp)[:, None]


def _apart(own: NDArray[np.intp], at: slice, wanted: Mask) -> Mask:
    """Those wanted that are another fact than the one that is asked about."""
    mask: Mask = wanted & (np.arange(at.start, at.start + wanted.shape[1])[None] != own)
    return mask


def _moments(these: Sequence[datetime | None]) -> NDArray[np.float64]:
    """Seconds since 1970, exact to the microsecond; None is before everything."""
    return np.array([-np.inf if one is None else one.timestamp() for one in these], np.float64)
