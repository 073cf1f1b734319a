"""What was said and is no longer so, as recall tells it: word for word, with a mark before it, so that no reader takes it for true.

    User: I live in Oslo.   the fact it was learned as was retired by another
    ─▶ User: (no longer so; since then: Maria lives in Bergen) I live in Oslo.

The mark stands before the words: a line that is cut for want of room may lose the words, and never the mark alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from store import outdated, spans
from store.outdated import Outdated

from .asking import Asked
from .ranking import Ranked
from .sentences import sentences
from .tools import Tools

MARK = "no longer so"
LONGEST_INSTEAD = 200
"""Characters of what is true instead that a mark tells."""


async def of(tools: Tools, asked: Asked, chosen: Sequence[Ranked]) -> Mapping[UUID, Sequence[Outdated]]:
    """By episode, what was said there and is no longer so, of the episodes that these are, or are passages of."""
    told = {one.found.episode_id for one in chosen if one.found.kind in {"episode", "passage"} and one.found.episode_id}
    if not told:
        return {}
    async with tools.database.read([asked.agent]) as db:
        return by_episode(await outdated.of_episodes(db, asked.agent, told, as_of=asked.as_of))


def by_episode(found: Iterable[Outdated]) -> Mapping[UUID, Sequence[Outdated]]:
    """The same, by episode."""
    grouped: dict[UUID, list[Outdated]] = {}
    for one in found:
        grouped.setdefault(one.episode_id, []).append(one)
    return grouped


def marked(text: str, gone: Sequence[Outdated]) -> str:
    """The text with a mark before whatever in it is no longer so."""
    marks: dict[int, dict[str, None]] = {}
    for one in gone:
        for start, _ in _where(text, one):
            marks.setdefault(start, {})[_mark(one)] = None
    kept, at = [], 0
    for start in sorted(marks):
        kept += [text[at:start], *marks[start]]
        at = start
    return "".join([*kept, text[at:]])


def _where(text: str, one: Outdated) -> list[spans.Span]:
    """Where it stands in the text; where a passage ends within what was quoted, each sentence of that."""
    return spans.found(text, one.wordings) or spans.found(text, [said for wording in one.wordings for said in sentences(wording)])


def _mark(one: Outdated) -> str:
    if one.instead is None:
        return f"({MARK}) "
    instead = one.instead if len(one.instead) <= LONGEST_INSTEAD else f"{one.instead[:LONGEST_INSTEAD]}…"
    return f"({MARK}; since then: {instead}) "
