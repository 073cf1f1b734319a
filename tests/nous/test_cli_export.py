"""`nous export`, `nous import`: the archive out and in again, byte for byte, once, and whole or not at all."""

import base64
import json
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import events
import workers
from nous import clock
from nous.cli import jsonl
from store import archive, forgotten
from store.forgotten import Tombstone
from tests.conftest import a_database
from tests.nous.conftest import Nous
from tests.nous.living import COMPARED, Living
from workers.runtime.worker import Kit

MENTIONS = "SELECT agent_id, event_id, content, occurred_at FROM heart.fact_mentions ORDER BY 1, 2"


UNHEARD = events.CATALOGUE.keys() - workers.consumers().keys()


@pytest.fixture
def living(kit: Kit, redis: Redis) -> Living:
    return Living(kit, redis)


async def told_all(living: Living) -> None:
    """Something on every stream, some of it no event, and two facts with what follows from them."""
    for stream in events.CATALOGUE:
        await living.say(stream, json.dumps({"agent_id": "odd", "event_id": f"of {stream}", "märz": "é\u2028"}, ensure_ascii=False))
    await living.say("fact_learned", b"\xff\x00\xfe")
    for number, content in enumerate(("Tea.", "Coffee."), 1):
        await living.say("fact_learned", json.dumps({"agent_id": "a", "fact_id": f"{number:032x}", "content": content}))
    await living.settle()


async def archived(url: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    rows = await connection.fetch(
        "SELECT agent_id, event_id, stream, digest, body, entry_id, arrived_at FROM bus.events ORDER BY 1, 2, 3, 4"
    )
    await connection.close()
    return rows


async def test_out_and_in_again_it_is_the_same_archive_and_twice_too(
    nous: Nous, living: Living, tmp_path: Path, database_url: str, stack: Any, template: str
) -> None:
    await told_all(living)
    file = str(tmp_path / "archive.jsonl")
    told = await nous.json("export", file)
    piped = (await nous("export", "-")).stdout
    assert piped.encode() == (tmp_path / "archive.jsonl").read_bytes()
    lines = [json.loads(line) for line in piped.split("\n")[:-1]]
    roots = [line for line in lines if line["is_root"]]
    assert (told["events"], told["roots"], told["agents"]) == (len(lines), len(roots), 2)
    assert {line["stream"] for line in lines} == set(events.CATALOGUE)
    assert {line["stream"] for line in lines if not line["is_root"]} == {"fact_stored"}
    assert [base64.b64decode(line["body_base64"]) for line in lines if "body_base64" in line] == [b"\xff\x00\xfe"]
    async with a_database(stack, template) as empty:
        for new in (len(lines), 0):
            assert (await nous.json("import", file, NOUS_DATABASE_URL=empty))["new"] == new
        assert await archived(empty) == await archived(database_url)


async def test_published_into_an_empty_store_it_builds_the_same_memory_and_twice_too(
    nous: Nous, living: Living, kit: Kit, redis: Redis, tmp_path: Path, database_url: str
) -> None:
    await told_all(living)
    file, before = str(tmp_path / "archive.jsonl"), await rows(database_url)
    await nous("export", file)
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"TRUNCATE {', '.join(COMPARED)}, bus.events, bus.outbox, heart.fact_versions, bus.retries CASCADE")
    await connection.close()
    await redis.flushall()
    for _ in range(2):
        told = await nous("import", file, "--publish")
        assert "root events; when they are worked: nous wait" in told.stdout
        assert "not published: 1 that can be read as no event" in told.stdout
        assert f"not published: {len(UNHEARD)} of what people decided by command, which no worker hears of" in told.stdout
        assert not any([await redis.exists(stream) for stream in UNHEARD])
        living.read.clear()
        await living.settle()
        assert await rows(database_url) == before
    async with kit.database.read(["a"]) as db:
        assert len(await archive.of_event(db, "a", before[0]["event_id"])) == 1


async def rows(url: str) -> list[Any]:
    connection = await asyncpg.connect(url)
    found = await connection.fetch(MENTIONS)
    await connection.close()
    return found


GOOD = {"stream": "fact_learned", "agent_id": "a", "event_id": "e", "entry_id": "1-0", "arrived_at": "2026-03-01T12:00Z", "body": "{}"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it.jsonl is no event of an export: "),
        ("[1]", "it is a JSON list, and should be an object"),
        (json.dumps({"content": "Tea."}), "it has no stream; events of your own are sent with: nous publish"),
        (json.dumps(GOOD | {"stream": "fact_learnt"}), "there is no stream 'fact_learnt' (did you mean fact_learned?)"),
        (json.dumps(GOOD | {"event_id": "\x00"}), "its event_id is '\\x00', which is no text that can be kept"),
        (json.dumps(GOOD | {"entry_id": "soon"}), "invalid literal"),
        (json.dumps(GOOD | {"arrived_at": "2026-03-01T12:00"}), "its arrived_at, 2026-03-01T12:00, has no time zone"),
        (json.dumps(GOOD | {"arrived_at": "0001-01-01T00:00+14:00"}), "its arrived_at, 0001-01-01T00:00+14:00, is outside the years"),
        (json.dumps(GOOD | {"event_id": "e" * 129}), "its agent_id or its event_id has more than 128 characters"),
        (json.dumps(GOOD | {"body": '{"agent_id": "b"}'}), "its agent_id is 'a' and its body says 'b'"),
        (json.dumps(GOOD | {"body": '{"event_id": "f"}'}), "its event_id is 'e' and its body says 'f'"),
        ("[" * 100_000, "it.jsonl is no event of an export: it is nested too deeply"),
        (
            json.dumps(GOOD | {"body": "?"}).encode().replace(b"?", b"\xf6"),
            "it.jsonl is no event of an export: it is not UTF-8",
        ),
        (json.dumps(GOOD | {"body_base64": "?"}), "line 602"),
        (json.dumps(GOOD | {"body": {"a": 1}}), "its body is \"{'a': 1}\", which is no text that can be kept"),
        (b"\xff", "line 602"),
    ],
)
async def test_a_file_with_a_bad_line_is_not_taken_at_all(nous: Nous, tmp_path: Path, database_url: str, line: Any, why: str) -> None:
    good = [json.dumps(GOOD | {"event_id": f"e-{number}"}).encode() for number in range(601)]
    (tmp_path / "it.jsonl").write_bytes(b"\n".join([*good, line if isinstance(line, bytes) else line.encode()]))
    result = await nous("import", str(tmp_path / "it.jsonl"))
    assert (result.exit_code, why in result.stderr, "; nothing was taken" in result.stderr) == (2, True, True), result.stderr
    assert f"line 602 of {tmp_path / 'it.jsonl'}" in result.stderr
    assert await archived(database_url) == []


async def test_an_export_that_comes_to_nothing_leaves_the_file_that_is_there(nous: Nous, living: Living, tmp_path: Path) -> None:
    await told_all(living)
    file = tmp_path / "archive.jsonl"
    file.write_text("of yesterday")
    unknown = await nous("export", str(file), "--agent", "od")
    assert (unknown.exit_code, "nothing of agent 'od' in the archive (did you mean odd?)" in unknown.stderr) == (2, True), unknown.output
    backwards = await nous("export", str(file), "--from", "2026-03-02", "--to", "2026-03-01")
    assert (backwards.exit_code, "--from is the earlier of the two" in backwards.stderr) == (2, True), backwards.output
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jsonl, "line", lambda row, *, is_root: 1 / 0)
        assert (await nous("export", str(file))).exit_code == 1
    assert (file.read_text(), list(tmp_path.glob("archive*"))) == ("of yesterday", [file])  # noqa: ASYNC240 - a folder of this test


async def test_of_a_pipe_what_came_in_whole_before_a_bad_line_is_kept_and_told(nous: Nous, database_url: str) -> None:
    good = [json.dumps(GOOD | {"event_id": f"e-{number}"}) for number in range(601)]
    result = await nous("import", "-", stdin="\n".join([*good, "{"]))
    assert result.exit_code == 2
    assert "line 602 of standard input is no event of an export" in result.stderr
    assert "500 events before it came in whole and stay" in result.stderr
    assert len(await archived(database_url)) == 500


async def test_what_was_forgotten_is_refused_and_not_published(
    nous: Nous, kit: Kit, redis: Redis, tmp_path: Path, database_url: str
) -> None:
    async with kit.database.erase(["a"]) as db:
        await forgotten.insert(db, [Tombstone("a", "e", "fact_learned", "decision", clock.now())])
    body = json.dumps({"agent_id": "a", "event_id": "e", "fact_id": "1" * 32, "content": "Tea."})
    (tmp_path / "it.jsonl").write_text(json.dumps(GOOD | {"body": body}))
    result = await nous("import", str(tmp_path / "it.jsonl"), "--publish")
    assert "1 had been forgotten and stay so" in result.stdout
    assert (await archived(database_url), await redis.exists("fact_learned")) == ([], 0)
