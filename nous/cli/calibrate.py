"""`nous calibrate`: fit what ranking goes by to questions whose answers are known, and keep it with its date and figures if asked to.

{"agent_id": "...", "question": "...", "relevant": ["id", ...]}, a line each ──▶ searched as recall does ──▶ fitted ──▶ told, or kept
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

import providers
from nous import clock
from nous.errors import UserMistake
from nous.settings import Settings
from nous.terms import terms
from recall.calibrating import CalibratedRanking, Figures, JudgedQuestion, calibrated_ranking
from recall.ranking import Weights
from store import embedders, mentions, weights
from store.database import Database, Read
from store.embedders import Registered
from store.search import KINDS, search
from store.vectors import Vector
from store.weights import EVERYBODY, FittedWeights

from . import labelled, lines, place, screen

LEAST_QUESTIONS = 20
"""Of fewer, one question more or less moves the figures by more than a weight does."""


class Line(BaseModel):
    """One line of a file of questions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    relevant: list[UUID] = Field(min_length=1)


@dataclass(frozen=True)
class Told:
    """What came of it."""

    agent: str | None
    start: Weights
    made: CalibratedRanking
    is_applied: bool


async def run(settings: Settings, file: str, *, agent: str | None, applies: bool, is_json: bool) -> bool:
    """Fit and tell; with `applies` keep it, for `agent` or for all. Whether it is worth taking. Raises UserMistake."""
    asked = [one for one in questions(file) if agent in (None, one.agent_id)]
    if len(asked) < LEAST_QUESTIONS:
        whose = f" of agent {agent}" if agent else ""
        raise UserMistake(f"{lines.called(file)} has {len(asked)} questions{whose}, and {LEAST_QUESTIONS} are the least to fit on")
    async with place.database(settings) as database:
        start = await _in_force(database, agent or EVERYBODY)
        made = calibrated_ranking(await _judged(settings, database, asked), start)
        is_applied = applies and made.is_better
        if is_applied:
            await _keep(database, agent or EVERYBODY, made)
    _tell(Told(agent, start, made, is_applied), applies=applies, is_json=is_json)
    return made.is_better or not applies


def questions(file: str) -> list[Line]:
    """The questions of a file. Raises UserMistake naming the line that is none."""
    return labelled.of_file(file, Line, "question")


async def _in_force(database: Database, agent: str) -> Weights:
    async with database.read([agent]) as db:
        found = await weights.of(db, agent)
    return Weights.of(found.weights) if found else Weights()


async def _judged(settings: Settings, database: Database, asked: Sequence[Line]) -> list[JudgedQuestion]:
    embedder = providers.unfitted(settings)
    async with database.overview() as db:
        registered = await embedders.active(db)
    await embedder.open()
    try:
        embedders.require(registered, name=embedder.name, dimension=embedder.dimension)
        vectors = await embedder.embed([one.question for one in asked])
    finally:
        await embedder.close()
    judged = []
    for one, vector in zip(asked, vectors, strict=True):
        async with database.read([one.agent_id]) as db:
            judged.append(await _found(db, one, vector, registered))
    return judged


async def _found(db: Read, one: Line, vector: Vector, registered: Registered) -> JudgedQuestion:
    said = terms(one.question)
    found = await search(db, one.agent_id, KINDS, vector=vector, embedder=registered, terms=said)
    became = {fact for published in one.relevant for _, fact in await mentions.resolve(db, published)}
    return JudgedQuestion(tuple(found), frozenset({*one.relevant, *became}), len(set(said)), clock.now())


async def _keep(database: Database, agent: str, made: CalibratedRanking) -> None:
    figures = {name: asdict(getattr(made, name)) for name in ("before", "after", "unseen_before", "unseen_after")}
    async with database.write([agent]) as db:
        await weights.put(db, FittedWeights(agent, asdict(made.weights), figures, made.after.questions, clock.now()))


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _tell(told: Told, *, applies: bool, is_json: bool) -> None:
    made = told.made
    if is_json:
        screen.emit(
            {
                "agent": told.agent,
                "before": asdict(told.start),
                "weights": asdict(made.weights),
                "figures": {name: asdict(getattr(made, name)) for name in ("before", "after", "unseen_before", "unseen_after")},
                "better": made.is_better,
                "applied": told.is_applied,
            }
        )
        return
    names = ("first is right", "of the first three", "reciprocal rank", "found at all")
    table = screen.table("", *names, right=names)
    for name, one in {
        "as it is": made.before,
        "fitted": made.after,
        "as it is, halves": made.unseen_before,
        "fitted on the other half": made.unseen_after,
    }.items():
        table.add_row(name, *_shown(one))
    screen.print_list(table)
    changed = {name: value for name, value in asdict(made.weights).items() if value != getattr(told.start, name)}
    screen.say(
        "weights: " + (", ".join(f"{name} {getattr(told.start, name):g} to {value:g}" for name, value in changed.items()) or "as they are")
    )
    screen.say(_verdict(told, applies=applies))


def _shown(one: Figures) -> list[str]:
    return [f"{value:.3f}" for value in (one.p_at_1, one.p_at_3, one.mrr, one.found)]


def _verdict(told: Told, *, applies: bool) -> str:
    whose = f"agent {told.agent}" if told.agent else "every agent without weights of its own"
    if told.is_applied:
        undo = f"{place.command()} calibrate --reset{f' --agent {told.agent}' if told.agent else ''}"
        return f"kept for {whose}; ranking goes by them from now on; undone by: {undo}"
    if not told.made.is_better:
        return "not worth taking: what was fitted on one half is no better on the other, so these questions do not tell more than is known"
    return "nothing was changed" + ("" if applies else f"; --apply keeps them for {whose}")
