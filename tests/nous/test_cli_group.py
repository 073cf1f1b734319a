"""`nous group`: which consumer group holds its stream back, and dropping one whose reader is gone for good."""

import pytest
from redis.asyncio import Redis

from nous.cli import group as command
from tests.nous.conftest import Nous
from workers.runtime import streams

STREAM = "fact_learned"


@pytest.fixture
async def ten(redis: Redis) -> None:
    """Ten entries: the deduplicator and the archivist have passed them, somebody's group has two pending and eight not read."""
    for _ in range(10):
        await redis.xadd(STREAM, {"data": "{}"})
    for name, count, is_done in (("deduplicator", 10, True), (streams.ARCHIVIST, 10, True), ("theirs", 2, False)):
        await streams.ensure_group(redis, STREAM, name)
        found = await streams.read(redis, name, "one", [STREAM], count=count, block_ms=10)
        if is_done:
            await streams.acknowledge(redis, STREAM, name, [entry.entry_id for entry in found[STREAM]])


@pytest.mark.usefixtures("ten")
async def test_the_one_that_holds_its_stream_back_is_listed_first_with_how_much(nous: Nous) -> None:
    found = await nous.json("group", "list")
    assert [(one["name"], one["lag"], one["pending"], one["holds"], one["is_ours"]) for one in found] == [
        ("theirs", 8, 2, 10, False),
        ("archivist", 0, 0, 0, True),
        ("deduplicator", 0, 0, 0, True),
    ]
    text = await nous("group", "list")
    assert "theirs" in text.stdout.splitlines()[1]


@pytest.mark.usefixtures("ten")
async def test_a_group_of_ours_or_one_heard_of_lately_is_not_dropped_by_mistake(
    nous: Nous, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, told in (
        ("deduplicator", "deduplicator works on fact_learned, and makes its group again when it runs"),
        ("archivist", "archivist works on fact_learned"),
        ("theirs", "somebody read fact_learned with the group theirs"),
        ("their", "fact_learned has no group 'their' (did you mean theirs?)"),
    ):
        result = await nous("group", "drop", STREAM, name)
        assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert "there is no stream 'fact_learnt'" in (await nous("group", "drop", "fact_learnt", "theirs")).stderr
    monkeypatch.setattr(command, "LATELY_S", 0.0)
    dropped = await nous("group", "drop", STREAM, "theirs")
    assert dropped.stdout == (
        "dropped the group theirs of fact_learned; it holds the stream back no more\n"
        "  2 entries were given to it and not acknowledged, 8 were not read; the archivist keeps them all\n"
    )
    assert {info["name"] for info in await redis.xinfo_groups(STREAM)} == {b"archivist", b"deduplicator"}


@pytest.mark.usefixtures("ten")
async def test_forced_a_group_of_ours_goes_and_it_is_said_what_follows(nous: Nous) -> None:
    told = await nous("group", "drop", STREAM, "deduplicator", "--force")
    assert "made again when its worker runs, and reads all that stands in the stream; no event has a second effect" in told.stdout


async def test_without_groups_it_says_how_to_start_workers(nous: Nous) -> None:
    assert (await nous("group", "list")).stdout == "No consumer groups: no worker has run on this Redis yet. Start them: nous work\n"
