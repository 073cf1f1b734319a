"""Narrowing changes how long it takes, and nothing of what is found: the same facts, as near to the last digit, in the same order."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from store import facts, narrowing, vectors
from store.database import Write
from store.facts import Fact
from store.vectors import Asking, Near, Vector
from tests.factories import DIMENSION, NOON, a_fact, a_vector

MANY = 150
SUBJECTS = ("maria", "mario", "bo", None)


async def _memory(db: Write, table: str, agent: str) -> list[tuple[Fact, Vector]]:
    """Facts true and retired, merged and archived, of four subjects; near each other, some with the same vector, some with none."""
    drawn = np.random.default_rng(3)
    center, made = a_vector(0), list[tuple[Fact, Vector]]()
    for number in range(MANY):
        subject = SUBJECTS[number % len(SUBJECTS)]
        fact = a_fact(agent_id=agent, subject=subject, content=f"fact {number}")
        if number % 3 == 0:
            fact = replace(fact, active=False, valid_to=NOON + timedelta(hours=number % 7))
        if number % 20 == 1:
            fact = replace(fact, active=False, archived_at=NOON)
        if number % 20 == 2:
            fact = replace(fact, active=False, merged_into=made[0][0].fact_id)
        vector = made[-1][1] if number % 5 == 4 else (center + drawn.uniform(0, 3) * a_vector()).astype(np.float32)
        made.append((fact, vector))
    await facts.insert(db, [fact for fact, _ in made])
    kept = [(agent, fact.fact_id, vector) for number, (fact, vector) in enumerate(made) if number % 25 != 24]
    await vectors.insert(db, table, kept)
    await vectors.mark(db, table, agent, current=[], past=[fact.fact_id for fact, _ in made if not fact.is_so])
    return made


Search = Callable[[Write, str, list[tuple[Fact, Vector]]], Awaitable[list[list[Near]]]]


async def _nearest(db: Write, table: str, made: list[tuple[Fact, Vector]]) -> list[list[Near]]:
    return await vectors.nearest(db, table, [(fact.agent_id, vector) for fact, vector in made], limit=4, floor=0.3)


async def _neighbours(db: Write, table: str, made: list[tuple[Fact, Vector]]) -> list[list[Near]]:
    return await vectors.neighbours(db, table, _asking(made), limit=4)


async def _namesakes(db: Write, table: str, made: list[tuple[Fact, Vector]]) -> list[list[Near]]:
    subjects = [["maria", "mario"] if fact.subject in {"maria", "mario"} else [fact.subject] if fact.subject else [] for fact, _ in made]
    return await vectors.namesakes(db, table, _asking(made), subjects, limit=4)


def _asking(made: list[tuple[Fact, Vector]]) -> list[Asking]:
    return [Asking(fact.agent_id, fact.fact_id, NOON + timedelta(hours=place % 5)) for place, (fact, _) in enumerate(made)]


@pytest.mark.parametrize("search", [_nearest, _neighbours, _namesakes])
async def test_what_many_ask_at_once_is_answered_as_if_each_asked_alone(
    db: Write, vectors_in: str, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = await _memory(db, vectors_in, "a"), (await _memory(db, vectors_in, "b"))[:5]
    asked = [one for pair in zip(large[:5], small, strict=True) for one in pair] + large[5:]
    each = await search(db, vectors_in, asked)
    monkeypatch.setattr(narrowing, "MANY_FACTS", 100)
    monkeypatch.setattr(narrowing, "AT_ONCE", 32)
    seen: list[str] = []
    _noted(monkeypatch, seen)
    assert await search(db, vectors_in, asked) == each
    assert seen == ["a"], "b is asked too little of"
    assert sum(map(len, each)) > 2 * len(asked)


def _noted(monkeypatch: pytest.MonkeyPatch, seen: list[str]) -> None:
    few = narrowing.few

    async def noted(db: Any, table: str, among: narrowing.Among, directions: Any, limit: int) -> Any:
        seen.append(among.agent)
        return await few(db, table, among, directions, limit)

    monkeypatch.setattr(narrowing, "few", noted)


async def test_few_facts_remain_of_many_and_what_has_no_direction_comes_last(
    db: Write, vectors_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    center = a_vector(0)
    new = [a_fact(agent_id="a") for _ in range(40)]
    made = [np.zeros(DIMENSION, np.float32) if place % 2 else center + np.float32(place) * a_vector() for place in range(40)]
    await facts.insert(db, new)
    await vectors.insert(db, vectors_in, [("a", fact.fact_id, vector) for fact, vector in zip(new, made, strict=True)])
    among = narrowing.Among("a", [fact.fact_id for fact in new], [lambda at: np.ones((16, 40), bool)[:, at]])
    few = await narrowing.few(db, vectors_in, among, narrowing.unit([center] * 16), 3)
    assert all(new[0].fact_id in ids and len(ids) == 3 for ids in few)
    monkeypatch.setattr(narrowing, "MANY_FACTS", 10)
    found = await vectors.nearest(db, vectors_in, [("a", center)] * 16, limit=25, floor=-1)
    monkeypatch.setattr(narrowing, "MANY_FACTS", 1_000)
    each = await vectors.nearest(db, vectors_in, [("a", center)] * 16, limit=25, floor=-1)
    assert [[one.fact_id for one in near] for near in found] == [[one.fact_id for one in near] for near in each]
