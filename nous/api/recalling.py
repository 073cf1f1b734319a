"""Recall without a session: a question, and what is remembered that bears on it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field

from events import MemoryKind
from nous import ids
from recall.remembering import remember
from recall.vectors import one_allowance

from . import shapes, telling
from .shapes import Budget, Context, Frame, Taken, When, Words
from .who import Agent, TheService

router = APIRouter(tags=["recall"])

MOST_TURNS = 64


class Question(Taken):
    """What is asked of memory."""

    question: Annotated[Words, shapes.Asking]
    conversation: tuple[Words, ...] = Field(default=(), max_length=MOST_TURNS, description="What was just said, the last utterance last.")
    frame: Frame | None = Field(default=None, description="The frame; told by the words if absent.")
    budget: Budget | None = Field(default=None, description="Most tokens of the context; the frame's own if absent.")
    as_of: When | None = Field(default=None, description="What was true then, instead of now; a date alone is its midnight in UTC.")
    kinds: tuple[MemoryKind, ...] | None = Field(default=None, description="The only kinds wanted; an empty list finds nothing.")
    explain: bool = Field(default=False, description="Tell every factor, and for what was not told the gate that dropped it.")
    recall_id: UUID | None = Field(default=None, description="An id of your own: asked again under it, use and censors are counted once.")


@router.post("/v1/recall", response_model=Context)
async def recall(asked: Question, agent: Agent, service: TheService) -> Context:
    """What is remembered that bears on a question. Each censor it meets is published as `censor_triggered`."""
    with one_allowance(service.settings.recall_patience_s):
        remembered = await remember(
            service.recall,
            agent,
            asked.question,
            conversation=asked.conversation,
            frame=asked.frame,
            budget=asked.budget,
            as_of=asked.as_of,
            kinds=asked.kinds,
            explain=asked.explain,
            otherwise="question",
        )
    recall_id = asked.recall_id or ids.new()
    await telling.publish(service, telling.recalled(agent, recall_id, remembered, is_past=asked.as_of is not None))
    return Context(**shapes.told(recall_id, remembered))
