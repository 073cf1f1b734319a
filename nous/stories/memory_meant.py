"""Which memory of an agent is meant by an id: by the handle recall tells it by (recall/handles.py), whole, or by its beginning.

    f-5b0f0d3e, [f-5b0f0d3e] ─▶ fact, 5b0f0d3e ─▶ the one fact of this agent whose id begins so
    5b0f0d3e-7a0e-4b52-…     ─▶ as it is
    5b0f0d3e                 ─▶ the one memory of this agent, of whatever kind, whose id begins so

An id of another agent's is the id of nothing, in the same words.
"""

from contextlib import suppress
from typing import Any
from uuid import UUID

from recall import handles
from store.database import Read

from .ids_meant import LONGEST, NotAnId, NothingMeant, SeveralMeant, bare, passage_meant
from .kinds import KINDS
from .words import listed

MEMORIES = tuple(kind for kind in KINDS if kind != "event")


async def memory_meant(db: Read, agent: str, written: str) -> UUID:
    """The id in full. Raises NotAnId for what is none, NothingMeant when this agent has none of it, SeveralMeant when it fits several."""
    named = handles.read(written)
    try:
        if named is not None:
            return await _of_kind(db, agent, *named)
        return _whole(written) or await _of_any_kind(db, agent, written)
    except NotAnId:
        raise NotAnId(
            f"{written.strip()[:LONGEST]!r} is not an id; send one as recall tells it, such as f-5b0f0d3e, or a whole UUID"
        ) from None
    except NothingMeant:
        raise NothingMeant(f"there is no memory {written.strip()!r}; the ids are those that recall tells, such as f-5b0f0d3e") from None


def _whole(written: str) -> UUID | None:
    """The id that is written in full, whether or not anything has it."""
    try:
        return UUID(bare(written))
    except ValueError:
        return None


async def _of_any_kind(db: Read, agent: str, digits: str) -> UUID:
    """The one memory whose id begins so."""
    found: dict[str, UUID] = {}
    for kind in MEMORIES:
        with suppress(NothingMeant):
            found[kind] = await _of_kind(db, agent, kind, digits)
    if not found:
        raise NothingMeant(digits)
    if len(found) > 1:
        which = listed(handles.handle(kind, one) for kind, one in found.items())
        raise SeveralMeant(f"{digits!r} fits several memories, {which}; write one of these, or more of it")
    return next(iter(found.values()))


async def _of_kind(db: Read, agent: str, kind: str, digits: str) -> UUID:
    if kind == "passage":
        return (await passage_meant(db, digits, agent=agent)).passage_id
    found: Any = await KINDS[kind].meant(db, digits, agent=agent)
    one: UUID = found.row.fact_id if kind == "fact" else getattr(found, f"{kind}_id")
    return one
