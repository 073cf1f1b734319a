"""Which memory a model means by an id: whole, or the handle by which recall tells it (recall/handles.py).

    f-5b0f0d3e ─▶ fact, 5b0f0d3e ─▶ the one fact of this agent whose id begins so
    5b0f0d3e-… ─▶ whole

An id of another agent's is the id of nothing, in the same words.
"""

from typing import Any
from uuid import UUID

from nous.errors import UserMistake
from nous.stories import ids_meant, kinds
from nous.stories.ids_meant import NothingMeant
from recall import handles
from store import passages
from store.database import Read


async def meant(db: Read, agent: str, written: str) -> UUID:
    """The id in full. Raises UserMistake for what is none, means nothing of this agent's, or fits several."""
    named = handles.read(written)
    if named is None:
        return _whole(written)
    kind, digits = named
    try:
        return await (_passage(db, agent, digits) if kind == "passage" else _of_kind(db, agent, kind, digits))
    except NothingMeant:
        raise UserMistake(f"there is no memory {written.strip()!r}; the ids are those that recall tells, such as f-5b0f0d3e") from None


def _whole(written: str) -> UUID:
    try:
        return UUID(written.strip().strip("[]"))
    except ValueError:
        raise UserMistake(
            f"{written.strip()[:80]!r} is not an id; send one as recall tells it, such as f-5b0f0d3e, or a whole UUID"
        ) from None


async def _of_kind(db: Read, agent: str, kind: str, digits: str) -> UUID:
    found: Any = await kinds.KINDS[kind].meant(db, digits, agent=agent)
    one: UUID = found.row.fact_id if kind == "fact" else getattr(found, f"{kind}_id")
    return one


async def _passage(db: Read, agent: str, digits: str) -> UUID:
    span = ids_meant.spanned(digits)
    found = {(agent, one): one for one in await passages.within(db, agent, span.first, span.last, limit=ids_meant.MOST)}
    return ids_meant.the_one(found, digits, noun="passage", agent=agent, shown_by="episodes")
