"""What was said in episodes and is no longer so: the facts that were learned there and retired since, and what is true instead.

    episode ──its receipts──▶ the events of its facts ──mentions──▶ facts that are not true any more ──superseded by──▶ ... ──▶ the true one

By receipts, because they are known by what they are about: no other index leads from an episode to its facts.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from . import facts
from .database import Read
from .facts import Fact


@dataclass(frozen=True)
class Outdated:
    """What was said in an episode, in these words, and is no longer so; `instead` is what is true, None when nobody knows."""

    episode_id: UUID
    wordings: tuple[str, ...]
    instead: str | None


_LEARNED = "fact_learned:"


def _retired(as_of: datetime | None) -> str:
    """Which of the facts `s` are not true now, or by the parameter `as_of`."""
    is_true = "s.active" if as_of is None else facts.true_then("s")
    return f"NOT coalesce({is_true}, false) AND s.merged_into IS NULL AND s.forgotten_at IS NULL"


def _query(as_of: datetime | None) -> str:
    by_key = "SELECT * FROM heart.facts one WHERE one.agent_id = :agent AND one.fact_id = {} OFFSET 0"
    return (
        "WITH learned AS MATERIALIZED (SELECT DISTINCT r.about AS episode_id, substr(d.event, :length) AS event_id"
        "  FROM bus.receipts r CROSS JOIN LATERAL unnest(r.derived) AS d(event)"
        "  WHERE r.agent_id = :agent AND r.about = ANY(CAST(:episodes AS uuid[])) AND starts_with(d.event, :learned))"
        " SELECT learned.episode_id, m.content, m.quote, s.fact_id FROM learned"
        " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions one"
        "  WHERE one.agent_id = :agent AND one.event_id = learned.event_id OFFSET 0) m"
        f" CROSS JOIN LATERAL ({by_key.format('m.fact_id')}) f CROSS JOIN LATERAL ({by_key.format('coalesce(f.merged_into, f.fact_id)')}) s"
        f" WHERE {_retired(as_of)} AND m.content <> '' ORDER BY learned.episode_id, m.occurred_at, m.event_id"
    )


async def of_episodes(db: Read, agent: str, episodes: Collection[UUID], *, as_of: datetime | None = None) -> list[Outdated]:
    """What was said in these episodes of the agent and is not so now, or was not by `as_of`."""
    if not episodes:
        return []
    values = {"agent": agent, "episodes": list(episodes), "learned": _LEARNED, "length": len(_LEARNED) + 1}
    rows = list(await db.execute(text(_query(as_of)), values | ({"as_of": as_of} if as_of else {})))
    known = await _chains(db, agent, {row.fact_id for row in rows})
    found = []
    for row in rows:
        was, is_ = known[row.fact_id], _instead(row.fact_id, known, as_of)
        if is_ is None or is_.text_key != was.text_key:  # what came back is so again
            wordings = tuple(dict.fromkeys(one for one in (row.quote, row.content) if one))
            found.append(Outdated(row.episode_id, wordings, is_.content if is_ else None))
    return found


async def _chains(db: Read, agent: str, first: Collection[UUID]) -> dict[UUID, Fact]:
    """These facts, what retired them, what retired that, and so on."""
    known: dict[UUID, Fact] = {}
    missing = set(first)
    while missing:
        found = await facts.by_key(db, [(agent, one) for one in missing])
        known |= {fact.fact_id: fact for fact in found.values()}
        missing = {other for fact in found.values() if (other := fact.merged_into or fact.superseded_by)} - known.keys()
    return known


def _instead(one: UUID, known: dict[UUID, Fact], as_of: datetime | None) -> Fact | None:
    """What is true, or was by `as_of`, where the way from a retired fact leads; None where it leads nowhere."""
    passed: set[UUID] = set()
    fact = known.get(one)
    while fact is not None and fact.fact_id not in passed:
        if not fact.merged_into and not fact.forgotten_at and _was_true(fact, as_of):
            return fact
        passed.add(fact.fact_id)
        other = fact.merged_into or fact.superseded_by
        fact = known.get(other) if other else None
    return None


def _was_true(fact: Fact, as_of: datetime | None) -> bool:
    return fact.active or (as_of is not None and fact.valid_to is not None and fact.valid_to > as_of)  # as facts.true_then
