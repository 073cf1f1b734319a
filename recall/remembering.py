"""Remembering: a question read, what bears on it found and ranked, what was just said left out, the rest fitted and told.

    question ──read───▶ frame, signals, plan, vectors      asking.py: no model judges, no transaction is open; without an embedder by words
             ──look───▶ found, ranked, the censors         looking.py: one Read
             ──choose─▶ the best of each kind              choosing.py: without what was just said
             ──tell───▶ the text, and what is in it        telling.py: within the budget, in the fence
                        └─ room for none ─▶ how many there are, and what would do

Nothing is written: what was told and used is counted by events (events/usage.py). The same store, question and moment give the same text.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from store.search import Kind

from .asking import Asked, Wish, read
from .choosing import HARDLY, LIMIT, chosen
from .expanding import Expanded, expand
from .explaining import explained
from .framing import Frame
from .looking import Seen, look
from .matching import Match
from .plans import MOST_TOKENS, Overrides
from .ranking import Ranked, Weights
from .telling import Served, Told, tell
from .tools import Tools

__all__ = ["Expanded", "Match", "NoRoom", "Overrides", "Remembered", "Served", "Tools", "Weights", "expand", "remember"]

TOLD_IN_STEPS = 50
"""Tokens: to the next so many it is told what would do."""


@dataclass(frozen=True, slots=True)
class NoRoom:
    """That a budget of `budget` tokens has room for none of `count` memories that bear on the question; one of `enough` has for all."""

    count: int
    budget: int
    enough: int

    def __str__(self) -> str:
        bear = "1 memory bears" if self.count == 1 else f"{self.count} memories bear"
        none = "it" if self.count == 1 else "any of them"
        return f"{bear} on it, and a budget of {self.budget:,} tokens has no room for {none}; {self.enough:,} would do"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an agent gets back: the text, the memories in it in their order, and all censors that apply, whether or not there was room.

    `left_out` was found within the plan's limits as well, and is not told: said already, told by its passages, or no room. `tokens` is
    what the text is charged (tokens.counted). `degraded` says what recall had to do without. `explained` is there if asked for, and
    `no_room` when nothing is told for want of tokens alone.
    """

    text: str
    frame: Frame
    tokens: int
    memories: tuple[Served, ...] = ()
    left_out: tuple[tuple[Kind, UUID], ...] = ()
    censors: tuple[Match, ...] = ()
    is_blocked: bool = False
    degraded: str | None = None
    explained: Mapping[str, Any] | None = None
    no_room: NoRoom | None = None


async def remember(
    tools: Tools,
    agent: str,
    question: str,
    *,
    conversation: Sequence[str] = (),
    frame: str | None = None,
    budget: int | None = None,
    as_of: datetime | None = None,
    kinds: Collection[Kind] | None = None,
    explain: bool = False,
    weights: Weights | None = None,
    overrides: Overrides | None = None,
    otherwise: Frame = "conversation",
) -> Remembered:
    """What `agent` remembers that bears on this turn, as a text of at most `budget` tokens, the frame's own if absent.

    `conversation` is what was said before, utterance by utterance, the last one last; `frame` is told by the words if absent, and is
    `otherwise` where they tell none: "question" for what is put to memory alone, as a search for `Maria coffee` is, and then a frame's
    instructions are told only if it is named. With `as_of` (aware)
    what was true then is told.
    `kinds` are the only ones wanted, and an empty one wants nothing; `overrides` go over what NOUS_RECALL_PLANS says of the agent.
    Raises UserMistake for what cannot be meant, Misconfigured, Outage of Postgres (the embedder's is no error here) and Contended.
    """
    wish = Wish(frame=frame, otherwise=otherwise, budget=budget, as_of=as_of, kinds=kinds, overrides=overrides)
    asked = await read(tools, agent, question, conversation, wish)
    seen = await look(tools, asked, weights)
    best, gates = await chosen(tools, asked, seen.ranked)
    told = await tell(tools, asked, seen, best)
    served: dict[tuple[str, UUID], Served] = {(one.kind, one.memory_id): one for one in told.memories}
    return Remembered(
        text=told.text,
        frame=asked.plan.frame,
        tokens=told.tokens,
        memories=told.memories,
        left_out=tuple(key for key, why in (gates | told.left_out).items() if not why.startswith((LIMIT, HARDLY))),
        censors=seen.censors,
        is_blocked=any(match.is_blocking for match in seen.censors),
        degraded="; ".join(filter(None, (asked.doubt, seen.doubt))) or None,
        explained=explained(asked, seen, served, gates | told.left_out) if explain else None,
        no_room=await _no_room(tools, asked, seen, best) if told.left_out and not told.memories else None,
    )


async def _no_room(tools: Tools, asked: Asked, seen: Seen, best: Sequence[Ranked]) -> NoRoom | None:
    """What a budget without bounds would tell, where the plan has room for it at all."""

    async def within(tokens: int) -> Told:
        return await tell(tools, replace(asked, plan=replace(asked.plan, tokens=tokens)), seen, best)

    all_of_it = await within(MOST_TOKENS)
    if not all_of_it.memories:
        return None
    enough = (all_of_it.tokens // TOLD_IN_STEPS + 1) * TOLD_IN_STEPS
    while enough < MOST_TOKENS and len((await within(enough)).memories) < len(all_of_it.memories):
        enough += TOLD_IN_STEPS  # lines by themselves may take a little more than together
    return NoRoom(len(all_of_it.memories), asked.plan.tokens, min(enough, MOST_TOKENS))
