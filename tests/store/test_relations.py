"""Relations: how two texts of an agent stand to each other; the first that is known stays, and a person outranks every mind."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from store import facts, relations
from store.database import Database, Write
from store.relations import Kind, Relation
from tests.factories import NOON, a_fact, a_relation

A, B, C, D, E = (letter.encode() for letter in "ABCDE")


def related(one: bytes, kind: Kind, other: bytes, *, agent: str = "a", **over: Any) -> Relation:
    _, low, high = relations.pair(agent, one, other)
    return a_relation(**{"agent_id": agent, "low_key": low, "high_key": high, "relation": kind} | over)


async def between(db: Write, one: bytes, other: bytes, *, agent: str = "a") -> Relation | None:
    key = relations.pair(agent, one, other)
    return (await relations.between(db, [key])).get(key)


async def test_a_pair_is_known_whichever_is_named_first(db: Write) -> None:
    assert relations.pair("a", B, A) == relations.pair("a", A, B) == ("a", A, B)
    made = related(B, "updates", A)
    await relations.put(db, [made])
    assert await between(db, A, B) == await between(db, B, A) == made


async def test_what_a_mind_said_first_stays(db: Write) -> None:
    first = related(A, "same", B)
    await relations.put(db, [first])
    await relations.put(db, [replace(first, relation="contradicts", model="another", reason="another replica heard this")])
    assert await between(db, A, B) == first


async def test_a_person_outranks_every_mind_and_the_person_before(db: Write) -> None:
    by_mind = related(A, "same", B)
    by_person = replace(by_mind, relation="compatible", decided_by="person", model=None, prompt=None)
    again = replace(by_person, reason="on second thought")
    await relations.put(db, [by_mind])
    for decided in (by_person, again):
        await relations.put(db, [decided])
        await relations.put(db, [by_mind])
        assert await between(db, A, B) == decided


async def test_nothing_to_write_and_nothing_to_find_cost_no_statement(db: Write) -> None:
    await relations.put(db, [])
    assert await relations.between(db, []) == {}
    assert await relations.linked(db, []) == set()


async def test_all_that_merges_or_conflicts_is_reached_over_any_number_of_steps_and_what_is_compatible_is_not(db: Write) -> None:
    await relations.put(
        db, [related(A, "updates", B), related(C, "same", B), related(C, "refines", D, richer_key=D), related(D, "compatible", E)]
    )
    for start in (A, B, C, D):
        assert await relations.reachable(db, "a", [start]) == {A, B, C, D}
    assert await relations.reachable(db, "a", [E]) == {E}
    assert await relations.reachable(db, "a", []) == set()


async def test_a_circle_of_relations_is_walked_once(db: Write) -> None:
    await relations.put(db, [related(A, "contradicts", B), related(B, "contradicts", C), related(C, "contradicts", A)])
    assert await relations.reachable(db, "a", [B]) == {A, B, C}


async def test_the_relations_among_texts_are_those_of_which_both_ends_are_wanted(db: Write) -> None:
    made = [related(A, "updates", B), related(B, "compatible", C), related(C, "same", D)]
    await relations.put(db, made)
    assert await relations.among(db, "a", [A, B, C]) == made[:2]
    assert await relations.among(db, "a", []) == []


async def test_a_text_is_linked_when_it_merges_or_conflicts_with_another(db: Write) -> None:
    await relations.put(db, [related(A, "updates", B), related(C, "compatible", D)])
    texts = {("a", key) for key in (A, B, C, D, E)}
    assert await relations.linked(db, texts) == {("a", A), ("a", B)}


async def test_the_same_texts_of_another_agent_are_other_texts(db: Write) -> None:
    await relations.put(db, [related(A, "updates", B), related(B, "same", C, agent="b")])
    assert await relations.reachable(db, "a", [A]) == {A, B}
    assert await relations.reachable(db, "b", [B]) == {B, C}
    assert await relations.linked(db, [("a", C), ("b", A), ("b", C)]) == {("b", C)}
    assert await between(db, A, B, agent="b") is None
    assert await relations.among(db, "b", [A, B, C]) == [related(B, "same", C, agent="b", event_id=(await _of(db, B, C)).event_id)]


async def _of(db: Write, one: bytes, other: bytes) -> Relation:
    found = await between(db, one, other, agent="b")
    assert found
    return found


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"low_key": B, "high_key": A}, "ck_relations_order"),
        ({"low_key": A, "high_key": A}, "ck_relations_order"),
        ({"relation": "unsure"}, "ck_relations_relation"),
        ({"decided_by": "nobody"}, "ck_relations_decided_by"),
        ({"relation": "refines", "richer_key": C}, "ck_relations_richer"),
    ],
)
async def test_what_is_no_relation_is_refused(database: Database, wrong: dict[str, Any], rule: str) -> None:
    with pytest.raises(DBAPIError, match=rule):
        async with database.write(["a"]) as db:
            await relations.put(db, [replace(related(A, "same", B), **wrong)])


HOUR = timedelta(hours=1)
BEARING: dict[str, tuple[Kind, dict[str, Any], int]] = {
    "that is so": ("updates", {}, 1),
    "that contradicts": ("contradicts", {}, 1),
    "that is compatible": ("compatible", {}, 0),
    "that says the same": ("same", {}, 1),
    "that says more": ("refines", {}, 1),
    "that is archived": ("updates", {"active": False, "archived_at": NOON}, 1),
    "that was so later": ("updates", {"active": False, "valid_to": NOON + HOUR}, 1),
    "that was so until then": ("updates", {"active": False, "valid_to": NOON}, 0),
    "that was so earlier": ("updates", {"active": False, "valid_to": NOON - HOUR}, 0),
}


@pytest.mark.parametrize("is_merged", [False, True], ids=["a fact", "a wording of one"])
@pytest.mark.parametrize(("kind", "over", "counted"), BEARING.values(), ids=BEARING.keys())
async def test_of_what_is_known_to_merge_or_conflict_with_a_fact_counts_what_is_so_or_was_so_after_it_was_claimed(
    db: Write, kind: Kind, over: dict[str, Any], counted: int, is_merged: bool
) -> None:
    for at in range(4):  # one of two pairs has its key first, the other last
        mine, rival = a_fact(agent_id="a", valid_from=NOON), a_fact(agent_id="a", valid_from=NOON - 2 * HOUR, **over)
        part = a_fact(agent_id="a", active=False, merged_into=rival.fact_id)
        await facts.insert(db, [mine, rival, part] if is_merged else [mine, rival])
        await relations.put(db, [related(mine.text_key, kind, (part if is_merged else rival).text_key)])
        assert await relations.count_bearing(db, [mine]) == ({mine.key: counted} if counted else {}), at


async def test_its_own_wordings_do_not_count(db: Write) -> None:
    mine = a_fact(agent_id="a")
    part = a_fact(agent_id="a", active=False, merged_into=mine.fact_id)
    await facts.insert(db, [mine, part])
    await relations.put(db, [related(mine.text_key, "same", part.text_key)])
    assert await relations.count_bearing(db, [mine]) == {}


async def test_without_a_fact_nothing_bears_on_it_and_there_is_no_statement(db: Write) -> None:
    assert await relations.count_bearing(db, []) == {}
