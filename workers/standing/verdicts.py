"""What an answer is worth: it is held against the guard and against what an attribute can hold, and only then relates two facts.

A mind's "same" never overrides another number, date, unit, role or a negation: the two are then compatible. Attributes that hold many
values at once are never updated. "Unsure" relates nothing.
"""

from collections.abc import Collection
from datetime import datetime

from nous.guard import agree
from nous.text import normalise
from store import relations
from store.answers import Answer
from store.relations import CONFLICTING, MERGING, Kind, Relation

from .counsel import Matter

# fmt: off
MANY_VALUED = frozenset({
    "language", "languages", "speaks", "pet", "pets", "hobby", "hobbies", "interest", "interests", "likes", "dislikes", "favorite",
    "favorites", "skill", "skills", "allergy", "allergies", "child", "children", "sibling", "siblings", "friend", "friends", "owns",
    "visited", "books", "movies", "tool", "tools", "tag", "tags", "member", "members", "certification", "certifications", "goal",
    "goals", "project", "projects", "dependency", "dependencies",
})
# fmt: on


def related(matter: Matter, answer: Answer, *, event_id: str, now: datetime, many_valued: Collection[str]) -> Relation | None:
    """The relation that follows from an answer; None for "unsure"."""
    if answer.relation == "unsure":
        return None
    kind, reason = _held(matter, answer, many_valued)
    agent, low, high = relations.pair(*matter.key)
    return Relation(
        agent_id=agent,
        low_key=low,
        high_key=high,
        relation=kind,
        richer_key=_richer(matter, answer) if kind == "refines" else None,
        decided_by="mind",
        model=answer.model,
        prompt=answer.prompt,
        reason=reason,
        event_id=event_id,
        recorded_at=now,
    )


def _held(matter: Matter, answer: Answer, many_valued: Collection[str]) -> tuple[Kind, str]:
    said: Kind = answer.relation  # type: ignore[assignment]
    if said in MERGING and (against := _guarded(matter, said)):
        return "compatible", f"the mind said {said}, but {against}"
    if said in CONFLICTING and (attribute := _many_valued(matter, many_valued)):
        return "compatible", f"the mind said {said}, but {attribute!r} may hold many values at once"
    return said, answer.reason


def _guarded(matter: Matter, said: Kind) -> str:
    """What of the guard's findings forbids to merge. What only one of two texts has may be what refines the other."""
    decisive = agree(matter.older.wording, matter.newer.wording).decisive
    if said == "refines":
        decisive = tuple(one for one in decisive if (one.old and one.new) or one.kind in ("negation", "role"))
    return "; ".join(map(str, decisive))


def _many_valued(matter: Matter, more: Collection[str]) -> str:
    known = MANY_VALUED | {_name(name) for name in more}
    stated = [attribute for attribute in (matter.older.attribute, matter.newer.attribute) if attribute]
    return next((attribute for attribute in stated if _name(attribute) in known), "")


def _name(attribute: str) -> str:
    return normalise(attribute).replace("_", " ").replace("-", " ")


def _richer(matter: Matter, answer: Answer) -> bytes:
    return matter.older.text_key if answer.richer == "older" else matter.newer.text_key
