"""What is told of what was chosen: the part of what is long, as much as the budget holds, and the text, held against a real tokenizer.

chosen ─▶ lines, with the part that is to the point ─▶ fitted ─▶ assembled ─▶ counted ─┬─ within the budget ─▶ told
                                                                  ▲                  └─ over it ─▶ the last line is let go of
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate, takewhile
from uuid import UUID

from nous.settings import Settings
from store.search import Kind

from . import assembling, fitting, frames, outdated, parts, tokens
from .asking import Asked
from .assembling import Line
from .choosing import Gates
from .fitting import Cost
from .handles import handles
from .looking import Seen
from .matching import Match
from .plans import SECTION_OF, Section
from .ranking import Ranked
from .tools import Tools

TODAY = timedelta(days=1)
"""What is younger is told with its time: of two claims of one day the newer one must be seen."""

BY_HOW_MUCH_IT_IS_OFF = 4
"""An approximate count may be so many times the real one, or the fourth part of it."""

INSTRUCTIONS_SHARE = 3
"""The instructions of a frame may take a third of the budget; where they would take more, they are left out."""


@dataclass(frozen=True, slots=True)
class Served:
    """A memory that is told. `handle` is its id in the text, `similarity` its plain cosine with the question beside the final `score`."""

    kind: Kind
    memory_id: UUID
    section: Section
    handle: str
    text: str
    tokens: int
    at: datetime
    provenance: str
    confidence: float
    similarity: float | None
    score: float
    episode_id: UUID | None
    subject: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """The text, what it takes, the memories in it as they stand there, and what there was no room for."""

    text: str
    tokens: int
    memories: tuple[Served, ...]
    left_out: Gates


async def tell(tools: Tools, asked: Asked, seen: Seen, chosen: Sequence[Ranked]) -> Told:
    """Tell what was chosen, the best first, within the plan's budget: never a token more."""
    margin, budget = tools.settings.recall_token_margin, asked.plan.tokens

    def cost(text: str) -> int:
        return tokens.counted(text, margin=margin)

    censors = _affordable(seen.censors, budget, cost)
    instructions = _instructions(asked, tools.settings, (budget - cost(assembling.assembled(censors, "", []))) // INSTRUCTIONS_SHARE, cost)
    frame = assembling.assembled(censors, instructions, []), assembling.empty_memory()
    lines = await _lines(tools, asked, seen, chosen)
    fits = fitting.fitted(
        lines,
        tokens=budget - sum(map(cost, frame)),
        sections=asked.plan.sections,
        cost=lambda text: cost(f"| {text}\n"),
        beginning=lambda text, most: tokens.fitting(text, most, margin=margin),
    )
    told = [line for line, _ in fits.told]
    left_out: Gates = {(line.kind, line.memory_id): why for line, why in fits.left_out}
    text = assembling.assembled(censors, instructions, told)
    while told and cost(text) > budget:  # the parts of a text may be fewer tokens than the whole
        line = told.pop()
        left_out[line.kind, line.memory_id] = f"budget: the whole would take {cost(text)} tokens of {budget}"
        text = assembling.assembled(censors, instructions, told)
    prices, ranked = dict.fromkeys(told, 0) | dict(fits.told), {one.found.key: one for one in chosen}
    served = [_served(line, prices[line], ranked[line.kind, line.memory_id]) for line in assembling.in_order(told)]
    return Told(text, cost(text), tuple(served), left_out)


def _affordable(censors: Sequence[Match], budget: int, cost: Cost) -> list[Match]:
    """As many of the censors as there is room for, the gravest first; all of them are in the answer beside the text.

    Counted for halves of halves: there may be ten thousand, and to count all of them again for each one less took minutes.
    """
    about = accumulate(tokens.approximate(f"{one.censor.trigger_pattern} {one.censor.reason}") for one in censors)
    most = sum(1 for _ in takewhile(lambda so_far: so_far <= BY_HOW_MUCH_IT_IS_OFF * budget, about))
    fits = bisect_right(range(1, most + 1), budget, key=lambda count: cost(assembling.assembled(censors[:count], "", [])))
    return list(censors[:fits])


def _instructions(asked: Asked, settings: Settings, room: int, cost: Cost) -> str:
    """The instructions of the frame, where there are any and they leave room for memories."""
    if not asked.plan.has_instructions or asked.plan.frame not in frames.names(settings.frames_folder):
        return ""
    told = frames.instructions(asked.plan.frame, folder=settings.frames_folder)
    return told if cost(told) <= room else ""


async def _lines(tools: Tools, asked: Asked, seen: Seen, chosen: Sequence[Ranked]) -> list[Line]:
    """Each memory as a line, with the part that is to the point where it is long, and a mark on what is no longer so."""
    named = handles([one.found.key for one in chosen])
    held = {one.found.episode_id for one in chosen if one.found.kind == "passage"}
    gone = await outdated.of(tools, asked, chosen)
    keys = [one.found.key for one in chosen if one.found.memory_id not in held]
    long = [key for key in keys if key in seen.details]  # of an episode in `held` passages are told anyway
    made = await parts.all_parts(tools, asked.agent, [seen.details[key] for key in long], asked.own, asked.vector)
    part_of = dict(zip(long, made, strict=True))
    lines = []
    for one in chosen:
        found = one.found
        text = found.text
        if part := part_of.get(found.key):
            text = f"{text} — {part}"
        if found.kind in outdated.SAID and found.episode_id:
            text = outdated.marked(text, gone.in_episode(found.episode_id))
        lines.append(
            Line(
                kind=found.kind,
                memory_id=found.memory_id,
                section=SECTION_OF[found.kind],
                handle=named[found.kind, found.memory_id],
                text=assembling.harmless(text),
                at=found.at,
                provenance=found.provenance,
                confidence=found.confidence,
                of_today=timedelta(0) <= asked.now - found.at < TODAY,
            )
        )
    return lines


def _served(line: Line, price: int, one: Ranked) -> Served:
    return Served(
        kind=line.kind,
        memory_id=line.memory_id,
        section=line.section,
        handle=line.handle,
        text=line.text,
        tokens=price,
        at=line.at,
        provenance=line.provenance,
        confidence=line.confidence,
        similarity=one.found.similarity,
        score=one.score,
        episode_id=one.found.episode_id,
        subject=one.found.subject,
    )
