"""Receipts: one for each event at each worker, numbered agent by agent; what is settled stays settled."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from store import parked, receipts
from store.database import Database, Write
from store.parked import Wanted
from store.receipts import Receipt
from tests.factories import NOON, a_receipt, an_id
from tests.store.conftest import as_operator


async def kept(db: Write, agent: str = "a", worker: str = "deduplicator") -> list[Receipt]:
    return await receipts.of_agent(db, agent, worker)


async def test_a_receipt_is_read_as_it_was_written(db: Write) -> None:
    receipt = a_receipt(
        agent_id="a",
        ending="skip",
        outcome="skipped",
        reason="the content is empty",
        about=an_id(),
        evidence={"candidates": [{"fact_id": str(an_id()), "similarity": 0.9731}], "words": "咖啡 \U0001f600 ' \" \\", "none": None},
        derived=("fact_stored:1", "fact,confirmed:{2}"),
        seq=1,
    )
    await receipts.insert(db, [receipt])
    assert await kept(db) == [receipt]


async def test_receipts_are_numbered_agent_by_agent_one_after_another_whatever_their_worker(db: Write) -> None:
    await receipts.insert(db, [a_receipt(agent_id="a"), a_receipt(agent_id="b"), a_receipt(agent_id="a")])
    await receipts.insert(db, [a_receipt(agent_id="a", worker="censor_escalator"), a_receipt(agent_id="b"), a_receipt(agent_id="a")])
    assert [receipt.seq for receipt in await kept(db)] == [1, 2, 4]
    assert [receipt.seq for receipt in await kept(db, worker="censor_escalator")] == [3]
    assert [receipt.seq for receipt in await kept(db, "b")] == [1, 2]


async def test_writers_at_the_same_moment_leave_no_gap_and_no_number_twice(database_url: str) -> None:
    database = Database(database_url, pool=5)

    async def write(worker: str) -> None:
        for _ in range(6):
            async with database.write(["busy", "other"]) as db:
                await receipts.insert(db, [a_receipt(agent_id=agent, worker=worker) for agent in ("busy", "other", "busy")])

    workers = [f"worker-{number}" for number in range(5)]
    await asyncio.gather(*(write(worker) for worker in workers))
    async with database.overview() as db:
        numbers = {
            agent: [one.seq for worker in workers for one in await receipts.of_agent(db, agent, worker)] for agent in ("busy", "other")
        }
    await database.close()
    assert {agent: sorted(seqs) for agent, seqs in numbers.items()} == {"busy": list(range(1, 61)), "other": list(range(1, 31))}


@pytest.mark.parametrize("ending", ["done", "skip"])
async def test_what_is_settled_is_never_replaced(db: Write, ending: str) -> None:
    first = a_receipt(agent_id="a", event_id="event", ending=ending, outcome="first", seq=1)
    await receipts.insert(db, [first])
    for later in ("done", "skip", "parked"):
        await receipts.insert(db, [a_receipt(agent_id="a", event_id="event", ending=later, outcome="second")])
    assert await kept(db) == [first]


async def test_what_is_parked_is_replaced_as_a_whole_with_the_next_number(db: Write) -> None:
    parked = a_receipt(agent_id="a", event_id="event", ending="parked", outcome="parked", reason="broken", occurred_at=None, entry_id="1-1")
    settled = a_receipt(
        agent_id="a",
        event_id="event",
        about=an_id(),
        evidence={"x": 1},
        derived=("fact_stored:1",),
        occurred_at=NOON,
        entry_id="2-1",
        seq=3,
    )
    await receipts.insert(db, [parked, a_receipt(agent_id="a", worker="another")])
    await receipts.insert(db, [settled])
    parking = {"at": NOON.isoformat(), "what": "parked", "reason": "broken"}
    assert await kept(db) == [replace(settled, evidence={"x": 1, "was_parked": [parking]})]


async def test_a_receipt_tells_of_every_parking_before_it_and_of_what_is_said_twice_once(db: Write) -> None:
    def again(reason: str, entry_id: str = "1-1", **over: Any) -> Receipt:
        fields = {"ending": "parked", "outcome": "parked", "reason": reason, "evidence": {"attempts": 3}}
        return a_receipt(agent_id="a", event_id="event", entry_id=entry_id, **fields | over)

    for one in (again("first"), again("the same, said anew"), again("delivered again", "2-1"), again("done", "2-1", ending="done")):
        await receipts.insert(db, [one])
    (last,) = await kept(db)
    assert [(one["reason"], one["attempts"]) for one in last.evidence["was_parked"]] == [("the same, said anew", 3), ("delivered again", 3)]
    for number in range(60):
        await receipts.insert(db, [a_receipt(agent_id="a", event_id="busy", ending="parked", reason=str(number), entry_id=f"{number}-1")])
    told = [one.evidence["was_parked"] for one in await kept(db) if one.event_id == "busy"]
    assert [one["reason"] for one in told[0]] == [str(number) for number in range(9, 59)]


async def test_done_and_skip_settle_an_event_and_parked_answers_it_each_for_its_worker_and_agent_only(db: Write) -> None:
    endings = {"1": "done", "2": "skip", "3": "parked"}
    await receipts.insert(db, [a_receipt(agent_id="a", event_id=event, ending=ending) for event, ending in endings.items()])
    asked = [(agent, event) for agent in ("a", "b") for event in ("1", "2", "3", "4")]
    assert await receipts.settled(db, "deduplicator", asked) == {("a", "1"), ("a", "2")}
    assert await receipts.answered(db, "deduplicator", asked) == {("a", "1"), ("a", "2"), ("a", "3")}
    for ask in (receipts.settled, receipts.answered):
        assert await ask(db, "censor_escalator", asked) == set()
        assert await ask(db, "deduplicator", []) == set()


async def test_an_event_may_have_a_receipt_of_each_worker_and_each_agent(db: Write) -> None:
    for worker in ("deduplicator", "censor_escalator"):
        await receipts.insert(db, [a_receipt(agent_id=agent, event_id="event", worker=worker) for agent in ("a", "b")])
    assert [len(await kept(db, agent, worker)) for agent in ("a", "b") for worker in ("deduplicator", "censor_escalator")] == [1, 1, 1, 1]


async def test_the_story_of_a_fact_is_told_in_the_order_it_was_written_by_every_worker(db: Write) -> None:
    fact = an_id()
    told = [a_receipt(agent_id="a", about=fact, worker=worker, event_id=event) for worker, event in (("z", "3"), ("a", "2"), ("m", "1"))]
    await receipts.insert(db, [told[0], a_receipt(agent_id="a", about=an_id()), a_receipt(agent_id="b", about=fact)])
    await receipts.insert(db, told[1:])
    assert [(receipt.worker, receipt.event_id) for receipt in await receipts.about(db, "a", fact)] == [("z", "3"), ("a", "2"), ("m", "1")]


async def test_what_was_stored_beside_a_fact_is_found_from_the_threshold_of_its_time_up(db: Write) -> None:
    fact, other = an_id(), an_id()

    def seen(similarity: float, threshold: float, near: UUID = fact) -> dict[str, Any]:
        return {
            "check_similarity": threshold,
            "candidates": [{"fact_id": str(other), "similarity": 1}, {"fact_id": str(near), "similarity": similarity}],
        }

    stored = {
        "at": seen(0.85, 0.85),
        "above": seen(0.99, 0.85),
        "below": seen(0.849, 0.85),
        "below another embedder's": seen(0.99, 0.995),
        "of another fact": seen(0.99, 0.85, near=an_id()),
        "without evidence": {},
    }
    await receipts.insert(db, [a_receipt(agent_id="a", event_id=event, about=an_id(), evidence=given) for event, given in stored.items()])
    await receipts.insert(
        db,
        [
            a_receipt(agent_id="a", outcome="confirmed", about=an_id(), evidence=seen(0.99, 0.85)),
            a_receipt(agent_id="a", about=fact, evidence=seen(0.99, 0.85)),
            a_receipt(agent_id="b", about=an_id(), evidence=seen(0.99, 0.85)),
        ],
    )
    assert [receipt.event_id for receipt in await receipts.beside(db, "a", fact, limit=9)] == ["at", "above"]
    assert [receipt.event_id for receipt in await receipts.beside(db, "a", fact, limit=1)] == ["at"]


async def test_an_operator_counts_what_is_parked_over_all_agents(db: Write) -> None:
    endings = [("a", "deduplicator", "parked"), ("b", "deduplicator", "parked"), ("a", "deduplicator", "done"), ("a", "other", "parked")]
    await receipts.insert(db, [a_receipt(agent_id=agent, worker=worker, ending=ending) for agent, worker, ending in endings])
    assert await receipts.parked_counts(await as_operator(db)) == {"deduplicator": 2, "other": 1}


async def test_what_was_dropped_is_found_by_an_index_of_its_own(db: Write) -> None:
    told = [("stored", "done"), ("skipped", "skip"), ("dropped", "skip")]
    await receipts.insert(db, [a_receipt(agent_id="a", event_id=outcome, outcome=outcome, ending=ending) for outcome, ending in told])
    operator = await as_operator(db)
    await operator.execute(text("SET LOCAL enable_seqscan = off"))
    assert [one.event_id for one in await parked.listed(operator, Wanted(), dropped=True)] == ["dropped"]
    scans = await operator.execute(text("SELECT pg_stat_get_xact_numscans('bus.ix_receipts_dropped'::regclass)"))
    assert scans.scalar_one() == 1


@pytest.mark.parametrize("nothing", [[]])
async def test_no_receipts_are_no_write(db: Write, nothing: list[Any]) -> None:
    await receipts.insert(db, nothing)
    assert await kept(db) == []
