"""Nearest by exact cosine: as numpy says, within one agent, the first whatever its score."""

from typing import Any
from uuid import UUID

import asyncpg
import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy.exc import DBAPIError

from store import embedders, facts, vectors
from store.database import Database, Write
from store.vectors import Asking, Vector
from tests.factories import DIMENSION, NOON, a_fact, a_vector, an_id
from tests.store.conftest import run

MANY = 120


async def remember(db: Write, table: str, agent: str, made: list[Vector]) -> list[UUID]:
    """Facts of the agent with these vectors."""
    new = [a_fact(agent_id=agent) for _ in made]
    await facts.insert(db, new)
    await vectors.insert(db, table, [(agent, fact.fact_id, vector) for fact, vector in zip(new, made, strict=True)])
    return [fact.fact_id for fact in new]


def as_stored(made: list[Vector]) -> NDArray[np.float64]:
    """What the half-precision column holds, each at length 1."""
    rows = np.stack(made).astype(np.float16).astype(np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def test_the_nearest_are_those_that_numpy_finds_with_the_cosine_that_numpy_finds(db: Write, vectors_in: str) -> None:
    drawn = np.random.default_rng(7)
    center = a_vector(0)
    made = [(center + drawn.uniform(0, 3) * a_vector()).astype(np.float32) for _ in range(MANY)]  # not of length 1, and some are near
    ids = await remember(db, vectors_in, "a", made)
    asked = [center, *(a_vector() for _ in range(4))]
    found = await vectors.nearest(db, vectors_in, [("a", one) for one in asked], limit=9, floor=-1)
    cosines = as_stored(asked) @ as_stored(made).T
    for near, row in zip(found, cosines, strict=True):
        best = np.argsort(-row)[:9]
        assert [one.fact_id for one in near] == [ids[place] for place in best]
        assert [one.similarity for one in near] == pytest.approx(row[best], abs=1e-3)


async def test_never_another_agent_s_not_even_the_very_same_vector(db: Write, vectors_in: str) -> None:
    same = a_vector()
    [mine] = await remember(db, vectors_in, "a", [a_vector()])
    [yours] = await remember(db, vectors_in, "b", [same])
    found = await vectors.nearest(db, vectors_in, [("a", same), ("b", same), ("a", same), ("c", same)], limit=9, floor=-1)
    assert [[one.fact_id for one in near] for near in found] == [[mine], [yours], [mine], []]


@pytest.mark.parametrize(("floor", "limit", "count"), [(1.1, 9, 1), (0.999, 9, 2), (-1, 9, 5), (-1, 3, 3), (1.1, 1, 1)])
async def test_the_first_is_always_there_and_the_others_from_the_floor_up_to_the_limit(
    db: Write, vectors_in: str, floor: float, limit: int, count: int
) -> None:
    asked = a_vector()
    await remember(db, vectors_in, "a", [asked, asked, *(a_vector() for _ in range(3))])
    [near] = await vectors.nearest(db, vectors_in, [("a", asked)], limit=limit, floor=floor)
    assert len(near) == count
    assert near == sorted(near, key=lambda one: -one.similarity)


async def test_the_first_is_there_also_when_it_is_opposite(db: Write, vectors_in: str) -> None:
    asked = a_vector()
    [opposite] = await remember(db, vectors_in, "a", [-asked])
    [[near]] = await vectors.nearest(db, vectors_in, [("a", asked)], limit=3, floor=0.9)
    assert (near.fact_id, near.similarity) == (opposite, pytest.approx(-1))


async def test_nothing_remembered_or_nothing_asked_is_nothing_near(db: Write, vectors_in: str) -> None:
    assert await vectors.nearest(db, vectors_in, [("a", a_vector())], limit=3, floor=-1) == [[]]
    assert await vectors.nearest(db, vectors_in, [], limit=3, floor=-1) == []
    await vectors.insert(db, vectors_in, [])


async def test_the_search_is_exact_there_is_no_index_that_could_miss_a_row(db: Write, vectors_in: str) -> None:
    schema, name = vectors_in.split(".")
    indexes = await run(db, "SELECT indexdef FROM pg_indexes WHERE schemaname = :schema AND tablename = :name", schema=schema, name=name)
    assert {index.partition(" USING ")[2] for index in indexes} == {
        "btree (agent_id, fact_id)",
        "btree (agent_id) WHERE (NOT current)",
    }


REFUSED: dict[str, tuple[Any, str]] = {
    "of another length": (lambda fact: (fact, a_vector(dimension=DIMENSION - 1)), "expected 512 dimensions, not 511"),
    "of a fact that is not there": (lambda fact: (an_id(), a_vector()), "violates foreign key constraint"),
    "with a NaN": (lambda fact: (fact, np.full(DIMENSION, np.nan, np.float32)), "NaN not allowed"),
    "with an infinity": (lambda fact: (fact, np.full(DIMENSION, np.inf, np.float32)), "infinite value not allowed"),
}


@pytest.mark.parametrize(("row", "sentence"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_vector_that_does_not_belong_is_refused(db: Write, vectors_in: str, row: Any, sentence: str) -> None:
    fact = a_fact(agent_id="a")
    await facts.insert(db, [fact])
    with pytest.raises(DBAPIError, match=sentence):
        await vectors.insert(db, vectors_in, [("a", *row(fact.fact_id))])


async def test_a_fact_has_one_vector(db: Write, vectors_in: str) -> None:
    [fact] = await remember(db, vectors_in, "a", [a_vector()])
    with pytest.raises(DBAPIError, match="pk_vectors"):
        await vectors.insert(db, vectors_in, [("a", fact, a_vector())])


async def test_what_a_small_agent_asks_reads_nothing_of_a_large_one_beside_it(database: Database, database_url: str) -> None:
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    async with database.write(["large"]) as db:
        await remember(db, table, "large", [a_vector() for _ in range(2_000)])
    asked = [a_vector() for _ in range(5)]
    async with database.write(["small"]) as db:
        ids = await remember(db, table, "small", asked)
    owner = await asyncpg.connect(database_url)
    await owner.execute(f"ANALYZE heart.facts, {table}")
    await owner.close()
    asking = [Asking("small", one, NOON) for one in ids]
    async with database.write(["small"]) as db:
        before = await _whole_reads(db, table)
        await vectors.nearest(db, table, [("small", one) for one in asked], limit=3, floor=-1)
        await vectors.neighbours(db, table, asking, limit=3)
        found = await vectors.namesakes(db, table, asking, [["maria"]] * 5, limit=3)
        assert [len(near) for near in found] == [3] * 5
        assert await _whole_reads(db, table) == before


async def _whole_reads(db: Write, table: str) -> list[int]:
    """How often all rows of the tables of facts and vectors were read in this transaction."""
    return [int(one) for one in await run(db, _WHOLE_READS, tables=["heart.facts", table])]


_WHOLE_READS = "SELECT pg_stat_get_xact_numscans(CAST(one AS regclass)) FROM unnest(CAST(:tables AS text[])) AS one"
