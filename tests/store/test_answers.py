"""Answers: each question is counted when it is put and answered once, for one agent, one version of the question and one model."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from store import answers, facts, relations
from store.answers import Answer, Asked
from store.database import Database, Write
from tests.factories import NOON, a_fact, a_question, a_relation
from tests.store.conftest import as_operator, run

PAIR = ("a", b"1", b"2")
LATER = NOON + timedelta(hours=1)
MOMENT = timedelta(seconds=1)


def asked(**over: Any) -> Asked:
    return a_question(**{"agent_id": "a"} | over)


def answer(**over: Any) -> Answer:
    fields: dict[str, Any] = {
        "agent_id": "a",
        "older_key": b"1",
        "newer_key": b"2",
        "prompt": "relation-1",
        "model": "a-model",
        "relation": "updates",
        "richer": None,
        "reason": "moved",
        "tokens_in": 100,
        "tokens_out": 10,
        "cost": Decimal("0.000450"),
        "milliseconds": 12,
        "answered_at": LATER,
    }
    return Answer(**fields | over)


async def ask(db: Write, *questions: Asked, lease: datetime = NOON) -> set[answers.Pair]:
    """Write them down as asked; unless told otherwise by one who died at once."""
    return await answers.ask(db, questions, lease=lease)


async def leases(db: Write) -> dict[answers.Pair, datetime]:
    return await answers.leases(db, [PAIR], prompt="relation-1", model="a-model")


async def hold(db: Write, held: datetime, until: datetime | None) -> None:
    await answers.lease(db, [PAIR], prompt="relation-1", model="a-model", held=held, until=until)


async def kept(db: Write, *pairs: answers.Pair, prompt: str = "relation-1", model: str = "a-model") -> dict[answers.Pair, Answer]:
    return await answers.kept(db, pairs or (PAIR,), prompt=prompt, model=model)


async def counts(db: Write) -> list[int]:
    return await run(db, "SELECT asked FROM bus.answers ORDER BY older_key, newer_key, model, prompt")


async def test_a_question_is_written_down_before_it_is_answered_and_is_no_answer(db: Write) -> None:
    await ask(db, asked(older="one", newer="another"))
    assert await kept(db) == {}
    assert await run(db, "SELECT older, newer, relation, asked FROM bus.answers") == [("one", "another", None, 1)]


async def test_every_time_it_is_put_is_counted_until_it_is_answered(db: Write) -> None:
    for _ in range(3):
        await ask(db, asked())
    await answers.keep(db, [answer()])
    await ask(db, asked())
    assert await counts(db) == [3]


async def test_what_one_asks_no_other_asks_until_its_lease_has_ended(db: Write) -> None:
    another = {"older_key": b"3", "newer_key": b"4"}
    assert await ask(db, asked(), lease=LATER) == {PAIR}
    assert await ask(db, asked(asked_at=LATER - MOMENT), asked(**another), lease=LATER) == {("a", b"3", b"4")}
    assert await leases(db) == {PAIR: LATER}
    assert await counts(db) == [1, 1]
    assert await ask(db, asked(asked_at=LATER), lease=LATER + MOMENT) == {PAIR}
    assert await counts(db) == [2, 1]


async def test_who_still_waits_holds_on_and_who_gives_up_lets_go(db: Write) -> None:
    await ask(db, asked(), lease=LATER)
    await hold(db, LATER, LATER + MOMENT)
    assert await leases(db) == {PAIR: LATER + MOMENT}
    await hold(db, LATER, None)
    assert await leases(db) == {PAIR: LATER + MOMENT}, "of a lease that is not held any more nothing is let go"
    await hold(db, LATER + MOMENT, None)
    assert await leases(db) == {}
    assert await ask(db, asked(), lease=LATER) == {PAIR}


async def test_what_was_answered_is_nobody_s_to_ask(db: Write) -> None:
    await ask(db, asked(), lease=LATER)
    await answers.keep(db, [answer()])
    assert await leases(db) == {}
    assert await ask(db, asked(), lease=LATER) == set()


async def test_what_was_answered_is_kept_as_it_was_given(db: Write) -> None:
    await ask(db, asked())
    await answers.keep(db, [answer()])
    assert await kept(db) == {PAIR: answer()}


async def test_the_first_answer_stays(db: Write) -> None:
    await ask(db, asked())
    await answers.keep(db, [answer()])
    await answers.keep(db, [answer(relation="same", reason="another replica heard this")])
    assert (await kept(db))[PAIR] == answer()


async def test_an_answer_to_what_was_never_asked_is_no_row(db: Write) -> None:
    await answers.keep(db, [answer()])
    assert await counts(db) == []


@pytest.mark.parametrize(
    "other",
    [{"agent_id": "b"}, {"older_key": b"2", "newer_key": b"1"}, {"prompt": "relation-2"}, {"model": "another"}],
    ids=["another agent", "the other order", "another version", "another model"],
)
async def test_an_answer_is_one_for_its_agent_order_version_and_model(db: Write, other: dict[str, Any]) -> None:
    await ask(db, asked(), asked(**other))
    await answers.keep(db, [answer()])
    assert len(await counts(db)) == 2
    elsewhere = replace(answer(), **other)
    pair = (elsewhere.agent_id, elsewhere.older_key, elsewhere.newer_key)
    assert await kept(db, pair, prompt=elsewhere.prompt, model=elsewhere.model) == {}


async def test_many_are_asked_kept_and_found_at_once_and_none_costs_no_statement(db: Write) -> None:
    assert await ask(db) == set()
    await answers.keep(db, [])
    assert await answers.kept(db, [], prompt="relation-1", model="a-model") == {}
    pairs = [("a", bytes([number]), bytes([number + 1])) for number in range(50)]
    await ask(db, *(asked(older_key=older, newer_key=newer) for _, older, newer in pairs))
    await answers.keep(db, [answer(older_key=older, newer_key=newer) for _, older, newer in pairs[:30]])
    assert set(await kept(db, *pairs, ("a", b"x", b"y"))) == set(pairs[:30])


async def test_an_answer_without_its_time_or_a_time_without_its_answer_is_refused(database: Database) -> None:
    for change in ("relation = 'same'", "answered_at = now()"):
        with pytest.raises(IntegrityError, match="ck_answers_answered"):
            async with database.notes(["a"]) as db:
                await _wrongly_answered(db, change)


async def _wrongly_answered(db: Write, change: str) -> None:
    await ask(db, asked())
    await run(db, f"UPDATE bus.answers SET {change}")


async def test_what_no_mind_could_tell_is_counted_once_a_pair_until_somebody_can(db: Write) -> None:
    both_ways = [{}, {"older_key": b"2", "newer_key": b"1"}, {"model": "another"}]
    await ask(db, *(asked(**over) for over in both_ways))
    await answers.keep(db, [answer(relation="unsure", **over) for over in both_ways])
    await ask(db, asked(older_key=b"3", newer_key=b"4"))
    assert sum((await answers.unsure_pairs(await as_operator(db))).values()) == 1
    await run(db, "SELECT set_config('role', 'nous_worker', true)")
    await relations.put(db, [a_relation(agent_id="a", low_key=b"1", high_key=b"2", decided_by="person")])
    assert await answers.unsure_pairs(await as_operator(db)) == {}


async def test_facts_no_mind_could_tell_about_are_found_for_a_mind_that_was_not_asked(db: Write) -> None:
    old, new = a_fact(agent_id="a", text_key=b"1"), a_fact(agent_id="a", text_key=b"2")
    await facts.insert(db, [old, new])
    await ask(db, asked())
    await answers.keep(db, [answer(relation="unsure")])
    operator = await as_operator(db)
    assert await answers.unsure(operator, model="another", agent=None) == [new.key]
    assert await answers.unsure(operator, model="another", agent="b") == []
    assert await answers.unsure(operator, model="a-model", agent=None) == []


async def test_writers_of_the_same_pairs_in_another_order_never_lock_each_other_out(database: Database) -> None:
    newer = [f"{number:04}".encode() for number in range(2_000)]

    async def one(order: list[bytes], *, lease: datetime) -> None:
        async with database.notes(["a"]) as db:
            await ask(db, *(asked(older_key=b"1", newer_key=key, asked_at=lease) for key in order), lease=lease)
        async with database.notes(["a"]) as db:
            await answers.lease(db, [("a", b"1", key) for key in order], prompt="relation-1", model="a-model", held=lease, until=NOON)
        async with database.notes(["a"]) as db:
            await answers.keep(db, [answer(newer_key=key, relation="unsure") for key in order])

    await asyncio.gather(*(one(newer if way % 2 else newer[::-1], lease=NOON + way * MOMENT) for way in range(4)))
    async with database.read(["a"]) as db:
        assert len(await kept(db, *(("a", b"1", key) for key in newer))) == len(newer)
