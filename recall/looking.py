"""One look at the store: what was found, ranked, with the censors that apply and what stands behind long memories. One Read, no model.

search over all time ─┐
and, when the question names a time, within that time alone ─┴─▶ all of it; what lies outside the time counts a little less
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from store import censors, embedders, usage
from store import weights as fitted_weights
from store.database import Read
from store.embedders import Registered
from store.search import Found, search
from store.usage import Worth
from store.vectors import Vector

from . import parts, ranking
from .asking import Asked
from .dates import Span
from .matching import Match, matches_of
from .parts import Detail
from .ranking import Ranked, Weights
from .tools import Tools

OUT_OF_TIME = 0.85
"""What counts outside the time that a question names: a preference, because what was said in May may be about July."""

Key = tuple[str, UUID]
"""(kind, memory_id)."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look gave: memories, the best first, with every factor of their scores. `doubt` says why meaning was left out, if it was."""

    ranked: tuple[Ranked, ...]
    censors: tuple[Match, ...]
    details: Mapping[Key, Detail]
    weights: Weights
    doubt: str


async def look(tools: Tools, asked: Asked, weights: Weights | None) -> Seen:
    """Look. Raises Misconfigured, Outage and Contended."""
    async with tools.database.read([asked.agent]) as db:
        known = await censors.listed(db, agent=asked.agent)
        own = weights or await _weights(db, asked.agent)
        found, doubt = await _found(db, tools, asked) if asked.plan.queries and asked.own else ([], "")
        used = await usage.worth(db, asked.agent, [one.key for one in found], asked.now)
        ranked = _ranked(asked, found, own, used)
        details = await parts.details(db, asked.agent, _complex(asked, ranked))
    applying = await matches_of(known, asked.question)  # no transaction is open meanwhile
    return Seen(tuple(ranked), tuple(applying), details, own, doubt)


async def _weights(db: Read, agent: str) -> Weights:
    """Those fitted for this agent or for all, else the defaults."""
    fitted = await fitted_weights.of(db, agent)
    return Weights.of(fitted.weights) if fitted else Weights()


async def _found(db: Read, tools: Tools, asked: Asked) -> tuple[list[Found], str]:
    registered = await embedders.active(db)
    vector, doubt = _comparable(asked.vector, registered, tools)
    when = asked.plan.when
    searched = partial(search, db, asked.agent, asked.plan.kinds, vector=vector, embedder=registered, terms=asked.terms, as_of=asked.as_of)
    found = await searched()
    if when is not None:
        until = when.until - timedelta.resolution if when.until else None  # the search takes the end too
        found += await searched(since=when.since, until=until)
    return list({one.key: one for one in found}.values()), doubt


def _comparable(vector: Vector | None, registered: Registered, tools: Tools) -> tuple[Vector | None, str]:
    """The question's vector, if the store's are of the same embedder."""
    embedder = tools.embedder
    if vector is None or (registered.name == embedder.name and registered.dimension == len(vector)):
        return vector, ""
    return None, (
        f"by words alone, without meaning: the store's vectors are of the embedder {registered.name!r} and this process has"
        f" {embedder.name!r}; set NOUS_EMBEDDER to the store's and start again"
    )


def _ranked(asked: Asked, found: Sequence[Found], weights: Weights, used: Worth) -> list[Ranked]:
    """The best first, what lies outside the time that was named a little further down."""
    ranked = ranking.rank(
        found,
        weights=weights,
        recency=asked.signals.recency,
        boosts=used.boosts,
        now=asked.now,
        terms=max(len(set(asked.terms)), 1),
        new=used.new,
    )
    if asked.plan.when is None:
        return ranked
    return sorted((_timed(one, asked.plan.when) for one in ranked), key=lambda one: -one.score)


def _timed(one: Ranked, when: Span) -> Ranked:
    factor = 1.0 if when.holds(one.found.at) else OUT_OF_TIME
    score = one.score * factor if one.score >= 0 else one.score / factor
    return replace(one, factors={**one.factors, "time": factor}, score=score)


def _complex(asked: Asked, ranked: list[Ranked]) -> list[Found]:
    """Those that may be told by a part: the best of each kind, but no episode of which a passage is among the best."""
    limits = {query.kind: query.limit for query in asked.plan.queries}
    best = [one for kind, limit in limits.items() for one in [one.found for one in ranked if one.found.kind == kind][:limit]]
    held = {one.episode_id for one in best if one.kind == "passage"}
    return [one for one in best if one.memory_id not in held]
