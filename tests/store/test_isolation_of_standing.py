"""How one agent's facts stand is never another's: no candidate, relation, answer or version of another's, also without a filter."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from store import answers, embedders, facts, relations, vectors, versions
from store.database import Database, Read
from store.vectors import Asking
from tests.factories import NOON, a_fact, a_question, a_relation, a_vector
from tests.store.conftest import run
from tests.store.test_answers import answer

ONE, OTHER = (a_fact(content=words) for words in ("The safe is behind the painting.", "The safe is behind the mirror."))
LOW, HIGH = sorted((ONE.text_key, OTHER.text_key))
PAIR = ("b", LOW, HIGH)
TABLES = ("heart.relations", "heart.fact_versions", "bus.answers")


@pytest.fixture(scope="module")
async def populated(database_url: str) -> AsyncIterator[Database]:
    """Agents a and b with the same two facts, alike to the letter, one of which ends the other; in b there is one more beside them."""
    database = Database(database_url, pool=3)
    async with database.overview() as db:
        table = (await embedders.active(db)).table
    for agent in ("a", "b"):
        rows = [a_fact(agent_id=agent, fact_id=one.fact_id, content=one.content) for one in (ONE, OTHER)]
        rows += [a_fact(agent_id=agent, content="The safe is empty.")] if agent == "b" else []
        async with database.write([agent]) as db:
            await facts.insert(db, rows)
            await vectors.insert(db, table, [(agent, row.fact_id, a_vector(at)) for at, row in enumerate(rows)])
            await relations.put(db, [a_relation(agent_id=agent, low_key=LOW, high_key=HIGH, relation="updates")])
            await answers.ask(db, [a_question(agent_id=agent, older_key=LOW, newer_key=HIGH)], lease=NOON)
            await answers.keep(db, [answer(agent_id=agent, older_key=LOW, newer_key=HIGH)])
    yield database
    await database.close()


async def _more_than(known: set[Any], found: Awaitable[set[Any]]) -> set[Any]:
    return await found - known


async def _first(found: Awaitable[list[Any]]) -> Any:
    return (await found)[0]


ASKING = Asking("b", ONE.fact_id, NOON)
VERBS: dict[str, Callable[[Read, str], Awaitable[Any]]] = {
    "facts.by_text": lambda db, _: facts.by_text(db, "b", [LOW]),
    "facts.subjects": lambda db, _: facts.subjects(db, ["b"]),
    "facts.survivors": lambda db, _: facts.survivors(db, [("b", ONE.fact_id)]),
    "facts.still_so": lambda db, _: facts.still_so(db, [("b", ONE.fact_id)]),
    "facts.chain": lambda db, _: facts.chain(db, ("b", ONE.fact_id)),
    "relations.between": lambda db, _: relations.between(db, [PAIR]),
    "relations.among": lambda db, _: relations.among(db, "b", [LOW, HIGH]),
    "relations.reachable": lambda db, _: _more_than({LOW}, relations.reachable(db, "b", [LOW])),
    "relations.count_bearing": lambda db, _: relations.count_bearing(db, [replace(ONE, agent_id="b")]),
    "relations.linked": lambda db, _: relations.linked(db, [("b", LOW)]),
    "answers.kept": lambda db, _: answers.kept(db, [PAIR], prompt="relation-1", model="a-model"),
    "versions.listed": lambda db, _: versions.listed(db, known_at=NOON, agent="b", inactive=True, limit=None),
    "vectors.neighbours": lambda db, table: _first(vectors.neighbours(db, table, [ASKING], limit=9)),
    "vectors.namesakes": lambda db, table: _first(vectors.namesakes(db, table, [ASKING], [["maria"]], limit=9)),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
async def test_a_session_for_one_agent_that_asks_how_another_s_facts_stand_gets_nothing(
    populated: Database, vectors_in: str, verb: Callable[[Read, str], Awaitable[Any]]
) -> None:
    async with populated.read(["a"]) as db:
        assert not await verb(db, vectors_in)
    async with populated.read(["b"]) as db:
        assert await verb(db, vectors_in)


@pytest.mark.parametrize("agents", [["a"], ["a", "b"]])
async def test_the_candidates_of_a_fact_are_its_own_agent_s_also_where_a_page_has_both(
    populated: Database, vectors_in: str, agents: list[str]
) -> None:
    asking = [Asking(agent, ONE.fact_id, NOON) for agent in agents]
    async with populated.read(agents) as db:
        near = await vectors.neighbours(db, vectors_in, asking, limit=9)
        named = await vectors.namesakes(db, vectors_in, asking, [["maria"]] * len(asking), limit=9)
    expected = {"a": 1, "b": 2}
    assert [len(found) for found in near] == [len(found) for found in named] == [expected[agent] for agent in agents]


async def test_a_search_without_its_filter_finds_no_other_agent_s_candidates(populated: Database, vectors_in: str) -> None:
    async with populated.read(["a"]) as db:
        found = await run(
            db,
            f"SELECT DISTINCT v.agent_id FROM {vectors_in} v JOIN heart.facts f USING (fact_id) JOIN {vectors_in} mine ON true"
            " WHERE mine.fact_id = :fact ORDER BY 1",
            fact=ONE.fact_id,
        )
    assert found == ["a"]


@pytest.mark.parametrize("table", TABLES)
async def test_how_facts_stand_is_under_row_level_security(populated: Database, table: str) -> None:
    async with populated.read(["a"]) as db:
        assert set(await run(db, f"SELECT agent_id FROM {table}")) == {"a"}
    async with populated.queue() as db:
        assert await run(db, f"SELECT agent_id FROM {table}") == []
    async with populated.write(["a"]) as db:
        assert set(await run(db, f"UPDATE {table} SET agent_id = agent_id RETURNING agent_id")) == {"a"}
