"""Which of what was found may be told: of each kind the best, as many as the plan has, without what was just said.

ranked ─▶ hardly relevant? ─▶ the best of each kind ─▶ said already? its place goes to the next ─▶ told by its passages? ─▶ chosen
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from nous.terms import terms
from store import briefs
from store.search import Kind
from store.vectors import Vector

from .asking import Asked
from .ranking import Ranked
from .tools import Tools
from .vectors import tried

SAID, LIMIT, HARDLY, PASSAGES = "said already", "limit", "hardly relevant", "told by its passages"

IN_ITS_PASSAGES = 0.8
"""Share of a summary's terms that its passages have too, from which it says nothing more: one that was cut out of them, without a mind."""

ROUNDS = 4
"""How often places that became free are given to the next: after that they stay empty."""

Gates = dict[tuple[Kind, UUID], str]
"""By (kind, memory_id): the gate that dropped a candidate, and why."""


async def chosen(tools: Tools, asked: Asked, ranked: Sequence[Ranked]) -> tuple[list[Ranked], Gates]:
    """Those that may be told, the best first, and why the others are not."""
    ranked, gates = _relevant(asked, ranked)
    kept: dict[Kind, list[Ranked]] = {query.kind: [] for query in asked.plan.queries}
    limits = {query.kind: query.limit for query in asked.plan.queries}
    waiting = {kind: [one for one in ranked if one.found.kind == kind] for kind in kept}
    for _ in range(ROUNDS):
        next_ones = [one for kind, some in waiting.items() for one in some[: limits[kind] - len(kept[kind])]]
        if not next_ones:
            break
        repeats = await _repeats(tools, asked, next_ones)
        for one in next_ones:
            kind, key = one.found.kind, one.found.key
            waiting[kind].remove(one)
            if why := repeats.get(key):
                gates[key] = f"{SAID}: {why}"
            else:
                kept[kind].append(one)
    for kind, some in waiting.items():
        gates |= {one.found.key: f"{LIMIT}: {limits[kind]} of its kind are told" for one in some}
    gates |= (repeated := _in_passages(kept.get("episode", []), kept.get("passage", [])))
    order = {id(one): at for at, one in enumerate(ranked)}
    best = [one for some in kept.values() for one in some if one.found.key not in repeated]
    return sorted(best, key=lambda one: order[id(one)]), gates


def _relevant(asked: Asked, ranked: Sequence[Ranked]) -> tuple[list[Ranked], Gates]:
    """Without those that hardly bear on the question. What has no vector is kept, and so is what lies in the time that was named."""
    least, when = asked.least_relevance, asked.plan.when
    if not least:
        return list(ranked), {}
    hardly = {
        one.found.key: f"{HARDLY}: {one.relevance:.2f}, and {least:.2f} is the least"
        for one in ranked
        if one.relevance < least and one.found.similarity is not None and not (when and when.holds(one.found.at))
    }
    return [one for one in ranked if one.found.key not in hardly], hardly


def _in_passages(episodes: Sequence[Ranked], passages: Sequence[Ranked]) -> Gates:
    """The episodes whose summary says nothing that the passages of theirs which are told do not say."""
    told: dict[UUID | None, set[str]] = {}
    for one in passages:
        told.setdefault(one.found.episode_id, set()).update(terms(one.found.text))
    gates: Gates = {}
    for one in episodes:
        own, said = set(terms(one.found.text)), told.get(one.found.memory_id, set())
        share = len(own & said) / len(own) if own else 0.0
        if share >= IN_ITS_PASSAGES:
            gates[one.found.key] = f"{PASSAGES}: they have {share:.0%} of its words"
    return gates


async def _repeats(tools: Tools, asked: Asked, some: Sequence[Ranked]) -> Mapping[tuple[Kind, UUID], str]:
    """Those of them that were just said, and by what."""
    if not asked.said.texts:
        return {}
    vectors: Sequence[Vector | None] = [None] * len(some)
    if asked.said.vectors is not None:
        made, _ = await tried(tools.vectors, [_saying(one) for one in some], within_s=tools.settings.recall_patience_s)
        vectors = made or vectors
    found = {one.found.key: asked.said.already(_saying(one), vector) for one, vector in zip(some, vectors, strict=True)}
    return {key: str(repeat) for key, repeat in found.items() if repeat}


def _saying(one: Ranked) -> str:
    """What a memory says, without what its line adds to it: `[80% confidence]` was said by nobody."""
    return briefs.said(one.found.kind, one.found.text) or one.found.text
