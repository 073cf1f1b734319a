"""Facts: searched by their words and, where an embedder is loaded, by their meaning; and the story of one, with what it retired drawn.

words ─┬─ in the fact, in any case ──────────────┐
       └─ embedded ─▶ the nearest, by exact cosine ┴─▶ one list: those with the words first, then the nearest
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nous.errors import NousError
from nous.stories import fact
from nous.stories.heard import as_data
from nous.stories.ids_meant import fact_meant
from store import embedders, facts, receipts, vectors
from store.facts import Fact, Key

from . import explained
from .answers import Answer, Asked

if TYPE_CHECKING:
    from .site import Site

LISTED = 50
NEAREST = 10  # of one agent
NEAR = 0.3  # cosine; what is farther is shown only if it is among the very nearest
AT_LEAST = 3
AGENTS_SEARCHED = 20  # by meaning, when none is named


@dataclass(frozen=True)
class Found:
    """A fact, how near it is to what was asked (cosine; None when that was not looked at), and whether it has the words."""

    fact: Fact
    similarity: float | None
    has_words: bool


async def page(site: "Site", asked: Asked) -> Answer:
    """The search, or without words the list."""
    words, agent, inactive, as_of = asked.words("q"), asked.words("agent"), asked.words("all") is not None, asked.moment("as_of")
    near, meaning = ({}, "") if not words or as_of else await _near(site, words, agent)
    async with site.database.overview() as db:
        if words:
            said = await facts.saying(db, words, agent=agent, inactive=inactive, as_of=as_of, limit=LISTED)
        else:
            said = await facts.listed(db, agent=agent, inactive=inactive, as_of=as_of, limit=LISTED + 1)
        nearest = await facts.by_key(db, near.keys() - {one.key for one in said})
    found = [Found(one, near.get(one.key), bool(words)) for one in said[:LISTED]]
    wanted = (one for one in nearest.values() if (one.active or inactive) and one.forgotten_at is None)
    found += sorted((Found(one, near[one.key], False) for one in wanted), key=lambda one: -(one.similarity or 0))
    shown = {
        "q": words or "",
        "agent": agent or "",
        "inactive": inactive,
        "as_of": as_of,
        "found": found,
        "meaning": meaning,
        "is_cut": len(said) > LISTED or (bool(words) and len(said) == LISTED),
    }
    data = [{**as_data(one.fact, ()), "similarity": one.similarity, "has_words": one.has_words} for one in found]
    return Answer("facts.html", shown, {"facts": data, "by_meaning": not meaning})


async def one(site: "Site", asked: Asked) -> Answer:
    """The story of a fact."""
    async with site.database.overview() as db:
        story = await fact.told(db, await fact_meant(db, asked["written"], agent=asked["agent"]))
        return await explained.of_a_fact(db, story)


async def _near(site: "Site", words: str, agent: str | None) -> tuple[Mapping[Key, float], str]:
    """The nearest facts by meaning, and why there are none when there are none to be had."""
    if site.embedder is None:
        return {}, "The embedder of this process is not loaded, so this looks for the words alone."
    async with site.database.overview() as db:
        agents = [agent] if agent else (await receipts.agents(db))[: AGENTS_SEARCHED + 1]
    if len(agents) > AGENTS_SEARCHED:
        return {}, f"There are more than {AGENTS_SEARCHED} agents; name one to search by meaning too."
    try:
        vector = (await site.embedder.embed([words]))[0]
    except NousError as error:
        return {}, f"It could not be searched by meaning: {error}"
    async with site.database.overview() as db:
        table = (await embedders.active(db)).table
        found = await vectors.nearest(db, table, [(each, vector) for each in agents], limit=NEAREST, floor=-1.0)
    ranked = sorted(((one.similarity, (each, one.fact_id)) for each, some in zip(agents, found, strict=True) for one in some), reverse=True)
    return {key: similarity for place, (similarity, key) in enumerate(ranked[: 2 * NEAREST]) if similarity >= NEAR or place < AT_LEAST}, ""
