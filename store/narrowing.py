"""Narrowing: the few of an agent's vectors that can be nearest to one of many, each vector looked at once and not once for each.

    a page asks 256 times of one agent ─▶ its vectors, a thousand at a time ─▶ cosines with all that is asked, in one product of matrices
                                                 └─▶ for each question those no more than MARGIN behind its `limit` best ─▶ their ids

The product is of single precision and decides nothing: Postgres says how near those few are, by the statement that it would look at all of
them with, so the answer is the same to the last digit. At 50,000 facts that is a tenth of the time (docs/scale.md). Agents of few
facts, and those who are asked little of, are not narrowed.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text
from threadpoolctl import ThreadpoolController

from .database import Read

MANY_ASKED, MANY_FACTS = 16, 1_000  # below either, statements that look at each vector for each question are as fast
AT_ONCE = 1_000  # vectors of one statement: 1 MB
MARGIN = 1e-4  # of cosine; single precision is off by a hundredth of that

_BLAS = ThreadpoolController()
"""Its threads wait for each other by turning round, which takes twice the time where cores are busy (measured); replicas use the cores."""

Matrix = NDArray[np.float32]
"""A row for each vector, each of length 1; one that has no direction is all zeros."""

Mask = NDArray[np.bool_]
"""A row for each question, a column for each fact: whether it may be an answer."""


@dataclass(frozen=True)
class Among:
    """Where to look: facts of one agent, and for each ranking which of those at some places may be an answer to each question."""

    agent: str
    facts: Sequence[UUID]
    rankings: Sequence[Callable[[slice], Mask]]

    def of(self, questions: NDArray[np.intp]) -> "Among":
        """The same for these questions alone."""
        return Among(self.agent, self.facts, [partial(_rows, one, questions) for one in self.rankings])


def _rows(ranking: Callable[[slice], Mask], questions: NDArray[np.intp], at: slice) -> Mask:
    return ranking(at)[questions]


async def large(db: Read, table: str, asked: Iterable[str]) -> set[str]:
    """Those of these agents that are asked of so often, and have so many facts, that narrowing pays."""
    often = [agent for agent, times in Counter(asked).items() if times >= MANY_ASKED]
    if not often:
        return set()
    rows = await db.execute(
        text(
            "SELECT q.agent_id FROM unnest(CAST(:agents AS text[])) AS q(agent_id)"
            f" CROSS JOIN LATERAL (SELECT count(*) AS facts FROM (SELECT FROM {table} v WHERE v.agent_id = q.agent_id LIMIT :many) first) n"
            " WHERE n.facts >= :many"
        ),
        {"agents": often, "many": MANY_FACTS},
    )
    return set(rows.scalars())


async def few(db: Read, table: str, among: Among, directions: Matrix, limit: int) -> list[list[UUID]]:
    """For each of `directions` the facts that can be among its `limit` nearest in one of the rankings."""
    tops = [_Top(len(directions), limit) for _ in among.rankings]
    for start in range(0, len(among.facts), AT_ONCE):
        at = slice(start, start + AT_ONCE)
        found, vectors = await directions_of(db, table, among.agent, among.facts[at])
        if not len(found):
            continue
        with _BLAS.limit(limits=1, user_api="blas"):
            cosines = directions @ vectors.T
        cosines[:, ~vectors.any(axis=1)] = -2  # Postgres has what has no direction behind all others
        for top, ranking in zip(tops, among.rankings, strict=True):
            is_wanted = ranking(at)[:, found]
            some = is_wanted.any(axis=0)
            if some.any():
                top.see(np.where(is_wanted[:, some], cosines[:, some], np.float32(-np.inf)), start + found[some])
    places: list[set[int]] = [set() for _ in directions]
    for top in tops:
        for question, place in top.kept():
            places[question].add(place)
    return [[among.facts[place] for place in sorted(ones)] for ones in places]


async def few_for(db: Read, table: str, among: Among, own: Sequence[UUID], limit: int) -> list[list[UUID]]:
    """As `few`, where the questions are facts of the agent's `own`; nothing for one that has no vector."""
    found, directions = await directions_of(db, table, among.agent, own)
    few_of: list[list[UUID]] = [[] for _ in own]
    if len(found):
        for place, ids in zip(found, await few(db, table, among.of(found), directions, limit), strict=True):
            few_of[place] = ids
    return few_of


class _Top:
    """The best of a ranking so far, for each question, and whatever comes within MARGIN of them."""

    def __init__(self, questions: int, limit: int) -> None:
        self._best = np.full((questions, limit), -np.inf, np.float32)
        self._seen: list[tuple[NDArray[np.intp], NDArray[np.intp], Matrix]] = []

    def see(self, cosines: Matrix, places: NDArray[np.intp]) -> None:
        """Facts at these places; -inf is no answer to a question."""
        limit = self._best.shape[1]
        self._best = np.partition(np.hstack([self._best, cosines]), -limit, axis=1)[:, -limit:]
        questions, columns = np.nonzero((cosines > -np.inf) & (cosines >= self._floor[:, None]))
        self._seen.append((questions, places[columns], cosines[questions, columns]))

    def kept(self) -> Iterable[tuple[int, int]]:
        """(question, place) of all that can be among the best."""
        for questions, places, cosines in self._seen:
            is_near = cosines >= self._floor[questions]
            yield from zip(questions[is_near].tolist(), places[is_near].tolist(), strict=True)

    @property
    def _floor(self) -> Matrix:
        floor: Matrix = self._best.min(axis=1) - np.float32(MARGIN)
        return floor


async def directions_of(db: Read, table: str, agent: str, facts: Collection[UUID]) -> tuple[NDArray[np.intp], Matrix]:
    """The directions of these facts' vectors, and of which of the facts they are, by place: one may have none."""
    rows = await db.execute(
        text(
            "SELECT array_agg(q.ord ORDER BY q.ord) AS places, string_agg(halfvec_send(v.vector), CAST('' AS bytea) ORDER BY q.ord) AS sent"
            " FROM unnest(CAST(:facts AS uuid[])) WITH ORDINALITY AS q(fact_id, ord) CROSS JOIN LATERAL"
            f" (SELECT one.vector FROM {table} one WHERE one.agent_id = :agent AND one.fact_id = q.fact_id OFFSET 0) v"
        ),
        {"agent": agent, "facts": list(facts)},
    )
    row = rows.one()
    if row.places is None:
        return np.empty(0, np.intp), np.empty((0, 0), np.float32)
    vectors = np.frombuffer(row.sent, ">f2").reshape(len(row.places), -1)[:, 2:].astype(np.float32)  # behind dimension and flags
    return np.array(row.places, np.intp) - 1, unit(vectors)


def unit(vectors: Sequence[Matrix] | Matrix) -> Matrix:
    """These, each at length 1."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
