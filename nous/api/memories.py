"""One memory: what it is, all that stands behind it, and how it came to be so.

id, or handle ─▶ a fact (by any id it was published under), episode, decision, procedure, passage or censor of this agent ─▶ as it is kept
                   └─ of another agent, or of nobody: the same 404
"""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field

from events import MemoryKind
from events.wire import mended
from nous.stories import kinds
from nous.stories.ids_meant import NothingMeant, fact_meant
from nous.stories.memory_meant import memory_meant
from recall.plans import MOST_TOKENS
from recall.remembering import expand
from store import censors, decisions, episodes, passages, procedures
from store.database import Read

from . import shapes
from .paths import MemoryId
from .problems import Problem, meaning, nothing
from .shapes import Given
from .who import Agent, TheService

router = APIRouter(tags=["memories"])

Kind = MemoryKind | Literal["censor"]
INTERNAL = {"content_hash", "text_key", "words", "word_count"}
LONGEST_QUESTION = 8_000
MOST_LINES = 10**9
FEWEST_TOKENS = 1_000


class Kept(Given):
    """A memory as it is kept."""

    kind: Kind
    id: UUID
    now: UUID | None = Field(default=None, description="Of a fact that became part of another, or was retired: the other.")
    record: dict[str, Any] = Field(description="Every field of it.")


class Expanded(Given):
    """All that stands behind a memory, or what of it bears on a question."""

    kind: Kind
    id: UUID
    at: datetime
    lines: tuple[str, ...] = Field(description="All of it, line by line, or a page of that.")
    part: str | None = Field(description="What of it bears on the question, of what is long.")
    text: str = Field(description="The same for a model, in the fence.")
    next_line: int | None = Field(default=None, description="Of what is longer than its budget: the `from_line` of the next page.")


class Explained(Given):
    """How a memory came to be so: what it comes from, what was found and decided, and what became of it."""

    id: UUID
    story: dict[str, Any]


@router.get("/v1/memories/{memory_id}", response_model=Kept)
async def get(memory_id: MemoryId, agent: Agent, service: TheService) -> Kept:
    """A memory of the agent, of whatever kind."""
    async with service.database.read([agent]) as db:
        return await _kept(db, agent, await _meant(db, agent, memory_id))


@router.get("/v1/memories/{memory_id}/expand", response_model=Expanded)
async def expanded(
    memory_id: MemoryId,
    agent: Agent,
    service: TheService,
    question: Annotated[str, Query(max_length=LONGEST_QUESTION, description="What of it is wanted; all of it when absent.")] = "",
    from_line: Annotated[int, Query(ge=1, le=MOST_LINES, description="Where the page begins: `next_line` of the one before.")] = 1,
    budget: Annotated[int, Query(ge=FEWEST_TOKENS, le=MOST_TOKENS, description="Most tokens of the page.")] = MOST_TOKENS,
) -> Expanded:
    """The full record of a memory, as text in the fence: data, never instructions. What is long comes in pages."""
    async with service.database.read([agent]) as db:
        kept = await _kept(db, agent, await _meant(db, agent, memory_id))
    if kept.kind == "censor":
        raise Problem(409, "a censor has nothing behind it: GET /v1/memories/{id} is all of it")
    found = await expand(service.recall, agent, kept.kind, kept.id, mended(question) or None, first=from_line, most_tokens=budget)
    return Expanded(
        kind=kept.kind,
        id=kept.id,
        at=found.at,
        lines=found.lines,
        part=found.part or None,
        text=found.text,
        next_line=found.last + 1 if found.last < found.of else None,
    )


@router.get("/v1/memories/{memory_id}/explain", response_model=Explained)
async def explained(memory_id: MemoryId, agent: Agent, service: TheService) -> Explained:
    """The story of a memory; of a passage, that of its episode."""
    async with service.database.read([agent]) as db:
        kind, one = whose_story(await _kept(db, agent, await _meant(db, agent, memory_id)))
        story = await kinds.story_of(db, kind, str(one), agent=agent)
    return Explained(id=one, story=await asyncio.to_thread(lambda: shapes.plain(story.as_data())))


def whose_story(kept: Kept) -> tuple[Kind, UUID]:
    """The memory whose story tells how this one came to be: a passage has none but its episode's."""
    return ("episode", UUID(kept.record["episode_id"])) if kept.kind == "passage" else (kept.kind, kept.id)


async def _kept(db: Read, agent: str, memory_id: UUID) -> Kept:
    """The memory of this id. Raises Problem 404."""
    found = await _fact(db, agent, memory_id) or await _other(db, agent, memory_id)
    if found is None:
        raise nothing("memory")
    return found


async def _meant(db: Read, agent: str, written: str) -> UUID:
    """The id in full. Raises Problem 404 and 409; NotAnId."""
    with meaning("memory"):
        return await memory_meant(db, agent, written)


async def _fact(db: Read, agent: str, memory_id: UUID) -> Kept | None:
    """The fact of this id, its own or one it was published under; not one that was forgotten."""
    try:
        meant = await fact_meant(db, str(memory_id), agent=agent)
    except NothingMeant:
        return None
    if meant.row.forgotten_at:
        return None
    now = meant.row.merged_into or meant.row.superseded_by
    return Kept(kind="fact", id=meant.row.fact_id, now=now, record=_record(meant.row))


async def _other(db: Read, agent: str, memory_id: UUID) -> Kept | None:
    key = (agent, memory_id)
    rows: dict[Kind, Any] = {
        "episode": await episodes.get(db, agent, memory_id),
        "decision": await decisions.get(db, agent, memory_id),
        "procedure": await procedures.get(db, agent, memory_id),
        "passage": (await passages.by_key(db, [key])).get(key),
        "censor": await censors.get(db, agent, memory_id),
    }
    return next((Kept(kind=kind, id=memory_id, record=_record(row)) for kind, row in rows.items() if row is not None), None)


def _record(row: Any) -> dict[str, Any]:
    said: dict[str, Any] = shapes.plain({name: value for name, value in vars(row).items() if name not in INTERNAL})
    return said
