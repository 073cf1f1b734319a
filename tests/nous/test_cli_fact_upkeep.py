"""What upkeep did to facts and notes, as a person sees it, and what a person decides about it, on the command line."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from redis.asyncio import Redis

import workers
from events import FactUnused, MaintenanceDue, encode
from nous import clock, embedded
from nous.settings import Settings
from store import facts, old_notes, procedures, upkeep_runs
from store.database import Database
from store.facts import Fact
from store.old_notes import OldNotes
from tests.factories import NOON, a_fact, a_procedure
from tests.nous.conftest import Nous, PortsAreAlike, at_work
from workers.runtime.life import Life
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

DAY = timedelta(days=1)


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    """Every worker, for the test."""
    async with at_work(replace(kit, embedder=PortsAreAlike()), stack):
        yield


async def put(database: Database, *rows: Fact) -> None:
    async with database.write({row.agent_id for row in rows}) as db:
        await facts.insert(db, rows)


async def test_what_is_pinned_is_listed_and_says_so_and_is_unpinned_again(nous: Nous, database: Database) -> None:
    fact, other = a_fact(agent_id="a", content="The port is 5432."), a_fact(agent_id="a", content="The sky is blue.")
    await put(database, fact, other)
    pinned = await nous("fact", "pin", str(fact.fact_id), "--because", "we need it in an emergency")
    assert pinned.exit_code == 0, pinned.output
    assert "pinned “The port is 5432.”: upkeep lets it be, however old it is" in pinned.stdout
    assert [one["content"] for one in await nous.json("facts", "--pinned")] == ["The port is 5432."]
    assert [one["content"] for one in await nous.json("facts", "--pinned", "--agent", "b")] == []
    assert (await nous("facts")).stdout.splitlines()[1].endswith(f"\t\tpinned on {clock.now():%Y-%m-%d}")
    shown = (await nous("explain", "fact", str(fact.fact_id))).stdout
    assert "pinned" in shown
    assert "because: we need it in an emergency" in shown
    again = await nous("fact", "pin", str(fact.fact_id))
    assert again.exit_code != 0
    assert "pinned already" in again.output
    assert (await nous.json("fact", "unpin", str(fact.fact_id)))["fact"]["pinned_at"] is None
    assert "No pinned facts" in (await nous("facts", "--pinned")).stdout


@pytest.mark.parametrize("is_archived", [False, True], ids=["demoted", "archived"])
async def test_restore_undoes_what_upkeep_did_and_the_story_tells_all_of_it(nous: Nous, database: Database, is_archived: bool) -> None:
    put_at = {"demoted_at": NOON, "demoted_to": 0.5} | ({"archived_at": NOON + DAY, "active": False} if is_archived else {})
    fact = a_fact(agent_id="a", content="The port is 5432.", **put_at)
    await put(database, fact)
    became = "archived" if is_archived else "demoted"
    assert [one["content"] for one in await nous.json("facts")] == ([] if is_archived else ["The port is 5432."])
    assert f"{became} on 2026-03-0" in (await nous("facts", "--all")).stdout
    done = await nous("fact", "restore", str(fact.fact_id), "--because", "still in use")
    assert done.exit_code == 0, done.output
    assert f"it was {became}, is active and counts in full" in done.stdout
    (after,) = await nous.json("facts")
    assert (after["demoted_at"], after["demoted_to"], after["archived_at"]) == (None, None, None)
    shown = (await nous("explain", "fact", str(fact.fact_id))).stdout
    assert f"no longer {became}" in shown
    assert "because: still in use" in shown
    nothing = await nous("fact", "restore", str(fact.fact_id), "--because", "again")
    assert "is true now, so there is nothing to restore" in nothing.output


@pytest.mark.usefixtures("working")
async def test_a_restored_fact_is_looked_at_again_and_stays(nous: Nous, database: Database) -> None:
    fact = a_fact(agent_id="a", demoted_at=NOON, demoted_to=0.5, archived_at=NOON, active=False)
    await put(database, fact)
    await nous("fact", "restore", str(fact.fact_id), "--because", "still in use")
    assert (await nous("wait")).exit_code == 0
    (after,) = await nous.json("facts")
    assert after["active"]


async def test_a_dry_run_tells_each_fact_with_what_would_be_done_and_why(nous: Nous, database: Database) -> None:
    fact = a_fact(agent_id="a")
    await put(database, fact)
    async with database.switching() as db:
        await upkeep_runs.count_from(db, NOON - 400 * DAY)
    (one,) = (await nous.json("upkeep", "run", "--task", "facts", "--dry-run", "--agent", "a"))["due"]
    assert one["id"] == str(fact.fact_id)
    assert one["would"].startswith("demoted: its confidence of 0.5 counts for 0.25")
    assert "(the limit is 90 days), and never found for a question" in one["why"]
    assert (await nous.json("facts"))[0]["demoted_at"] is None


async def test_the_story_of_a_fact_tells_when_it_was_demoted_and_by_what_it_counts_less(
    nous: Nous, database: Database, kit: Kit, redis: Redis
) -> None:
    fact = a_fact(agent_id="a")
    await put(database, fact)
    cause = MaintenanceDue(event_id="due", agent_id="a", occurred_at=datetime(2029, 1, 1, tzinfo=UTC), task="facts", period="p")
    event = FactUnused.following(cause, fact_id=fact.fact_id, step="demote")
    janitor = Life(workers.table()["fact_janitor"], replace(kit, settings=Settings(janitor="demote")), redis, "by-hand")
    with clock.held(event.occurred_at):
        await janitor.work([Entry("1893456000000-0", {b"data": encode(event)})])
    shown = (await nous("explain", "fact", str(fact.fact_id))).stdout
    assert "demoted: its confidence counted in full before, and counts for 0.5 of it since" in shown
    assert "(the limit is 90 days), and never found for a question" in shown
    assert "and never found for a question" in shown
    assert "by fact_janitor" in shown


async def test_old_notes_are_read_in_the_story_and_put_back_by_a_person(nous: Nous, database: Database) -> None:
    one = a_procedure(agent_id="a", implementation_notes=("Wait.",))
    async with database.write(["a"]) as db:
        await procedures.put(db, [one])
        await old_notes.put(db, [OldNotes("a", one.procedure_id, "piled", ("Wait 5 s.", "Wait 9 s."), ("Wait.",), (), "a-model", NOON)])
    shown = (await nous("explain", "procedure", str(one.procedure_id))).stdout
    assert "Its notes before they were put together on 2026-03-01 12:00 UTC:\nwas noted: Wait 5 s.\nwas noted: Wait 9 s." in shown
    back = await nous.json("procedure", "restore", str(one.procedure_id), "--because", "the seconds matter")
    assert back["procedure"]["implementation_notes"] == ["Wait 5 s.", "Wait 9 s."]
    again = await nous("procedure", "restore", str(one.procedure_id), "--because", "again")
    assert "there is nothing to undo" in again.output
    assert "the seconds matter" in (await nous("explain", "procedure", str(one.procedure_id))).stdout
