"""Two facts that no mind settled, mended by a person at the command line: one fact, or one that ended the other."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from nous import embedded
from store import receipts
from store.database import Database
from tests.nous.conftest import Nous, PortsAreAlike, at_work, contents, learned
from tests.store.conftest import run
from tests.workers.conftest import ScriptedMind
from workers.runtime.worker import Kit

OSLO, BERGEN, AGAIN = "Maria lives in Oslo.", "Maria lives in Bergen.", "Oslo is where Maria lives."
OPEN, SAID_OTHERWISE = "The port is not open.", "The port isn't open."


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    """Every worker, with a mind that cannot tell."""
    async with at_work(replace(kit, embedder=PortsAreAlike(), mind=ScriptedMind()), stack):
        yield


@pytest.mark.usefixtures("working")
async def test_two_facts_are_merged_and_split_again(nous: Nous, database: Database, redis: Redis) -> None:
    oslo, again = await learned(nous, OSLO, 1), await learned(nous, AGAIN, 2)
    before = await nous.json("facts", "--all")
    done = await nous.json("fact", "merge", again[:8], oslo, "--because", "one and the same home")
    assert (done["outcome"], done["fact"]["merged_into"], done["other"]["fact_id"]) == ("merged", oslo, oslo)
    assert (await nous("wait")).exit_code == 0
    (fact,) = await nous.json("facts")
    assert (fact["content"], [one["content"] for one in fact["mentions"]]) == (OSLO, [OSLO, AGAIN])
    async with database.overview() as db:
        receipt = (await receipts.of_agent(db, "a", receipts.OPERATOR))[-1]
    assert (receipt.stream, receipt.outcome, receipt.reason) == ("fact_joined", "merged", "one and the same home")
    assert (receipt.evidence["before"]["merged_into"], receipt.evidence["after"]["merged_into"]) == (None, oslo)
    assert [name.partition(":")[0] for name in receipt.derived] == ["fact_joined", "fact_merged"]
    [(_, told)] = await redis.xrange("fact_joined")
    assert json.loads(told[b"data"])["joined_with"] == oslo
    assert done["undone_by"] == f"nous fact split {again} --because '…'"
    assert (await nous("fact", "split", again, "--because", "two homes")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    names = ("fact_id", "content", "active", "valid_from", "valid_to", "superseded_by", "merged_into", "confirmation_count")
    after = await nous.json("facts", "--all")
    assert [[one[name] for name in names] for one in after] == [[one[name] for name in names] for one in before]


@pytest.mark.usefixtures("working")
async def test_a_fact_is_retired_for_another_and_restored_again(nous: Nous, database: Database) -> None:
    oslo, bergen = await learned(nous, OSLO, 1), await learned(nous, BERGEN, 3)
    result = await nous("fact", "retire", oslo, "--for", bergen[:8], "--because", "she moved")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        f"retired “{OSLO}” for “{BERGEN}”; no mind is asked about these two again",
        f"  {oslo}  was true from 2026-03-01 00:00 to 2026-03-03 00:00 UTC",
        f"  undone by: nous fact restore {oslo} --because '…'",
    ]
    assert (await nous("wait")).exit_code == 0
    assert (await contents(nous), await contents(nous, "--as-of", "2026-03-02")) == ([BERGEN], [OSLO])
    async with database.overview() as db:
        receipt = (await receipts.of_agent(db, "a", receipts.OPERATOR))[-1]
    assert (receipt.stream, receipt.outcome, str(receipt.about)) == ("fact_retired", "retired", oslo)
    assert [name.partition(":")[0] for name in receipt.derived] == ["fact_retired", "fact_superseded", "fact_unsettled"]
    assert (await nous("fact", "restore", oslo, "--because", "she kept both")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    assert await contents(nous) == [OSLO, BERGEN]


@pytest.mark.usefixtures("working")
async def test_where_what_is_true_instead_is_not_told_either_the_command_says_so(nous: Nous, database: Database) -> None:
    oslo, bergen, again = await learned(nous, OSLO, 1), await learned(nous, BERGEN, 3), await learned(nous, AGAIN, 5)
    assert (await nous("fact", "retire", bergen, "--for", again, "--because", "she is back")).exit_code == 0
    result = await nous("fact", "retire", oslo, "--for", bergen, "--because", "she moved")
    assert f"  {bergen}  was true until 2026-03-05 00:00 UTC, when {again} retired it" in result.stdout.splitlines()
    assert (await nous("fact", "restore", oslo, "--because", "she kept both")).exit_code == 0
    async with database.write(["a"]) as db:
        await run(db, f"UPDATE heart.facts SET active = false, archived_at = recorded_at WHERE fact_id = '{again}'")
    result = await nous("fact", "retire", oslo, "--for", again, "--because", "x")
    assert f"  {again}  is archived, so neither is told; nous fact restore {again} --because '…' has it at hand again" in result.stdout


@pytest.mark.usefixtures("working")
async def test_what_was_decided_is_part_of_the_stories_of_both_facts(nous: Nous) -> None:
    oslo, again, bergen = await learned(nous, OSLO, 1), await learned(nous, AGAIN, 2), await learned(nous, BERGEN, 3)
    result = await nous("fact", "merge", oslo, again, "--because", "one home")
    assert result.stdout.splitlines() == [
        f"merged “{AGAIN}” into “{OSLO}”; no mind is asked about these two again",
        f"  {oslo}  is true since 2026-03-01 00:00 UTC, and was heard 2 times",
        f"  undone by: nous fact split {again} --because '…'",
    ]
    assert (await nous("fact", "retire", again, "--for", bergen, "--because", "she moved")).exit_code == 2, (
        "a part is not retired by itself"
    )
    assert (await nous("fact", "retire", oslo, "--for", bergen, "--because", "she moved")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    for one in (oslo, again):
        told = (await nous.json("explain", "fact", one))["decisions"]
        assert [(step["outcome"], step["reason"]) for step in told] == [("merged", "one home"), ("retired", "she moved")]
    shown = (await nous("explain", "fact", bergen)).stdout
    assert "because: she moved" in shown
    assert f"superseded by {bergen}" in (await nous("explain", "fact", oslo)).stdout


@pytest.mark.usefixtures("working")
async def test_a_wording_that_was_confirmed_is_meant_by_its_fact(nous: Nous) -> None:
    opened, otherwise = await learned(nous, OPEN, 1), await learned(nous, SAID_OTHERWISE, 2)
    result = await nous("fact", "merge", otherwise, opened, "--because", "x")
    assert (result.exit_code, "are one fact already" in result.stderr) == (2, True)


@pytest.mark.usefixtures("working")
async def test_what_cannot_be_decided_is_one_sentence_and_changes_nothing(nous: Nous) -> None:
    oslo, bergen = await learned(nous, OSLO, 1), await learned(nous, BERGEN, 3)
    other = await learned(nous, AGAIN, 2, agent_id="b")
    before = await nous.json("facts", "--all")
    for words, sentence in (
        (["merge", oslo, oslo], f"{oslo} is both of the two: they are one fact already"),
        (["merge", oslo, other], f"{oslo} is a fact of agent 'a', and {other} one of 'b'; nothing is decided across agents"),
        (["merge", "abcdef", oslo], "no fact came of 'abcdef'"),
        (["merge", oslo, "abcdef"], "no fact came of 'abcdef'"),
        (["retire", bergen, "--for", oslo], f"{oslo} '{OSLO}' was last claimed before {bergen} '{BERGEN}', and a later claim ends"),
        (["retire", oslo, "--for", other], f"{oslo} is a fact of agent 'a', and"),
    ):
        result = await nous("fact", *words, "--because", "x")
        assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1), result.stderr
        assert result.stderr.startswith(f"nous: {sentence}")
    for words in (["merge", oslo, bergen], ["retire", oslo, "--for", bergen]):
        assert "--because does not do: it is empty" in (await nous("fact", *words, "--because", " ")).stderr
    assert await nous.json("facts", "--all") == before


@pytest.mark.usefixtures("working")
async def test_decided_twice_it_is_said_that_nothing_is_left_to_do(nous: Nous) -> None:
    oslo, again, bergen = await learned(nous, OSLO, 1), await learned(nous, AGAIN, 2), await learned(nous, BERGEN, 3)
    for words, sentence in (
        (["merge", oslo, again], "are one fact already"),
        (["retire", oslo, "--for", bergen], "is retired already, by"),
    ):
        assert (await nous("fact", *words, "--because", "x")).exit_code == 0
        twice = await nous("fact", *words, "--because", "x")
        assert (twice.exit_code, sentence in twice.stderr) == (2, True), twice.stderr


@pytest.mark.usefixtures("working")
async def test_why_a_person_decided_is_forgotten_with_the_fact_and_what_it_had_ended_stays_ended(nous: Nous, database: Database) -> None:
    oslo, again, bergen = await learned(nous, OSLO, 1), await learned(nous, AGAIN, 2), await learned(nous, BERGEN, 3)
    for words in (["merge", oslo, again], ["retire", oslo, "--for", bergen]):
        assert (await nous("fact", *words, "--because", f"I know of {OSLO}")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    done = await nous.json("fact", "forget", again, "--because", "she asked for it", "--yes")
    assert (done["is_whole"], done["same_words"], sorted(done["forgotten"])) == (True, [], sorted([oslo, again]))
    async with database.overview() as db:
        kept = await run(db, "SELECT stream FROM bus.events WHERE stream IN ('fact_joined', 'fact_retired') AND body <> ''")
    assert kept == []
    for words in (["merge", bergen, oslo], ["retire", bergen, "--for", oslo]):
        result = await nous("fact", *words, "--because", "x")
        assert (result.exit_code, "was forgotten on" in result.stderr) == (2, True)
    assert await contents(nous) == [BERGEN]


@pytest.mark.usefixtures("working")
async def test_what_a_person_retired_stays_retired_when_what_ended_it_is_forgotten(nous: Nous) -> None:
    oslo, bergen = await learned(nous, OSLO, 1), await learned(nous, BERGEN, 3)
    assert (await nous("fact", "retire", oslo, "--for", bergen, "--because", "she moved")).exit_code == 0
    assert (await nous("wait")).exit_code == 0
    assert (await nous("fact", "forget", bergen, "--because", "she asked for it", "--yes")).exit_code == 0
    await learned(nous, OSLO, 1, event_id="the same day again")
    assert await contents(nous) == []


@pytest.mark.parametrize(("event", "verb"), [("fact_joined", "merge"), ("fact_retired", "retire")])
async def test_a_decision_is_made_by_command_not_published(nous: Nous, event: str, verb: str) -> None:
    result = await nous("publish", event, "a=b")
    assert f"only the command nous fact {verb} publishes it" in result.stderr
