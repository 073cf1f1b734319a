"""Conversations, turn by turn: what is remembered before a turn, what the answer drew on after it, and their end.

    POST /v1/sessions/{id}/turns                    the user's words kept ─▶ what bears on them ─▶ context, ids, censors
    POST /v1/sessions/{id}/turns/{turn}/result      the answer kept ─▶ compared with what the turn was told ─▶ memory_referenced
    POST /v1/sessions/{id}/end                      closed, and a summary follows; or put aside

Told again under the same turn id, nothing is kept or counted twice. The events that tell of it are committed with it, and published by a
running worker where this process was stopped before.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Path
from pydantic import Field

from events import Event, ReferencedMemory
from nous import clock, ids
from nous.aside import aside
from recall import plans, reported, sessions, using
from recall.remembering import Remembered, remember
from recall.repeated import UTTERANCES_OF_A_TURN
from recall.vectors import one_allowance
from store import outbox, served
from store import sessions as kept
from store.outbox import Letter
from store.served import Line, Serving
from store.sessions import Session

from . import paths, shapes, telling
from .problems import Problem, nothing
from .service import Service
from .shapes import Budget, Context, Frame, Given, Taken, When, Words
from .who import Agent, TheService

router = APIRouter(tags=["sessions"])

BEGINS = "POST /v1/sessions/{session_id}/turns begins one, and its answer names it in `turn`"

SessionId = Annotated[str, paths.WHOLE, Path(description="The conversation, by your own id.", max_length=reported.ID_CHARACTERS)]
TurnId = Annotated[str, paths.WHOLE, Path(description="The turn, as `turn` of its beginning named it.", max_length=reported.ID_CHARACTERS)]


class Turn(Taken):
    """A turn that begins."""

    user: Words = Field(description="What the user said.")
    turn: str | None = Field(
        default=None, max_length=reported.ID_CHARACTERS, description="Your own id of the turn; send one if you retry. Given when absent."
    )
    at: When | None = Field(default=None, description="When it was said; now when absent.")
    frame: Frame | None = Field(default=None, description="The frame; told by the words if absent.")
    budget: Budget | None = Field(default=None, description="Most tokens of the context; the frame's own if absent.")
    explain: bool = Field(default=False, description="Tell every factor, and for what was not told the gate that dropped it.")


class Begun(Context):
    """What is remembered for a turn, and where its session stands."""

    session_id: str
    turn: str = Field(description="The turn's id, for its result.")
    episode_id: UUID | None = Field(description="The episode the session became, once it is worth one.")


class Result(Taken):
    """How a turn ended."""

    assistant: Words = Field(description="What was answered.")
    tools: tuple[str, ...] = Field(default=(), max_length=1_000, description="The tools that were used, by name.")
    cited: tuple[str, ...] = Field(
        default=(), max_length=1_000, description="Handles or ids of memories that were used, beside those in the answer."
    )
    at: When | None = Field(default=None, description="When it was said; now when absent.")


class Reference(Given):
    """A memory that an answer drew on."""

    kind: str
    id: UUID
    how: str = Field(description="cited: its id was named; overlap: its words were said.")
    overlap: float | None

    @classmethod
    def of(cls, one: ReferencedMemory) -> "Reference":
        """As it was recognised."""
        return cls(**one.model_dump())


class Ended(Given):
    """A turn that has ended."""

    session_id: str
    turn: str
    turn_count: int
    episode_id: UUID | None
    referenced: tuple[Reference, ...] = Field(description="What the answer drew on, of what the turn was told.")
    unknown_citations: tuple[str, ...] = Field(description="Handles and ids that were cited, and name nothing this turn was told.")


class End(Taken):
    """How a session ends."""

    reflection: Words | None = Field(default=None, description="What was learned from it; the first 500 characters are kept.")
    outcome: str | None = Field(default=None, description="How it ended; success when absent.")
    at: When | None = Field(default=None, description="When it ended; now when absent.")


class Closed(Given):
    """A session that has ended, and what became of it."""

    session_id: str
    became: str = Field(description="What the end made of its episode, as docs/api.md lists it.")
    episode_id: UUID | None


@router.post("/v1/sessions/{session_id}/turns", response_model=Begun)
async def begin(session_id: SessionId, turn: Turn, agent: Agent, service: TheService) -> Begun:
    """A turn begins: keep what the user said, and give what is remembered that bears on it.

    Each censor that applies is published as `censor_triggered`, and `is_blocked` says whether one stops the turn.
    """
    turn_id = turn.turn or str(ids.new())
    with one_allowance(service.settings.recall_patience_s):
        session = await sessions.start_turn(service.recall, agent, session_id, turn.user, at=turn.at, turn_id=turn_id, frame=turn.frame)
        before = await _conversation(service, session, turn_id)
        remembered = await remember(
            service.recall, agent, turn.user, conversation=before, frame=turn.frame, budget=turn.budget, explain=turn.explain
        )
    recall_id = ids.derived("recall", agent, str(session.session_key), turn_id)
    events = telling.recalled(agent, recall_id, remembered, session_id=session_id, turn=turn_id)
    await telling.send(service, await _keep_served(service, session, turn_id, recall_id, remembered, events))
    return Begun(**shapes.told(recall_id, remembered), session_id=session_id, turn=turn_id, episode_id=session.episode_id)


@router.post("/v1/sessions/{session_id}/turns/{turn}/result", response_model=Ended)
async def result(session_id: SessionId, turn: TurnId, how: Result, agent: Agent, service: TheService) -> Ended:
    """A turn has ended: keep what was answered, and count what it drew on, of what the turn was told. Harmless to say again.

    404 for a turn that nobody began. One that began before its session ended is answered there, and the session is closed again with it.
    """
    reported.require_ids(agent, session_id, turn)
    async with service.database.read([agent]) as db:
        if await kept.begun_in(db, agent, session_id, turn) is None:
            raise Problem(404, f"no turn of that id was begun in that session, so nothing was kept; {BEGINS}")
        serving = await served.get(db, agent, session_id, turn)
        lines = await served.lines(db, agent, serving.memories) if serving else {}
    comparison, unknown = await aside(len(how.assistant) + sum(map(len, how.cited)), _compared, serving, lines, how)
    letters = [outbox.letter(one) for one in telling.referenced(agent, serving.recall_id, comparison)] if serving else []
    session = await sessions.end_turn(
        service.recall, agent, session_id, how.assistant, used=how.tools, at=how.at, turn_id=turn, letters=letters
    )
    await telling.send(service, letters)
    return Ended(
        session_id=session_id,
        turn=turn,
        turn_count=session.turn_count,
        episode_id=session.episode_id,
        referenced=tuple(Reference.of(one) for one in comparison.drawn_on),
        unknown_citations=unknown,
    )


def _compared(serving: Serving | None, lines: Mapping[tuple[str, UUID], Line], how: Result) -> tuple[using.Comparison, tuple[str, ...]]:
    """What the answer drew on, and what it cites that its turn was not told."""
    if serving is None:
        return using.Comparison(), using.not_understood((), how.assistant, cited=how.cited)
    return (
        using.compared(serving, lines, how.assistant, cited=how.cited),
        using.not_understood(serving.memories, how.assistant, cited=how.cited),
    )


NOTHING_SAID = End()


@router.post("/v1/sessions/{session_id}/end", response_model=Closed)
async def end(session_id: SessionId, agent: Agent, service: TheService, how: Annotated[End, Body()] = NOTHING_SAID) -> Closed:
    """The session is over: its episode is closed and a summary follows, or it was too little and is put aside. Harmless to say again."""
    reported.require_ids(agent, session_id)
    async with service.database.read([agent]) as db:
        if await kept.latest(db, agent, session_id) is None:
            raise nothing("session")
    ended = await sessions.end_session(service.recall, agent, session_id, reflection=how.reflection, outcome=how.outcome, at=how.at)
    await telling.send(service, ended.letters)
    return Closed(session_id=session_id, became=ended.became, episode_id=ended.episode.episode_id if ended.episode else None)


async def _conversation(service: Service, session: Session, turn_id: str) -> list[str]:
    """What was said before this turn, the last utterance last; of a turn that is told again too."""
    furthest = plans.furthest_window(plans.overrides(service.recall.settings.recall_plans, session.agent_id))
    looked_back = UTTERANCES_OF_A_TURN * (furthest + 1)  # one more, for the turn itself
    async with service.database.read([session.agent_id]) as db:
        said = await kept.turns(db, session.agent_id, session.session_key, last=looked_back)
    before = [one.content for one in said]
    again = next((at for at, one in enumerate(said) if one.turn_id == turn_id), len(said))
    return before[:again]


async def _keep_served(
    service: Service, session: Session, turn_id: str, recall_id: UUID, remembered: Remembered, events: Sequence[Event]
) -> list[Letter]:
    """Keep what the turn was told, for its result, and with it the events that tell of that, which are given to be sent.

    The agent's lock is not needed: only this turn's row is written.
    """
    letters = [outbox.letter(one) for one in events]
    told = tuple(served.Named(one.kind, one.memory_id, one.handle) for one in remembered.memories)
    async with service.database.notes([session.agent_id]) as db:
        await served.put(db, session.agent_id, session.session_key, turn_id, Serving(recall_id, told))
        await outbox.insert(db, letters, now=clock.now())
    return letters
