"""The `nous` command against the real stack of this run: what it prints, what it sends, and how it ends."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from redis.asyncio import Redis
from sqlalchemy import text

import workers
from nous import clock, embedded, ids
from nous.cli import demo
from nous.settings import Settings
from store import outbox, receipts, retries
from store.censors import DEFAULT_ESCALATION_THRESHOLD
from store.database import Database
from tests.conftest import until
from tests.nous.conftest import Nous
from workers.runtime import streams
from workers.runtime.app import Process
from workers.runtime.look import silent_after_s
from workers.runtime.worker import Kit

FACT = "fact_learned"


def a_line(content: str = "The cat is called Mimi.", **fields: object) -> str:
    return json.dumps({"fact_id": str(ids.new()), "agent_id": "a", "content": content, **fields})


async def sent(redis: Redis, stream: str = FACT) -> list[dict[str, Any]]:
    return [json.loads(fields[b"data"]) for _, fields in await redis.xrange(stream)]


# ── the command itself ────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_help_lists_every_command_in_a_sensible_order(nous: Nous) -> None:
    shown = (await nous("--help")).stdout
    names = (
        "demo",
        "up",
        "work",
        "migrate",
        "reembed",
        "publish",
        "wait",
        "session",
        "status",
        "workers",
        "facts",
        "episodes",
        "decisions",
        "procedures",
        "explain",
        "answers",
        "trial",
        "calibrate",
        "replay",
        "diff",
        "export",
        "import",
        "fact",
        "agent",
        "episode",
        "dead",
        "group",
        "censor",
    )
    places = [shown.index(f"│ {name} ") for name in names]
    assert places == sorted(places)
    assert len(shown.splitlines()) < 60


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = {"sqlalchemy", "numpy", "faststream", "pydantic", "redis", "structlog", "alembic"}
    code = f"import sys, nous.cli; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["publish", "fact_lerned", "a=b"], "did you mean fact_learned?"),
        (["publish", FACT], "say what to publish"),
        (["publish", FACT, "a=b", "--file", "f"], "not both can be published"),
        (["publish", "fact_stored", "a=b"], "only the worker deduplicator publishes it; agents publish fact_learned, "),
        (["publish", "censor_escalated", "--file", "f"], "only the worker censor_escalator publishes it"),
        (["publish", "censor_added", "a=b"], "only the command nous censor add publishes it"),
        (["publish", "agent_forgotten", "agent_id=a"], "only the command nous agent forget publishes it"),
        (["publish", "episode_closed", "decision_ids=[x"], "decision_ids is a list, and '[x' is not JSON"),
        (["publish", FACT, "content=x", "agent_id=a", "occurred_at=0001-01-01T00:00:00+14:00"], "occurred_at: "),
        (["censor", "add", "--agent", "a", "--pattern", " ", "--reason", "r"], "--pattern does not do: it is empty"),
        (["publish", FACT, "--file", "/nowhere.jsonl"], "/nowhere.jsonl cannot be read: no such file"),
        (["publish", FACT, "--file", "/"], "is a directory"),
        (["publish", FACT, "content"], "'content' is not key=value"),
        (["publish", FACT, "contnet=x"], "no field 'contnet' (did you mean content?)"),
        (["publish", FACT, "content=x"], "agent_id: field required"),
        (["publish", FACT, "content=x", "agent_id=a", "confidence=2"], "confidence: input should be less than or equal to 1, got '2'"),
        (["publish", FACT, "content=x", "content=y"], "content is given twice"),
        (["work", "dedup"], f"the workers are archivist, {', '.join(list(workers.table())[:-1])} and upkeep_planner"),
        (["explain", "fact", "zz"], "'zz' is not an id"),
        (["explain", "fact", "abc"], "too short to mean one id"),
        (["explain", "fact", "abcdef"], "no fact came of 'abcdef'"),
        (["explain", "fact", "abcdef", "--agent", "b"], "no fact of agent 'b' came of 'abcdef'"),
        (["explain", "censor", "abcdef"], "there is no censor 'abcdef'"),
        (["censor", "relax", "abcdef", "--reason", "x"], "there is no censor 'abcdef'"),
        (["censor", "add", "--agent", "", "--pattern", "p", "--reason", "r"], "--agent does not do"),
    ],
)
async def test_a_mistake_is_one_sentence_and_exit_code_2(nous: Nous, words: list[str], told: str) -> None:
    result = await nous(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("nous: ")
    assert told in result.stderr
    assert "alue error" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("env", "code", "told"),
    [
        ({"NOUS_REDIS_URL": ""}, 2, "NOUS_DATABASE_URL is set and NOUS_REDIS_URL is not"),
        ({"NOUS_REDIS_URL": "", "NOUS_DATABASE_URL": ""}, 3, "nothing runs in "),
        ({"NOUS_REDIS_URL": "localhost:6379"}, 2, "NOUS_REDIS_URL is not a Redis URL"),
        ({"NOUS_REDIS_URL": "redis://h:notaport"}, 2, "NOUS_REDIS_URL is not a Redis URL"),
        ({"NOUS_REDIS_URL": "redis://h:6379?foo=bar"}, 2, "NOUS_REDIS_URL is not a Redis URL"),
        ({"NOUS_DATABASE_URL": "localhost"}, 2, "NOUS_DATABASE_URL is not a Postgres URL"),
        ({"NOUS_DATABASE_URL": "mysql://u:secret@h/db"}, 2, "NOUS_DATABASE_URL is not a Postgres URL"),
        ({"NOUS_DATABASE_URL": "postgresql://u:secret@h:notaport/db"}, 2, "NOUS_DATABASE_URL is not a Postgres URL"),
        ({"NOUS_DATABASE_URL": "postgresql://u:secret@h:99999/db"}, 2, "NOUS_DATABASE_URL is not a Postgres URL"),
        ({"NOUS_DATABASE_URL": "postgresql://u:secret@h/db?port=x"}, 2, "NOUS_DATABASE_URL is not a Postgres URL"),
        ({"NOUS_DATABASE_URL": "postgresql://u:secret@h/db?sslmode=require"}, 2, "?sslmode=, which asyncpg does not know"),
        ({"NOUS_EMBEDDER": "bert"}, 2, "NOUS_EMBEDDER is set to 'bert'"),
        ({"NOUS_DATABASE_URL": "postgresql://nous:x@127.0.0.1:1/nous"}, 3, "Postgres is not answering"),
    ],
)
async def test_a_stack_that_cannot_be_reached_is_one_sentence(nous: Nous, env: dict[str, str], code: int, told: str) -> None:
    result = await nous("status", **env)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr
    assert "secret" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


async def test_a_redis_that_is_away_is_an_outage(nous: Nous) -> None:
    result = await nous("publish", FACT, "agent_id=a", "content=x", NOUS_REDIS_URL="redis://127.0.0.1:1")
    assert result.exit_code == 3
    assert "Redis is not answering" in result.stderr


async def test_a_database_that_was_never_migrated_says_what_to_run_and_migrate_does_it(nous: Nous, stack: embedded.Stack) -> None:
    connection = await asyncpg.connect(stack.database_url)
    await connection.execute("DROP DATABASE IF EXISTS bare WITH (FORCE)")
    await connection.execute("CREATE DATABASE bare")
    bare = f"{stack.database_url.rpartition('/')[0]}/bare"
    try:
        refused = await nous("facts", NOUS_DATABASE_URL=bare)
        assert (refused.exit_code, "run: nous migrate" in refused.stderr) == (2, True)
        assert (await nous.json("migrate", NOUS_DATABASE_URL=bare))["applied"]
        assert "the database is current" in (await nous("migrate", NOUS_DATABASE_URL=bare)).stdout
        assert await nous.json("facts", NOUS_DATABASE_URL=bare) == []
    finally:
        await connection.execute("DROP DATABASE bare WITH (FORCE)")
        await connection.close()


# ── publish ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_bad_lines_are_told_with_their_numbers_and_the_rest_is_sent(nous: Nous, redis: Redis, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join([a_line("one"), "not json", "", '{"agent_id": "a", "quote": "no content"}', "[]", a_line("two")]))
    result = await nous("publish", FACT, "--file", str(file))
    assert result.exit_code == 1
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == ["line 2", "line 4", "line 5"]
    assert "line 4: not a valid fact_learned: content: field required\n" in result.stderr
    assert "2 events sent to fact_learned, 3 rejected" in result.stdout
    assert [event["content"] for event in await sent(redis)] == ["one", "two"]


async def test_of_many_bad_lines_the_first_are_told_and_all_are_in_json(nous: Nous) -> None:
    lines = "[]\n" * 1_234
    result = await nous("publish", FACT, "--file", "-", stdin=lines)
    told = result.stderr.splitlines()
    assert [line.split(": ")[0] for line in told[:-1]] == [f"line {number}" for number in range(1, 21)]
    assert told[-1] == "and 1,214 more like these; --json lists them all"
    data = json.loads((await nous("publish", FACT, "--file", "-", "--json", stdin=lines)).stdout)
    assert [one["line"] for one in data["rejects"]] == list(range(1, 1_235))


async def test_a_field_that_looks_misspelt_is_sent_and_warned_about_once(nous: Nous, redis: Redis) -> None:
    lines = [a_line("one", provenence="user_stated", mood="good"), a_line("two", provenence="user_stated", source="s", sources="t")]
    result = await nous("publish", FACT, "--file", "-", stdin="\n".join(lines))
    assert (result.exit_code, result.stderr) == (
        0,
        "warning: line 1: fact_learned has no field 'provenence'; sent as it is, is it provenance?\n",
    )
    assert [one["provenence"] for one in await sent(redis)] == ["user_stated"] * 2


async def test_a_fact_without_an_id_gets_the_one_that_follows_from_agent_and_content_in_both_modes(nous: Nous, redis: Redis) -> None:
    told = await nous.json("publish", FACT, "agent_id=a", "content=x")
    again = await nous("publish", FACT, "agent_id=a", "content=x")
    assert f"fact_id   {told['fact_id']}  (follows from agent_id and content)" in again.stdout
    lines = '{"agent_id": "a", "content": "x"}\n{"agent_id": "b", "content": "x", "fact_id": null}\n'
    from_file = await nous("publish", FACT, "--file", "-", stdin=lines)
    assert "2 came without a fact_id, and got the one that follows from agent_id and content" in from_file.stdout
    *same, other = [(UUID(one["fact_id"]), one["event_id"]) for one in await sent(redis)]
    assert same == [(UUID(told["fact_id"]), told["event_id"])] * 3
    assert other[0] != same[0][0]
    listed = json.loads((await nous("publish", FACT, "--file", "-", "--json", stdin=lines)).stdout)
    assert listed["events"][0]["fact_id"] == told["fact_id"]


@pytest.mark.parametrize(
    "words", [['decision_ids=["{0}", "{1}"]'], ["decision_ids={0}", "decision_ids={1}"], ['decision_ids=["{0}"]', "decision_ids={1}"]]
)
async def test_a_list_is_typed_as_json_or_again_and_again(nous: Nous, redis: Redis, words: list[str]) -> None:
    one, two = str(ids.new()), str(ids.new())
    typed = [word.format(one, two) for word in words]
    assert (await nous("publish", "episode_closed", "agent_id=a", f"episode_id={ids.new()}", *typed)).exit_code == 0
    assert [event["decision_ids"] for event in await sent(redis, "episode_closed")] == [[one, two]]


async def test_a_line_is_sent_as_it_was_written_with_the_id_a_retry_would_have(nous: Nous, redis: Redis) -> None:
    with_id, without = a_line("one", event_id="mine", mood="good"), a_line("two", mood="bad")
    for _ in range(2):
        assert (await nous("publish", FACT, "--file", "-", stdin=f"{with_id}\r\n{without}\n")).exit_code == 0
    first, second, *again = await sent(redis)
    assert (first["event_id"], first["mood"]) == ("mine", "good")
    assert (second["mood"], "occurred_at" in second) == ("bad", False)
    assert [one["event_id"] for one in again] == ["mine", second["event_id"]]


async def test_a_trigger_without_an_id_is_new_each_time(nous: Nous, redis: Redis) -> None:
    line = json.dumps({"censor_id": str(ids.new()), "agent_id": "a", "was_blocked": False})
    await nous("publish", "censor_triggered", "--file", "-", stdin=f"{line}\n{line}\n")
    first, second = await sent(redis, "censor_triggered")
    assert first["event_id"] != second["event_id"]


async def test_every_sent_event_has_its_ids_in_json_and_by_line(nous: Nous, redis: Redis) -> None:
    lines = "\n".join([a_line("one"), "{}", a_line("two")])
    told = await nous("publish", FACT, "--file", "-", "--json", stdin=lines)
    data = json.loads(told.stdout)
    assert (data["stream"], data["sent"], data["rejected"], data["rejects"][0]["line"]) == (FACT, 2, 1, 2)
    entries = [entry.decode() for entry, _ in await redis.xrange(FACT)]
    assert [(one["line"], one["entry_id"]) for one in data["events"]] == [(1, entries[0]), (3, entries[1])]
    by_line = await nous("publish", FACT, "--file", "-", "--ids", stdin=lines)
    assert [line.split()[0] for line in by_line.stdout.splitlines()] == [one["event_id"] for one in data["events"]]
    assert "2 events sent" in by_line.stderr


async def test_an_empty_file_sends_nothing_and_is_no_mistake(nous: Nous) -> None:
    result = await nous("publish", FACT, "--file", "-", "--json", stdin="\n\n")
    assert (result.exit_code, json.loads(result.stdout)["sent"]) == (0, 0)


async def test_a_line_longer_than_any_event_is_rejected_alone(nous: Nous, redis: Redis) -> None:
    result = await nous("publish", FACT, "--file", "-", stdin=f"{a_line('one')}\n{a_line('x' * 6_000_000)}\n{a_line('two')}")
    assert (result.exit_code, "line 2: the line has 6,000," in result.stderr) == (1, True)
    assert [event["content"] for event in await sent(redis)] == ["one", "two"]


async def test_thousands_of_lines_arrive_in_order(nous: Nous, redis: Redis) -> None:
    lines = "\n".join(a_line(f"fact {number}", event_id=str(number)) for number in range(3_210))
    assert "3,210 events sent" in (await nous("publish", FACT, "--file", "-", stdin=lines)).stdout
    assert [event["event_id"] for event in await sent(redis)] == [str(number) for number in range(3_210)]


async def test_key_value_reads_each_field_by_its_type_and_makes_a_fact_id(nous: Nous, redis: Redis) -> None:
    told = await nous.json("publish", FACT, "agent_id=7", "content=2 = 1 + 1", "confidence=0.9")
    assert await sent(redis) == [
        {"fact_id": told["fact_id"], "agent_id": "7", "content": "2 = 1 + 1", "confidence": 0.9, "event_id": told["event_id"]}
    ]
    result = await nous("publish", "censor_triggered", "agent_id=7", "was_blocked=true", f"censor_id={ids.new()}")
    (trigger,) = await sent(redis, "censor_triggered")
    assert (trigger["was_blocked"], trigger["event_id"] in result.stdout) == (True, True)


async def test_an_event_nobody_listens_to_is_sent_with_a_note(nous: Nous, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "consumers", dict)
    result = await nous("publish", "episode_closed", "agent_id=a", f"episode_id={ids.new()}")
    assert (result.exit_code, "no worker listens on episode_closed" in result.stderr) == (0, True)


# ── wait and status ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_wait_says_what_is_left_when_the_time_is_over(nous: Nous) -> None:
    await nous("publish", FACT, "agent_id=a", "content=x")
    result = await nous("wait", "--timeout", "0")
    assert result.exit_code == 1
    assert "deduplicator: 1 unread; no deduplicator is running" in result.stderr
    told = await nous("wait", "--timeout", "0", "--json")
    assert json.loads(told.stdout) == {"settled": False, "left": ["deduplicator: 1 unread; no deduplicator is running"], "parked": 0}


async def test_wait_shows_on_a_terminal_what_it_waits_for(nous: Nous) -> None:
    await nous("publish", FACT, "agent_id=a", "content=x")
    assert "waiting for deduplicator: 1 unread" in _plain((await nous("wait", "--timeout", "1", FORCE_COLOR="1")).stderr)


@pytest.mark.usefixtures("working")
async def test_wait_ends_when_all_is_settled_and_what_is_parked_does_not_count(nous: Nous) -> None:
    await nous("publish", FACT, "agent_id=a", "content=x")
    await nous("publish", "censor_triggered", "agent_id=a", "was_blocked=false", f"censor_id={ids.new()}")
    waited = await nous("wait")
    assert (waited.exit_code, waited.stdout, waited.stderr) == (0, "", "everything is worked; 1 is parked: nous dead list\n")
    seen = await nous.json("status")
    assert seen["verdict"] == {"tone": "bad", "title": "It needs a person"}
    by_name = {one["worker"]: one for one in seen["workers"]}
    escalator, deduplicator = by_name["censor_escalator"], by_name["deduplicator"]
    assert (seen["settled"], seen["outbox"], seen["unadjudicated"], seen["unsure"]) == (True, 0, 0, 0)
    assert list(by_name) == list(workers.table())
    assert (seen["archivist"]["worker"], seen["archivist"]["is_alive"]) == ("archivist", False)
    assert {name: escalator[name] for name in ("worker", "stream", "lag", "pending", "retrying", "parked")} == {
        "worker": "censor_escalator",
        "stream": "censor_triggered",
        "lag": 0,
        "pending": 0,
        "retrying": 0,
        "parked": 1,
    }
    assert (deduplicator["worker"], deduplicator["parked"], deduplicator["seen_s"] < 15) == ("deduplicator", 0, True)
    verdict, heading, *rows = (await nous("status")).stdout.splitlines()
    assert (verdict, heading.split()[-1], rows[0].split()[-1]) == ("It needs a person", "replicas", "1")
    assert [line.split()[0] for line in [heading, *rows[: len(by_name)]]] == ["worker", *by_name]


async def test_status_says_what_waits_longest_and_that_no_worker_runs(nous: Nous, database: Database) -> None:
    async with database.queue() as db:
        row = retries.Retry("deduplicator", "a", "e", FACT, "1-0", b"{}", 1, clock.now(), "the embedder is away", clock.now())
        await retries.set_aside(db, [row])
    shown = (await nous("status")).stdout
    assert "the longest waits because of: the embedder is away" in shown
    assert "No worker is running" in shown
    assert "retrying" in (await nous("wait", "--timeout", "0")).stderr


async def test_status_says_who_keeps_a_stream_from_being_trimmed_and_what_to_do(nous: Nous, redis: Redis) -> None:
    assert "cannot be trimmed" not in (await nous("status")).stdout
    await redis.xadd(FACT, {"data": b"{}"}, id="1700000000000-0")
    (held,) = [one for one in (await nous.json("status"))["streams"] if one["held_s"]]
    assert (held["stream"], held["entries"], held["needed_by"]) == (FACT, 1, "archivist")
    shown = (await nous("status")).stdout
    assert f"{FACT} keeps 1 entry and cannot be trimmed: the group archivist has needed the oldest for" in shown
    assert f"nous group drop {FACT} archivist" in shown
    for group in ("archivist", "deduplicator", "gone"):
        await redis.xgroup_create(FACT, group, id="$" if group != "gone" else "0")
    shown = (await nous("status")).stdout
    assert "the group gone has needed the oldest" in shown
    assert f"If its reader is gone for good: nous group drop {FACT} gone" in shown


async def test_the_archivist_is_shown_and_waited_for_only_while_one_runs(nous: Nous, redis: Redis) -> None:
    await redis.xadd("fact_confirmed", {"data": b"{}"})
    seen = await nous.json("status")
    assert (seen["settled"], seen["archivist"]["lag"], seen["archivist"]["is_alive"]) == (True, 1, False)
    assert re.search(r"archivist +\(all streams\) +1 +0 +none *\n", (await nous("status")).stdout)
    await redis.xgroup_create("fact_confirmed", "archivist", id="0")
    await redis.xreadgroup("archivist", "one", {"fact_confirmed": ">"})
    seen = await nous.json("status")
    assert (seen["settled"], seen["archivist"]["pending"], seen["archivist"]["is_alive"]) == (False, 1, True)
    await redis.xack("fact_confirmed", "archivist", (await redis.xrange("fact_confirmed"))[0][0])
    assert (await nous.json("status"))["settled"] is True


async def test_status_says_which_of_the_workers_does_not_run(nous: Nous, kit: Kit, stack: embedded.Stack) -> None:
    stop = asyncio.Event()
    running = asyncio.create_task(Process([workers.table()["deduplicator"]], kit, stack.redis_url).run(stop))
    *idle, last = [name for name in (*workers.table(), "archivist") if name != "deduplicator"]
    expected = f"No {', '.join(idle)} and {last} are running; start them: nous work {' '.join([*idle, last])}"

    async def is_said() -> bool:
        return expected in (await nous("status")).stdout

    await until(is_said, what=expected)
    stop.set()
    await running


async def test_status_says_what_a_silent_replica_holds_and_when_another_takes_it_over(nous: Nous, redis: Redis) -> None:
    await nous("publish", FACT, "agent_id=a", "content=x")
    await redis.xgroup_create(FACT, "deduplicator", id="0")
    await redis.xreadgroup("deduplicator", "gone", {FACT: ">"})
    assert "silent" not in (await nous("status")).stdout
    await asyncio.sleep(5.2)
    await streams.speak(redis, "deduplicator", "here", FACT)
    shown = (await nous("status", NOUS_CLAIM_AFTER_S="6")).stdout
    assert re.search(r"deduplicator: 1 held by a replica that is silent; taken over by another within [23] s", shown)
    assert "1 of them held by a replica that is silent" in (await nous("wait", "--timeout", "0", NOUS_CLAIM_AFTER_S="6")).stderr


@pytest.mark.usefixtures("working")
async def test_status_says_how_to_see_what_is_parked_and_what_to_do_about_it(nous: Nous) -> None:
    await nous("publish", "censor_triggered", "agent_id=a", "was_blocked=false", f"censor_id={ids.new()}")
    await nous("wait")
    assert (await nous("status")).stdout.splitlines()[-4:-1] == [
        "1 parked by censor_escalator. To see them, each with its reason:",
        "  nous dead list --worker censor_escalator",
        "Once the cause is mended: nous dead retry --all --worker censor_escalator",
    ]


@pytest.mark.parametrize(("claim_after_s", "after_s"), [(1, 5), (30, 15), (300, 150)])
def test_a_busy_replica_is_not_taken_for_gone_between_two_heartbeats(claim_after_s: float, after_s: float) -> None:
    settings = Settings(claim_after_s=claim_after_s)
    assert silent_after_s(settings) == after_s
    assert after_s > claim_after_s / 3


async def test_workers_are_shown_from_their_own_table(nous: Nous) -> None:
    told = await nous.json("workers")
    assert [one["worker"] for one in told] == [*workers.table(), "archivist"]
    assert next(one for one in told if one["worker"] == "deduplicator") == {
        "worker": "deduplicator",
        "stream": FACT,
        "does": workers.table()["deduplicator"].does,
        "outcomes": ["stored", "confirmed", "mentioned", "skipped", "parked"],
        "publishes": ["fact_stored", "fact_confirmed", "fact_unsettled"],
    }
    assert "censor_escalated" in (await nous("workers")).stdout


# ── facts and explain ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def two_ports(nous: Nous, working: None) -> dict[str, str]:
    """A port, told twice, and another port; the ids they were published under, by content."""
    told = {}
    for content, provenance in (("port 5432", "user_stated"), ("PORT  5432", "assistant_derived"), ("port 5433", "user_stated")):
        words = ("publish", FACT, "agent_id=a", f"content={content}", f"provenance={provenance}", "confidence=0.9", "source=test")
        told[content] = (await nous.json(*words))["fact_id"]
        assert (await nous("wait")).exit_code == 0
    return told


async def test_facts_show_every_wording_of_every_fact(nous: Nous, two_ports: dict[str, str]) -> None:
    await nous("publish", FACT, "agent_id=b", "content=port 5432")
    await nous("wait")
    told = await nous.json("facts", "--agent", "a")
    assert [fact["content"] for fact in told] == ["port 5432", "port 5433"]
    fact = told[0]
    assert (fact["fact_id"], fact["agent_id"], fact["active"], fact["superseded_by"]) == (two_ports["port 5432"], "a", True, None)
    assert (fact["confirmation_count"], fact["provenance"], fact["confidence"]) == (1, "user_stated", 0.9)
    assert (fact["subject"], fact["valid_to"], bool(fact["valid_from"])) == (None, None, True)
    assert [(one["content"], one["fact_id"], one["outcome"], one["similarity"]) for one in fact["mentions"]] == [
        ("port 5432", two_ports["port 5432"], "stored", 1.0),
        ("PORT  5432", two_ports["PORT  5432"], "confirmed", 1.0),
    ]
    assert {"event_id", "source", "provenance", "confidence", "occurred_at"} <= fact["mentions"][0].keys()
    assert {one["agent_id"] for one in await nous.json("facts")} == {"a", "b"}
    assert len(await nous.json("facts", "--limit", "1")) == 1


async def test_facts_are_a_line_each_in_a_pipe_and_a_table_on_a_terminal(nous: Nous, two_ports: dict[str, str]) -> None:
    header, *piped = (await nous("facts")).stdout.splitlines()
    assert header.split("\t") == ["fact_id", "agent_id", "heard", "provenance", "content", "inactive", "became"]
    assert [line.split("\t")[:4] for line in piped] == [
        [two_ports["port 5432"], "a", "×2", "user_stated"],
        [two_ports["port 5433"], "a", "×1", "user_stated"],
    ]
    shown = (await nous("facts", FORCE_COLOR="1", COLUMNS="60")).stdout
    assert two_ports["port 5432"] in shown
    assert max(map(len, _plain(shown).splitlines())) <= 60
    assert "\x1b[1;32m" in shown
    assert "\x1b[1;32m" not in (await nous("facts", FORCE_COLOR="1", NO_COLOR="1")).stdout


@pytest.mark.usefixtures("working")
async def test_what_an_agent_said_is_shown_and_never_obeyed(nous: Nous) -> None:
    await nous("publish", FACT, "--file", "-", stdin=a_line("[red]a\x1b[2Jb[/red]\nc\u202ed"))
    await nous("wait")
    shown = (await nous("facts")).stdout
    assert "[red]a�[2Jb[/red] c�d" in shown


async def test_explain_tells_each_event_with_the_guards_finding(nous: Nous, two_ports: dict[str, str]) -> None:
    told = await nous.json("explain", "fact", two_ports["port 5432"])
    steps = [(step["worker"], step["outcome"], step.get("mention", {}).get("content")) for step in told["story"]]
    assert steps == [
        ("deduplicator", "stored", "port 5432"),
        ("supersession_checker", "kept", None),
        ("deduplicator", "confirmed", "PORT  5432"),
    ]
    assert [name.partition(":")[0] for step in told["story"] for name in step["published"]] == ["fact_stored", "fact_confirmed"]
    (beside,) = told["stored_beside"]
    assert (beside["about"], beside["candidates"][0]["guard"]) == (two_ports["port 5433"], "number 5432 ≠ 5433")
    shown = (await nous("explain", "fact", two_ports["port 5433"])).stdout
    assert "almost merged" in shown
    assert "near 1.000 “port 5432”  number 5432 ≠ 5433" in shown


async def test_what_is_piped_is_neither_wrapped_nor_padded(nous: Nous, working: None) -> None:
    long = f"a port {'is ' * 100}open"
    told = await nous.json("publish", FACT, "agent_id=a", f"content={long}")
    await nous("publish", FACT, "agent_id=a", f"content={long}, still")
    await nous("wait")
    shown = (await nous("explain", "fact", told["fact_id"], COLUMNS="40")).stdout
    assert shown.count(long) >= 2
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []
    censor = (await nous.json("censor", "add", "--agent", "a", "--pattern", long, "--reason", long))["censor_id"]
    shown = (await nous("explain", "censor", censor)).stdout
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []
    assert f"warn · fired 0 of 5 until it blocks, false positives 0 · because: {long}" in shown


async def test_facts_are_listed_in_the_order_claimed_then_stored(nous: Nous, working: None) -> None:
    at = "2026-01-02T00:00:00Z"
    for content, moment in (("later", "2026-01-03T00:00:00Z"), ("one", at), ("two", at), ("three", at), ("four", at)):
        await nous("publish", FACT, "agent_id=a", f"content={content}", f"occurred_at={moment}")
        await nous("wait")
    assert [fact["content"] for fact in await nous.json("facts")] == ["one", "two", "three", "four", "later"]


async def test_explain_takes_any_id_it_was_published_under_or_the_beginning_of_one(nous: Nous, two_ports: dict[str, str]) -> None:
    for written in (two_ports["PORT  5432"], two_ports["PORT  5432"][:8].upper(), two_ports["port 5432"][:14]):
        assert (await nous.json("explain", "fact", written))["fact"]["fact_id"] == two_ports["port 5432"]


@pytest.mark.usefixtures("working")
async def test_an_id_that_fits_several_facts_is_asked_back(nous: Nous) -> None:
    one = UUID(int=0xABCDEF << 104)
    for agent in ("a", "b"):
        await nous("publish", FACT, f"agent_id={agent}", f"fact_id={one}", "content=x")
    await nous("wait")
    for written in ("abcdef", str(one)):
        result = await nous("explain", "fact", written)
        assert (result.exit_code, "fits several facts" in result.stderr) == (2, True)
        assert result.stderr.endswith("; add --agent\n")
    await nous("publish", FACT, "agent_id=b", f"fact_id={UUID(int=one.int + 1)}", "content=y")
    await nous("wait")
    assert (await nous("explain", "fact", "abcdef")).stderr.endswith("; write more of it, or add --agent\n")
    assert (await nous("explain", "fact", "abcdef", "--agent", "b")).stderr.endswith("; write more of it\n")
    assert (await nous.json("explain", "fact", str(one), "--agent", "b"))["fact"]["agent_id"] == "b"


@pytest.mark.usefixtures("working")
async def test_explain_says_what_became_of_an_event_that_was_skipped(nous: Nous) -> None:
    told = await nous.json("publish", FACT, "agent_id=a", "content=")
    await nous("wait")
    for written in (told["fact_id"], told["event_id"]):
        result = await nous("explain", "fact", written, "--agent", "a")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"event {told['event_id']} of 'a' was skipped by deduplicator: the content is empty" in result.stderr
    assert "with --agent its reason is looked up" in (await nous("explain", "fact", told["fact_id"])).stderr


async def test_an_id_that_became_two_facts_means_the_one_that_bears_it_or_else_the_one_claimed_last(
    nous: Nous, two_ports: dict[str, str], database: Database
) -> None:
    first, heard = two_ports["port 5432"], two_ports["PORT  5432"]
    async with database.write({"a"}) as db:
        await db.execute(text("UPDATE heart.facts SET active = false, valid_to = now() WHERE fact_id = :fact"), {"fact": first})
    for once_more in (first, heard):
        await nous("publish", FACT, "agent_id=a", f"fact_id={once_more}", "content=port 5432", f"event_id=again-{once_more}")
        assert (await nous("wait")).exit_code == 0
    (again,) = {fact["fact_id"] for fact in await nous.json("facts")} - {two_ports["port 5433"]}
    assert again not in two_ports.values()
    for written, meant in ((first, first), (first[:8], first), (heard, again), (heard[:8], again), (again, again), (again[:8], again)):
        assert (await nous.json("explain", "fact", written))["fact"]["fact_id"] == meant
    assert (await nous.json("explain", "fact", first))["also_became"] == [again]
    assert f"Published under the same id at another time, it became {again}" in (await nous("explain", "fact", first)).stdout


# ── censors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

CENSOR = "c3c477aa-2b7d-43cd-9c46-51b8f833eb43"
ADD = ("censor", "add", "--agent", "a", "--pattern", "rm -rf", "--reason", "it deletes", "--threshold", "2")


async def test_what_a_person_decides_is_an_event_with_a_receipt(nous: Nous, database: Database, redis: Redis) -> None:
    added = await nous.json(*ADD)
    assert (added["severity"], added["activation_count"]) == ("warn", 0)
    async with database.overview() as db:
        (receipt,) = await receipts.about(db, "a", UUID(added["censor_id"]))
        assert await outbox.count_unpublished(db) == 0
    assert (receipt.worker, receipt.stream, receipt.outcome, receipt.reason) == ("operator", "censor_added", "added", "it deletes")
    (event,) = await sent(redis, "censor_added")
    assert (event["event_id"], event["censor_id"]) == (receipt.event_id, added["censor_id"])


async def test_a_decision_made_while_redis_is_away_waits_in_the_outbox(nous: Nous, database: Database) -> None:
    assert (await nous(*ADD, NOUS_REDIS_URL="redis://127.0.0.1:1")).exit_code == 0
    async with database.overview() as db:
        assert await outbox.count_unpublished(db) == 1
    assert "outbox: 1 event to publish" in (await nous("wait", "--timeout", "0")).stderr


@pytest.mark.usefixtures("working")
async def test_a_block_is_relaxed_to_a_warning_that_counts_anew(nous: Nous) -> None:
    censor = (await nous.json(*ADD))["censor_id"]

    async def fire() -> None:
        await nous("publish", "censor_triggered", "agent_id=a", "was_blocked=false", f"censor_id={censor}", "matched_text=rm -rf /")
        assert (await nous("wait")).exit_code == 0

    async def severity() -> str:
        return str((await nous.json("censor", "list", "--agent", "a"))[0]["severity"])

    async def counted() -> str:
        return " ".join((await nous("censor", "list")).stdout.splitlines()[1].split("\t")[2:4])

    await fire()
    assert await counted() == "warn 1 of 2"
    await fire()
    assert await severity() == "block"
    assert await counted() == "block 2 in all"
    relaxed = await nous.json("censor", "relax", censor[:8], "--reason", "too eager")
    assert (relaxed["severity"], relaxed["counted_from"], relaxed["relaxed_reason"]) == ("warn", 2, "too eager")
    assert await counted() == "warn 0 of 2"
    await fire()
    assert await severity() == "warn"
    assert await counted() == "warn 1 of 2"
    await fire()
    assert await severity() == "block"
    told = await nous.json("explain", "censor", censor)
    assert [step["outcome"] for step in told["story"]] == ["added", "counted", "escalated", "relaxed", "counted", "escalated"]
    assert told["story"][3]["evidence"]["before"]["severity"] == "block"
    shown = (await nous("explain", "censor", censor)).stdout
    assert "relaxed" in shown
    assert "on “rm -rf /”" in shown
    assert "block · fired 4 in all, false positives 0" in shown
    assert "blocks" not in shown.splitlines()[1]


@pytest.mark.parametrize(("severity", "told"), [("warn", "only warns"), ("absolute", "an absolute censor is never relaxed")])
async def test_only_a_block_can_be_relaxed(nous: Nous, severity: str, told: str) -> None:
    censor = (await nous.json(*ADD, "--severity", severity))["censor_id"]
    result = await nous("censor", "relax", censor, "--reason", "x")
    assert (result.exit_code, told in result.stderr) == (2, True)


async def test_a_warning_blocks_after_the_usual_count_unless_another_is_given_and_help_says_which(nous: Nous) -> None:
    usual = await nous.json("censor", "add", "--agent", "a", "--pattern", "p", "--reason", "r")
    assert usual["escalation_threshold"] == DEFAULT_ESCALATION_THRESHOLD
    assert (await nous.json(*ADD))["escalation_threshold"] == 2
    assert f"[default: ({DEFAULT_ESCALATION_THRESHOLD})]" in (await nous("censor", "add", "--help")).stdout


async def test_every_list_is_a_line_a_row_in_a_pipe_its_columns_apart_by_tabs(nous: Nous, redis: Redis) -> None:
    await nous("censor", "add", "--agent", "a", "--pattern", "rm [x]", "--reason", "it  deletes", "--id", CENSOR)
    await redis.xgroup_create("fact_learned", "theirs", id="0", mkstream=True)
    assert (await nous("censor", "list")).stdout == (
        "censor_id\tagent\tseverity\tfired\tfalse\twatches_for\tbecause\n" + f"{CENSOR}\ta\twarn\t0 of 5\t0\trm [x]\tit deletes\n"
    )
    assert (await nous("group", "list")).stdout.splitlines()[1].split("\t")[:2] == ["fact_learned", "theirs"]
    assert (await nous("partition")).stdout.splitlines()[1].split("\t")[:2] == ["heart.facts", "1"]
    assert (await nous("reembed")).stdout.splitlines()[1].split("\t")[::3] == ["zero", "in use"]


async def test_a_censor_id_is_added_once(nous: Nous) -> None:
    chosen = str(ids.new())
    assert (await nous.json(*ADD, "--id", chosen))["censor_id"] == chosen
    assert (await nous(*ADD, "--id", chosen)).exit_code == 2
    assert "rm -rf" in (await nous("censor", "list")).stdout


# ── demo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_machine_too_slow_for_the_demo_is_nobodys_mistake(
    nous: Nous, stack: embedded.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {"NOUS_DATABASE_URL": "", "NOUS_REDIS_URL": "", "NOUS_HOME": str(stack.home)}
    assert (await nous("migrate", **here)).exit_code == 0
    monkeypatch.setattr(demo, "SETTLE_S", 0.0)
    result = await nous("demo", **here)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "memory did not settle within 0 s: deduplicator: " in result.stderr


async def test_the_demo_leaves_configured_servers_alone(nous: Nous, redis: Redis) -> None:
    for other in ({}, {"NOUS_REDIS_URL": ""}, {"NOUS_DATABASE_URL": ""}):
        result = await nous("demo", **other)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "env -u NOUS_DATABASE_URL -u NOUS_REDIS_URL NOUS_HOME=/tmp/nous-demo nous demo" in result.stderr
    assert not await redis.exists(FACT)


async def test_nothing_runs_names_the_absolute_path_and_what_else_it_may_be(
    nous: Nous, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unset = {"NOUS_DATABASE_URL": "", "NOUS_REDIS_URL": ""}
    told = (await nous("status", **unset, NOUS_HOME=".nous")).stderr
    assert told.startswith(f"nous: nothing runs in {tmp_path}/.nous, where NOUS_HOME is unless you set it: start it with: nous up")
    assert "if it runs from another folder, be in that folder" in told
    assert f"nothing runs in {tmp_path}/b, where NOUS_HOME points" in (await nous("status", **unset, NOUS_HOME="b")).stderr


def _plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)
