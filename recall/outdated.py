"""What was said and is no longer so, as recall tells it: word for word, with a mark before it, so that no reader takes it for true.

    User: I live in Oslo.   the fact it was learned as was retired by another
    ─▶ User: (no longer so; since then: Maria lives in Bergen) I live in Oslo.

The mark stands before the words: a line that is cut for want of room may lose the words, and never the mark alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from store import outdated, spans
from store.outdated import Outdated

from .asking import Asked
from .ranking import Ranked
from .sentences import sentences
from .tools import Tools

MARK = "no longer so"
SAID = frozenset({"episode", "passage"})
"""The kinds of memories that keep what was said as it was said."""
LONGEST_INSTEAD = 200
"""Characters of what is true instead that a mark tells."""


async def of(tools: Tools, asked: Asked, chosen: Sequence[Ranked]) -> "Gone":
    """What is no longer so of what these episodes, and passages of episodes, say."""
    said = [one.found for one in chosen if one.found.kind in SAID]
    if not said:
        return Gone()
    episodes = {one.episode_id for one in said if one.episode_id}
    async with tools.database.read([asked.agent]) as db:
        learned = await outdated.of_episodes(db, asked.agent, episodes, as_of=asked.as_of)
        worded = await outdated.in_text(db, asked.agent, "\n".join(one.text for one in said), as_of=asked.as_of)
    return Gone(tuple(learned), tuple(worded))


@dataclass(frozen=True)
class Gone:
    """What is no longer so: what was `learned` in episodes, and facts that stand somewhere in their own `worded` form."""

    learned: tuple[Outdated, ...] = ()
    worded: tuple[Outdated, ...] = ()

    def in_episode(self, episode: UUID) -> list[Outdated]:
        """What is no longer so of what this episode says."""
        return [*(one for one in self.learned if one.episode_id == episode), *self.worded]


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
