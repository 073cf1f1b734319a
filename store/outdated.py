"""What was said and is no longer so: facts that were learned in an episode, or stand in a text, and are retired, and what is true instead.

    episode ──its receipts──▶ the events of its facts ──mentions──┐
    text ──────────▶ retired facts whose words stand in it ───────┴─▶ facts not true any more ──superseded by──▶ ... ──▶ the true one

By receipts, because they are known by what they are about: no other index leads from an episode to its facts. By the text, because an
agent may publish as a fact what is said in a conversation too.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from . import facts, spans
from .database import Read
from .facts import Fact


@dataclass(frozen=True)
class Outdated:
    """What was said in these words and is no longer so; `instead` is what is true, None when nobody knows.

    `episode_id` is the episode it was learned in, None for a fact that was found by its words.
    """

    episode_id: UUID | None
    wordings: tuple[str, ...]
    instead: str | None


_LEARNED = "fact_learned:"
_OPENING = 16  # characters of a fact that tell whether it is likely to stand in a text
_BEGINS = re.compile("(?<![a-zA-Z0-9])|(?![a-zA-Z0-9])")
"""Where words may begin: everywhere but within one of plain letters and digits."""

_BY_KEY = "SELECT * FROM heart.facts one WHERE one.agent_id = :agent AND one.fact_id = {} OFFSET 0"


def _is_true(of: str, as_of: datetime | None) -> str:
    return f"({facts.is_so(of)})" if as_of is None else f"coalesce({facts.true_then(of)}, false)"


def _retired(as_of: datetime | None) -> str:
    """Which of the facts `s` are not true now, or by the parameter `as_of`."""
    return f"NOT {_is_true('s', as_of)} AND s.merged_into IS NULL AND s.forgotten_at IS NULL"


def _query(as_of: datetime | None) -> str:
    return (
        "WITH learned AS MATERIALIZED (SELECT DISTINCT r.about AS episode_id, substr(d.event, :length) AS event_id"
        "  FROM bus.receipts r CROSS JOIN LATERAL unnest(r.derived) AS d(event)"
        "  WHERE r.agent_id = :agent AND r.about = ANY(CAST(:episodes AS uuid[])) AND starts_with(d.event, :learned))"
        " SELECT learned.episode_id, m.content, m.quote, s.fact_id FROM learned"
        " CROSS JOIN LATERAL (SELECT * FROM heart.fact_mentions one"
        "  WHERE one.agent_id = :agent AND one.event_id = learned.event_id OFFSET 0) m"
        f" CROSS JOIN LATERAL ({_BY_KEY.format('m.fact_id')}) f"
        f" CROSS JOIN LATERAL ({_BY_KEY.format('coalesce(f.merged_into, f.fact_id)')}) s"
        f" WHERE {_retired(as_of)} AND m.content <> '' ORDER BY learned.episode_id, m.occurred_at, m.event_id"
    )


async def of_episodes(db: Read, agent: str, episodes: Collection[UUID], *, as_of: datetime | None = None) -> list[Outdated]:
    """What was said in these episodes of the agent and is not so now, or was not by `as_of`."""
    if not episodes:
        return []
    values = {"agent": agent, "episodes": list(episodes), "learned": _LEARNED, "length": len(_LEARNED) + 1}
    return await _gone(db, agent, await db.execute(text(_query(as_of)), _at(as_of, values)), as_of)


async def in_text(db: Read, agent: str, said: str, *, as_of: datetime | None = None) -> list[Outdated]:
    """Which of the agent's facts stand in this text in their own words, whatever the case, and are not so now, or were not by `as_of`.

    Words that are somebody else's true fact too, or another wording of it, are not among them; only if there are any, all facts are looked
    at for those. Every retired fact is, for no index can tell under row-level security which of them stand in a text: 3 ms for each
    thousand in a text of 10,000 characters (10,000 and 50,000 of them, two busy cores), a third of it for reading the rows. Only one that
    begins as some word of the text does is looked for in it.
    """
    if not said:
        return []
    plain = " ".join(said.split())
    opens = f"lower(left({{}}.content, {_OPENING}))"
    is_likely = f"length(s.content) < {_OPENING} OR {opens.format('s')} IN (SELECT lower(unnest(CAST(:openings AS text[]))))"
    query = (
        "WITH worded AS MATERIALIZED (SELECT s.fact_id, s.content, s.recorded_at FROM heart.facts s"
        f"  WHERE s.agent_id = :agent AND NOT s.active AND {_retired(as_of)} AND length(s.content) >= :few"
        f"   AND CASE WHEN {is_likely} THEN strpos((SELECT lower(:said)), lower(s.content)) > 0 ELSE false END),"
        " likely AS MATERIALIZED (SELECT * FROM heart.facts o WHERE o.agent_id = :agent"
        f"  AND {opens.format('o')} IN (SELECT {opens.format('w')} FROM worded w))"
        " SELECT NULL AS episode_id, s.content, NULL AS quote, s.fact_id FROM worded s WHERE lower(s.content) NOT IN"
        f" (SELECT lower(o.content) FROM likely o LEFT JOIN LATERAL ({_BY_KEY.format('o.merged_into')}) whole ON true"
        f"  WHERE {_is_true('o', as_of)} OR {_is_true('whole', as_of)}) ORDER BY s.recorded_at, s.fact_id"
    )
    values = {
        "agent": agent,
        "said": plain,
        "few": spans.FEW_CHARACTERS,
        "openings": list({plain[at.start() : at.start() + _OPENING] for at in _BEGINS.finditer(plain)}),
    }
    return await _gone(db, agent, await db.execute(text(query), _at(as_of, values)), as_of)


def _at(as_of: datetime | None, values: dict[str, object]) -> dict[str, object]:
    return values | {"as_of": as_of} if as_of else values


async def _gone(db: Read, agent: str, said: Iterable[Any], as_of: datetime | None) -> list[Outdated]:
    rows = list(said)
    known = await facts.onward(db, {(agent, row.fact_id) for row in rows})
    found = []
    for row in rows:
        key = (agent, row.fact_id)
        was, is_ = known[key], next((one for one in facts.way(key, known) if _is_whole(one) and _was_true(one, as_of)), None)
        if is_ is None or is_.text_key != was.text_key:  # what came back is so again
            wordings = tuple(dict.fromkeys(one for one in (row.quote, row.content) if one))
            found.append(Outdated(row.episode_id, wordings, is_.content if is_ else None))
    return found


def _is_whole(fact: Fact) -> bool:
    return not fact.merged_into and not fact.forgotten_at


def _was_true(fact: Fact, as_of: datetime | None) -> bool:
    return fact.is_so or (as_of is not None and fact.valid_to is not None and fact.valid_to > as_of)  # as facts.true_then
