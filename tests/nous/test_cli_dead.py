"""`nous dead`: an operator sees what is parked and why, has it worked again or drops it, and is told what that led to."""

import json
from dataclasses import replace

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from events import FactLearned, MalformedEvent
from nous import clock
from nous.cli.dead_listing import alike, grouped
from store import receipts
from store.database import Database
from tests.factories import a_fact_learned, a_receipt
from tests.nous.conftest import Nous
from workers import table
from workers.runtime import parked as deliveries
from workers.runtime import record
from workers.runtime.life import Life
from workers.runtime.streams import Entry
from workers.runtime.worker import Kit

FACT = FactLearned.stream
BAD = b'{"fact_id": "00000000-0000-0000-0000-000000000001", "agent_id": "a", "event_id": "e-1", "content": 7}'
UNREADABLE = "no JSON \x1b[31m \u202e [bold]".encode()


@pytest.fixture
async def life(kit: Kit, redis: Redis) -> Life:
    """A deduplicator, worked by hand."""
    return Life(table()["deduplicator"], kit, redis, "by-hand")


async def park(life: Life, *bodies: bytes) -> None:
    for number, body in enumerate(bodies):
        await life.work([Entry(f"189345600{number:04}-0", {b"data": body})])


def bad(number: int, agent: str = "a") -> bytes:
    return BAD.replace(b"e-1", f"e-{number}".encode()).replace(b'"a"', f'"{agent}"'.encode())


async def test_the_latest_is_listed_first_and_filters_narrow_it(nous: Nous, life: Life) -> None:
    since = clock.now().isoformat()
    await park(life, bad(1), UNREADABLE, bad(3, agent="b"))
    listed = await nous.json("dead", "list")
    assert [(one["agent_id"], one["attempts"], one["state"]) for one in listed] == [
        ("b", 1, "parked"),
        ("", 1, "parked"),
        ("a", 1, "parked"),
    ]
    for option, value, expected in [
        ("--worker", "deduplicator", 3),
        ("--worker", "censor_escalator", 0),
        ("--stream", FACT, 3),
        ("--agent", "b", 1),
        ("--agent", "", 1),  # as of a variable that is not set: what has no agent, and not everybody's
        ("--reason", "CONTENT: input", 2),
        ("--reason", "100%", 0),
        ("--since", since, 3),
        ("--since", "2999-01-01", 0),
        ("--limit", "2", 2),
    ]:
        assert len(json.loads((await nous("dead", "list", option, value, "--json")).stdout)) == expected, (option, value)
    assert (await nous("dead", "list", "--agent", "c")).stdout == "Nothing is parked of agent 'c'.\nNothing is kept of agent 'c'.\n"


async def test_status_and_the_list_count_the_same(nous: Nous, life: Life, redis: Redis) -> None:
    await park(life, bad(1), bad(2))
    await redis.xadd(f"{FACT}.parked", {"data": "{}", "worker": "deduplicator", "agent_id": "a", "event_id": "settled long ago"})
    counted = {one["worker"]: one["parked"] for one in (await nous.json("status"))["workers"]}
    assert (counted["deduplicator"], len(await nous.json("dead", "list"))) == (2, 2)
    await nous("dead", "retry", "--all")
    counted = {one["worker"]: one["parked"] for one in (await nous.json("status"))["workers"]}
    assert (counted["deduplicator"], await nous.json("dead", "list")) == (0, [])


async def test_what_an_agent_said_is_shown_and_never_obeyed(nous: Nous, life: Life) -> None:
    await park(life, UNREADABLE, b'{"content": "\\u001b[31m [red]x[/red]", "agent_id": "a\\u202eb"}')
    for one in await nous.json("dead", "list"):
        for words in (["list"], ["show", one["id"]]):
            shown = (await nous("dead", *words)).stdout
            assert not {"\x1b", "\u202e"} & set(shown)
    assert "[red]x[/red]" in (await nous("dead", "show", (await nous.json("dead", "list"))[0]["id"])).stdout


async def test_a_terminal_counts_the_reasons_below_the_list_and_counts_alone_are_for_machines_too(nous: Nous, life: Life) -> None:
    await park(life, bad(1), bad(2), UNREADABLE)
    shown = (await nous("dead", "list", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="140")).stdout
    assert "3 parked" in shown
    assert "nous dead retry --all" in shown
    assert [(one["parked"], one["worker"]) for one in await nous.json("dead", "list", "--counts")] == [
        (2, "deduplicator"),
        (1, "deduplicator"),
    ]
    assert (await nous("dead", "list", "--counts")).stdout.splitlines()[0].startswith("2\tdeduplicator\tnot a valid fact_learned: content:")


async def test_one_is_meant_by_its_id_the_beginning_of_it_or_its_event(nous: Nous, life: Life) -> None:
    await park(life, bad(1), bad(2))
    one = (await nous.json("dead", "list"))[0]
    for name in (one["id"], one["id"][:6].upper(), "e-2"):
        shown = await nous.json("dead", "show", name)
        assert (shown["id"], shown["body"]) == (one["id"], bad(2).decode())
    for name in ("e-", one["id"][:3], "\udce9", "nothing"):
        result = await nous("dead", "show", name)
        assert (result.exit_code, "nous dead list shows what is" in result.stderr) == (2, True)


async def test_an_event_that_two_workers_parked_is_asked_about(nous: Nous, life: Life, database: Database) -> None:
    await park(life, bad(1))
    async with database.write(["a"]) as db:
        await receipts.insert(db, [a_receipt(agent_id="a", event_id="e-1", worker="censor_escalator", ending="parked", outcome="parked")])
    result = await nous("dead", "retry", "e-1")
    assert (result.exit_code, "fits several" in result.stderr, "by censor_escalator" in result.stderr) == (2, True, True)
    assert (await nous("dead", "retry", "e-1", "--worker", "deduplicator")).exit_code == 0


async def test_a_retry_says_that_nobody_runs_who_could_work_it(nous: Nous, life: Life) -> None:
    await park(life, bad(1))
    result = await nous("dead", "retry", "e-1")
    assert (result.exit_code, result.stdout) == (0, "1 delivery will be worked again by deduplicator, and by no other\n")
    assert "no deduplicator is running, so they wait; start one: nous work deduplicator" in result.stderr
    again = await nous("dead", "retry", "e-1")
    assert again.stdout.startswith("1 delivery left alone, for it is decided already")
    assert "It waits for its next attempt." in (await nous("dead", "show", "e-1")).stdout


@pytest.mark.usefixtures("working")
async def test_a_fixed_bug_and_retry_all_leave_nothing_behind(
    nous: Nous, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode, is_fixed = record.decode, False

    def broken(kind: type[FactLearned], body: bytes, entry_id: str, **more: object) -> object:
        if not is_fixed and kind is FactLearned:
            raise MalformedEvent("the decoder has a bug", {"agent_id": "a", "event_id": json.loads(body)["event_id"]})
        return decode(kind, body, entry_id, **more)

    monkeypatch.setattr(record, "decode", broken)
    monkeypatch.setattr(deliveries, "AT_ONCE", 10)
    for number in range(25):
        await redis.xadd(FACT, {"data": a_fact_learned(agent_id="a", event_id=f"e-{number}").model_dump_json()})
    assert (await nous("wait")).exit_code == 0
    assert len(await nous.json("dead", "list", "--json")) == 25
    is_fixed = True
    told = await nous.json("dead", "retry", "--all")
    assert (len(told["retried"]), told["left_alone"], told["without_body"], told["not_running"]) == (25, [], [], [])
    assert (await nous("wait")).exit_code == 0
    assert (await nous.json("dead", "list"), await redis.xlen(f"{FACT}.parked")) == ([], 0)
    async with database.read(["a"]) as db:
        told_of = await receipts.of_agent(db, "a", "deduplicator")
    assert [(one.outcome, len(one.evidence["was_parked"])) for one in told_of] == [("stored", 1)] * 25
    shown = await nous("dead", "show", "e-7", "--agent", "a")
    assert ("the decoder has a bug" in shown.stdout, "It is settled" in shown.stdout) == (True, True)
    story = (await nous("explain", "event", "e-7", "--agent", "a")).stdout
    assert ("parked before, " in story, "because: the decoder has a bug; retried " in " ".join(story.split())) == (True, True), story
    assert "is settled: deduplicator ended it as stored" in (await nous("dead", "retry", "e-7", "--agent", "a")).stderr


async def test_what_is_dropped_is_kept_and_the_drop_can_be_undone_as_it_says(nous: Nous, life: Life) -> None:
    await park(life, bad(1), UNREADABLE)
    assert (await nous("dead", "drop", "e-1")).exit_code == 2, "nothing is dropped without a reason"
    assert "--because" in (await nous("dead", "drop", "e-1", "--because", " ")).stderr
    dropped = await nous("dead", "drop", "e-1", "--because", "a test of the producer")
    told, next_ = dropped.stdout.splitlines()
    assert told == "1 delivery dropped; what was said stays in the archive"
    assert next_.startswith("nous dead list --dropped shows what was; nous dead retry ")
    (one,) = await nous.json("dead", "list", "--dropped")
    assert (one["reason"], "content" in one["parked_because"]) == ("a test of the producer", True)
    assert one["parked_at"] < one["dropped_at"]
    undo = next_.partition("; ")[2].removesuffix(" undoes it")
    shown = await nous.json("dead", "show", "e-1")
    assert (shown["state"], shown["body"], shown["body_found_in"]) == ("dropped", bad(1).decode(), "the archive")
    assert len(await nous.json("dead", "list")) == 1
    story = (await nous("explain", "event", "e-1")).stdout
    told = ("dropped  by operator", "not to be worked by deduplicator, because: a test of the producer", "parked before, ")
    assert [one for one in told if one not in story] == [], story
    assert (await nous(*undo.split()[1:])).exit_code == 0
    assert (await nous.json("dead", "show", "e-1"))["state"] == "worked again"


async def test_what_has_no_body_left_cannot_be_retried_and_the_exit_code_says_so(
    nous: Nous, life: Life, redis: Redis, database: Database
) -> None:
    await park(life, bad(1))
    await redis.flushall()
    async with database.erase(["a"]) as db:
        await db.execute(text("DELETE FROM bus.events"))
    result = await nous("dead", "retry", "--all")
    assert (result.exit_code, "neither in Redis nor in the archive" in result.stderr) == (1, True)
    assert "cannot be worked again" in (await nous("dead", "show", "e-1")).stdout


async def test_what_a_worker_of_another_version_parked_is_listed_and_said_to_have_nobody(
    nous: Nous, life: Life, database: Database
) -> None:
    await park(life, bad(1))
    async with database.write(["a"]) as db:
        (one,) = await receipts.of_agent(db, "a", "deduplicator")
        await receipts.insert(db, [replace(one, worker="retired_worker")])
    name = next(one["id"] for one in await nous.json("dead", "list") if one["worker"] == "retired_worker")
    assert "No worker is called retired_worker in this version" in " ".join((await nous("dead", "show", name)).stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dead", "retry"], "say which: nous dead retry ID ..., or --all"),
        (["dead", "drop", "--because", "x"], "say which: nous dead drop ID ..., or --all"),
        (["dead", "retry", "x", "--all"], "ids and --all were both given"),
        (["dead", "list", "--worker", "deduplicater"], "did you mean deduplicator?"),
        (["dead", "list", "--stream", "fact_lerned"], "did you mean fact_learned?"),
        (["dead", "list", "--since", "yesterday"], "--since 'yesterday' is no time"),
    ],
)
async def test_a_mistake_is_one_sentence(nous: Nous, words: list[str], said: str) -> None:
    result = await nous(*words)
    assert (result.exit_code, said in result.stderr) == (2, True)
    assert len(result.stderr.splitlines()) == 1


async def test_all_of_every_worker_is_dropped_only_by_one_who_is_sure(nous: Nous, life: Life) -> None:
    for number in range(2):
        await park(life, bad(number))
    asked = await nous("dead", "drop", "--all", "--because", "x")
    assert (asked.exit_code, "drops 2 deliveries, whichever worker parked them" in asked.stderr) == (2, True)
    assert len(await nous.json("dead", "list")) == 2
    narrowed = await nous("dead", "drop", "--all", "--agent", "nobody", "--because", "x")
    assert (narrowed.exit_code, narrowed.stdout) == (0, "nothing to drop\n")
    assert (await nous("dead", "drop", "--all", "--yes", "--because", "x")).exit_code == 0
    assert await nous.json("dead", "list") == []


async def test_the_list_of_what_was_dropped_tells_both_reasons_and_both_times(nous: Nous, life: Life) -> None:
    await park(life, bad(1))
    (parked,) = await nous.json("dead", "list")
    await nous("dead", "drop", "e-1", "--because", "a test of the producer")
    names, row = ((await nous("dead", "list", "--dropped")).stdout.splitlines())[:2]
    told = dict(zip(names.split("\t"), row.split("\t"), strict=True))
    assert (told["parked_because"], told["dropped_because"]) == (parked["reason"], "a test of the producer")
    assert (told["parked"], bool(told["dropped"])) == (parked["parked_at"][:16].replace("T", " "), True)
    for columns in ("80", "140"):
        shown = " ".join((await nous("dead", "list", "--dropped", FORCE_COLOR="1", NO_COLOR="1", COLUMNS=columns)).stdout.split())
        assert "dropped: a test of the producer" in shown
        assert f"parked: {parked['reason'][:20]}" in shown


async def test_with_nothing_parked_there_is_nothing_to_do(nous: Nous) -> None:
    for words in (["retry", "--all"], ["drop", "--all", "--because", "x"]):
        result = await nous("dead", *words)
        assert (result.exit_code, result.stdout.startswith("nothing to ")) == (0, True)


def test_reasons_that_differ_in_their_values_only_are_counted_as_one() -> None:
    same = [
        "agent 'a' has no censor c3c477aa-2b7d-43cd-9c46-51b8f833eb43 (after 3 attempts)",
        'agent "it\'s b" has no censor 595816b1-9625-5138-a968-b1aaa8436b77 (after 12 attempts)',
    ]
    assert len({alike(reason) for reason in same}) == 1
    assert len({alike("content: got 'xx... (9,000 characters)"), alike("content: got 'y... (8,001 characters)")}) == 1
    assert alike("TimeoutError: it took too long") == "TimeoutError: it took too long"
    assert grouped([("w", "1 a", 2), ("w", "b", 4), ("w", "2 a", 3), ("v", "1 a", 1)]) == [("w", "… a", 5), ("w", "b", 4), ("v", "… a", 1)]
