"""Which memory a model means by an id: whole, or as recall tells it, the letter of its kind and the beginning (f-5b0f0d3e).

    f- fact   e- episode   d- decision   p- procedure   t- passage   c- censor

An id of another agent's is the id of nothing, in the same words.
"""

import re
from typing import Any
from uuid import UUID

from nous.errors import UserMistake
from nous.stories import ids_meant, kinds
from nous.stories.ids_meant import NothingMeant
from store import passages
from store.database import Read

KINDS = {"f": "fact", "e": "episode", "d": "decision", "p": "procedure", "t": "passage", "c": "censor"}
_HANDLE = re.compile(r"\[?([fedptc])-([0-9a-f]{6,32})\]?", re.IGNORECASE)


async def meant(db: Read, agent: str, written: str) -> UUID:
    """The id in full. Raises UserMistake for what is none, means nothing of this agent's, or fits several."""
    handle = _HANDLE.fullmatch(written.strip())
    if handle is None:
        return _whole(written)
    kind, digits = KINDS[handle[1].lower()], handle[2].lower()
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
