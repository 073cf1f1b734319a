"""What a replay store holds otherwise than the live one: facts, episodes, censors, decisions, procedures, each with the receipts of both;
and how often each was recalled.

An agent is compared whole. When a row was recorded is not compared: only what it says and how it stands.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from store import censors, decisions, episodes, facts, procedures, receipts, usage
from store.database import Database, Read
from store.receipts import Receipt

How = Literal["only live", "only replayed", "otherwise"]

NOUNS: Mapping[str, tuple[str, str]] = {
    "fact": (
        "fact_id",
        (
            "content subject attribute provenance confidence active superseded_by merged_into disputes valid_from valid_to"
            " confirmation_count "
        )
        + " ".join(name for name in facts.KEPT_UP if name != "reinstated_at"),  # which is a time of ours, another in each store
    ),
    "episode": ("episode_id", "title summary written_by outcome lessons_learned active put_aside started_at ended_at aged"),
    "censor": ("censor_id", "trigger_pattern severity escalation_threshold activation_count counted_from false_positive_count"),
    "decision": ("decision_id", "description outcome outcome_note noise decided_at"),
    "procedure": (
        "procedure_id",
        "name goals core_patterns promoted_patterns implementation_notes activation_count success_count failure_count",
    ),
    "use": ("memory_id", "kind retrieved injected compared referenced"),
}
"""What is compared of each: the name of its id, and the fields that say something."""


LINKS = ("superseded_by", "merged_into", "disputes")
"""Fields of a fact that name another."""


@dataclass(frozen=True)
class Difference:
    """One row that differs.

    `fields` are those that do, live and replayed; `words` what the facts say that they name, "" of one that was forgotten; `live` and
    `replayed` what the receipts say of the row.
    """

    agent_id: str
    noun: str
    id: UUID
    how: How
    says: str
    fields: Mapping[str, tuple[Any, Any]]
    words: Mapping[UUID, str]
    live: Sequence[Receipt]
    replayed: Sequence[Receipt]


@dataclass(frozen=True)
class Compared:
    """What was compared: how many of each noun are alike, and what differs."""

    alike: Mapping[str, int]
    differences: Sequence[Difference]


async def agents(replayed: Database) -> list[str]:
    """Everybody something was replayed of."""
    async with replayed.overview() as db:
        return await receipts.agents(db)


async def compare(live: Database, replayed: Database, agent: str) -> Compared:
    """One agent's memory here and there. Raises Outage and Contended."""
    alike: dict[str, int] = {}
    found: list[Difference] = []
    for noun, (id_, names) in NOUNS.items():
        here, there = await _rows(live, agent, noun, id_), await _rows(replayed, agent, noun, id_)
        for key in sorted(here.keys() | there.keys(), key=str):
            fields = _differing(here.get(key), there.get(key), names.split())
            if not fields:
                alike[noun] = alike.get(noun, 0) + 1
                continue
            named = {one for name in LINKS for one in fields.get(name, ()) if one}
            words = {one: row.content if (row := here.get(one) or there.get(one)) else "" for one in named}
            told = await _receipts(live, agent, noun, key), await _receipts(replayed, agent, noun, key)
            row, how = here.get(key) or there[key], _how(key in here, key in there)
            found.append(Difference(agent, noun, key, how, _says(row), fields, words, *told))
    return Compared(alike, found)


def _differing(one: Any, other: Any, names: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    pairs = {name: (getattr(one, name, None), getattr(other, name, None)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _how(is_live: bool, is_replayed: bool) -> How:
    if is_live and is_replayed:
        return "otherwise"
    return "only live" if is_live else "only replayed"


async def _rows(database: Database, agent: str, noun: str, id_: str) -> dict[UUID, Any]:
    async with database.snapshot([agent]) as db:
        return {getattr(row, id_): row for row in await _LISTED[noun](db, agent)}


_LISTED: Mapping[str, Callable[[Read, str], Awaitable[Sequence[Any]]]] = {
    "fact": lambda db, agent: facts.listed(db, agent=agent, inactive=True, limit=None),
    "episode": lambda db, agent: episodes.listed(db, agent=agent, inactive=True, limit=None),
    "censor": lambda db, agent: censors.listed(db, agent=agent),
    "decision": lambda db, agent: decisions.listed(db, agent=agent, limit=None),
    "procedure": lambda db, agent: procedures.listed(db, agent=agent, limit=None),
    "use": usage.listed,
}


async def _receipts(database: Database, agent: str, noun: str, key: UUID) -> list[Receipt]:
    async with database.read([agent]) as db:
        return await (receipts.concerning(db, agent, [key]) if noun == "fact" else receipts.about(db, agent, key))


def _says(row: Any) -> str:
    names = ("content", "title", "summary", "trigger_pattern", "description", "name", "kind")
    return next((said for name in names if (said := getattr(row, name, None))), "")
