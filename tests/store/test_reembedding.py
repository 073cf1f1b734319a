"""Filling another embedder's table: once each, only with what is still said, and without what has no words."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from nous import clock
from store import decisions, embedders, facts, memory_vectors, reembedding, unembedded
from store.database import Database, Write, acting
from store.embedders import Registered
from store.reembedding import Wanted
from tests.factories import a_decision, a_fact, a_vector
from tests.store.conftest import as_operator, run


@pytest.fixture
async def other(database: Database) -> AsyncIterator[Registered]:
    """An embedder with a table and no vectors, not in use."""
    async with database.switching() as switch:
        await embedders.register(await switch.connection(), "other", 8)
    async with database.overview() as db:
        found = next(one for one in await embedders.known(db) if one.name == "other")
    yield found
    async with database.switching() as switch:
        await embedders.drop(switch, found)


async def test_the_oldest_facts_come_first_in_the_words_they_were_told_in(other: Registered, db: Write) -> None:
    old, new = a_fact(agent_id="b", content="richer", own_content="own"), a_fact(agent_id="a")
    await facts.insert(db, [replace(new, created_at=new.created_at.replace(year=2027)), old])
    found = await reembedding.missing(await as_operator(db), other, limit=9)
    assert [(one.id, one.content) for one in found] == [(old.fact_id, "own"), (new.fact_id, new.content)]


async def test_a_fact_has_one_vector_however_often_it_is_put(other: Registered, db: Write) -> None:
    fact = a_fact(agent_id="a")
    await facts.insert(db, [fact])
    wanted = Wanted("a", fact.fact_id, "fact", fact.content)
    for _ in range(2):
        await reembedding.put(db, other, [(wanted, a_vector(dimension=8))])
    assert await run(db, f"SELECT fact_id FROM {other.table}") == [fact.fact_id]


@pytest.mark.parametrize("content", ["", "other words"])
async def test_what_was_forgotten_or_says_something_else_by_now_gets_no_vector_of_the_old_words(
    other: Registered, db: Write, content: str
) -> None:
    fact = replace(a_fact(agent_id="a", active=False), content=content)
    await facts.insert(db, [fact])
    await reembedding.put(db, other, [(Wanted("a", fact.fact_id, "fact", "the words it had"), a_vector(dimension=8))])
    assert await run(db, f"SELECT fact_id FROM {other.table}") == []


async def test_a_switch_sees_the_memory_that_the_role_it_takes_on_may_see(database: Database) -> None:
    async with database.write(["a", "b"]) as db:
        await facts.insert(db, [a_fact(agent_id="a"), a_fact(agent_id="b")])
    count = "SELECT count(*) FROM heart.facts"
    async with database.switching() as switch:
        async with acting(switch, ["a"]) as db:
            assert await run(db, count) == [1]
        async with acting(switch, None) as db:
            assert await run(db, count) == [2]


async def test_a_decision_that_says_something_new_is_put_once_though_no_worker_embeds_it_for_the_embedder_in_use(
    other: Registered, db: Write
) -> None:
    decision = a_decision(agent_id="a", description="Take the ferry")
    active = await embedders.active(db)
    await decisions.put(db, [decision])
    await memory_vectors.put(db, active, [(("a", "decision", decision.decision_id), decision.said, a_vector())])
    await decisions.put(db, [replace(decision, description="Take the bus")])
    before = await reembedding.count(as_seen := await as_operator(db), other)
    (wanted,) = [one for one in await reembedding.missing(as_seen, other, limit=9) if one.part == "decision"]
    assert wanted.content == "Take the bus"
    await run(db, "SELECT set_config('role', 'nous_worker', true)")
    await reembedding.put(db, other, [(wanted, a_vector(dimension=8))])
    assert await reembedding.count(await as_operator(db), other) == before - 1


async def test_what_says_again_what_it_said_before_waits_for_the_embedder_in_use_whatever_another_has(other: Registered, db: Write) -> None:
    decision = a_decision(agent_id="a", description="Take the ferry")
    active, key = await embedders.active(db), ("a", "decision", decision.decision_id)
    for embedder, said in ((other, "Take the ferry"), (active, "Take the bus")):
        await decisions.put(db, [one := replace(decision, description=said)])
        await memory_vectors.put(db, embedder, [(key, one.said, a_vector(dimension=embedder.dimension))])
    await unembedded.done(db, await unembedded.take(db, now=clock.now(), lease=clock.now(), limit=9))
    assert await unembedded.count(db) == 0
    await decisions.put(db, [decision])
    assert await unembedded.count(db) == 1
