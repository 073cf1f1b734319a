"""`nous replay`, `nous diff`, `nous replays`, as a person types them on a memory that has lived."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

import events
import providers
from nous import embedded
from nous.cli import replay as command
from nous.errors import UserMistake
from nous.replaying.wanted import Wanted
from nous.settings import Settings
from store import replays
from tests.conftest import until_set
from tests.factories import NOON, a_fact_learned
from tests.nous.conftest import Nous
from tests.nous.living import COMPARED, Living
from tests.workers.conftest import ScriptedEmbedder, ScriptedMind
from tests.workers.episodes import TALK, closed
from workers.runtime.worker import Kit

A, CAT, COMMA = "a", "Maria has a cat called Mimi", "Maria has a cat, called Mimi."
HOME, AWAY = "Maria lives in Oslo.", "Maria lives in Bergen."


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    made = ScriptedEmbedder()
    made.alike(CAT, COMMA, 0.96)
    return made


@pytest.fixture
def mind() -> ScriptedMind:
    made = ScriptedMind()
    made.says(HOME, "updates", AWAY)
    return made


@pytest.fixture
def kit(kit: Kit, embedder: ScriptedEmbedder, mind: ScriptedMind) -> Kit:
    return replace(kit, embedder=embedder, mind=mind)


@pytest.fixture
async def living(
    kit: Kit, redis: Redis, embedder: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch, stack: embedded.Stack, database_url: str
) -> AsyncIterator[Living]:
    """A memory of two agents; commands have its embedder, with the thresholds that are set."""

    def opened(settings: Settings) -> ScriptedEmbedder:
        embedder.confirm_similarity = settings.confirm_similarity or 0.95
        return embedder

    monkeypatch.setattr(providers, "embedder", opened)
    made = Living(kit, redis)
    await made.live(
        learned(CAT, 1, event_id="cat"),
        learned(COMMA, 0, event_id="comma"),
        learned(HOME, 2, event_id="home"),
        learned(AWAY, 3, event_id="away"),
    )
    await made.live(learned("Ken sings.", 1, agent_id="b", subject="Ken", event_id="sings"))
    yield made
    for one in await replays.listed(database_url):
        await replays.give_up(database_url, one.name)


def learned(content: str, hours: int, **over: Any) -> Any:
    return a_fact_learned(**{"agent_id": A, "content": content, "occurred_at": NOON + timedelta(hours=hours)} | over)


async def replayed(nous: Nous, *words: str) -> Any:
    return await nous.json("replay", "--into", "again", *words)


async def differences(nous: Nous, *words: str) -> list[Any]:
    result = await nous("diff", "again", "--json", *words)
    told = json.loads(result.stdout)
    assert result.exit_code == (1 if told["different"] else 0)
    return list(told["differences"])


# ── the same again ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_it_is_the_same_again_and_the_difference_is_none(nous: Nous, living: Living) -> None:
    result = await nous("replay", "--into", "again")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("replayed 2 agents into again: 5 root events fed, 10 decisions made in ")
    same = await nous("diff", "again")
    assert (same.exit_code, same.stdout) == (0, "2 agents: 4 facts alike in the live store and in again\n")


async def test_nothing_live_is_touched(nous: Nous, living: Living, redis: Redis, database_url: str) -> None:
    before = await everything(database_url, redis)
    for words in (("--set", "CONFIRM_SIMILARITY=0.97"), ("--source", "streams", "--order", "occurred")):
        await replayed(nous, *words)
        await nous("diff", "again")
        await nous("replays", "drop", "again")
    assert await everything(database_url, redis) == before


async def everything(url: str, redis: Redis) -> Any:
    connection = await asyncpg.connect(url)
    tables = [*COMPARED, "bus.events", "bus.outbox", "bus.retries", "bus.answers", "heart.fact_versions"]
    rows = {table: await connection.fetch(f"SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {table} t") for table in tables}
    await connection.close()
    info = {}
    for stream in events.CATALOGUE:
        if await redis.exists(stream):
            info[stream] = [await redis.xinfo_stream(stream), await redis.xinfo_groups(stream), await redis.xrange(stream)]
    return rows, info, sorted(await redis.keys())


# ── what would have been ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_another_threshold_is_answered_by_what_it_would_have_made(nous: Nous, living: Living) -> None:
    told = await replayed(nous, "--set", "CONFIRM_SIMILARITY=0.97")
    assert (told["otherwise"] > 0, told["failed"], told["absent"]) == (True, [], [])
    found = {one["says"]: one for one in await differences(nous)}
    assert (found[COMMA]["how"], found[COMMA]["receipts"]["replayed"][0]["outcome"]) == ("only replayed", "stored")
    assert found[CAT]["fields"]["confirmation_count"] == {"live": 1, "replayed": 0}
    assert "deduplicator of comma: stored, and live confirmed" in told["others"]
    assert len(told["others"]) == told["otherwise"]
    text = await nous("diff", "again")
    assert f"fact only replayed: {COMMA}" in text.stdout
    assert "confirmation count: 1 live, 0 replayed" in text.stdout
    assert "live      deduplicator confirmed: similarity 0.960 and the guard agrees" in text.stdout


async def test_by_the_events_own_time_it_shows_what_arrival_alone_had_changed(nous: Nous, living: Living) -> None:
    told = await replayed(nous, "--order", "occurred")
    assert told["failed"] == []
    assert {(one["how"], one["says"]) for one in await differences(nous)} == {("only live", CAT), ("only replayed", COMMA)}
    assert await differences(nous, "--agent", "b") == []


async def test_it_stops_before_an_event(nous: Nous, living: Living) -> None:
    told = await replayed(nous, "--until", "away")
    assert (told["agents"], told["absent"], told["missing"]) == (1, [], 0)
    found = {one["says"]: one for one in await differences(nous)}
    assert found[AWAY]["how"] == "only live"
    assert found[HOME]["fields"]["superseded_by"]["replayed"] is None
    assert f"superseded by: “{AWAY}” live, none replayed" in (await nous("diff", "again")).stdout


async def test_only_some_events_are_fed_by_id_stream_agent_and_time(nous: Nous, living: Living, redis: Redis) -> None:
    (_, (entry, _), *_) = await redis.xrange("fact_learned")
    second = events.entry_time(entry.decode()).isoformat()
    for words, fed in (
        (("--event", "home", "--event", "cat"), 2),
        (("--agent", "b"), 1),
        (("censor_triggered",), 0),
        (("fact_learned",), 5),
        (("--to", second), 1),
        (("--from", second), 4),
    ):
        assert (await replayed(nous, *words))["fed"] == fed, words
        await nous("replays", "drop", "again")


async def test_each_decision_is_shown_as_it_is_made_beside_what_it_was(nous: Nous, living: Living) -> None:
    result = await nous("replay", "--into", "again", "--agent", A, "--step", "--set", "CONFIRM_SIMILARITY=0.97")
    assert "a  deduplicator  comma  stored  (live: confirmed)  " in result.stdout
    assert "a  deduplicator  home  stored\n" in result.stdout


# ── other sources ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_file_is_replayed_and_so_is_what_stands_in_the_streams(nous: Nous, living: Living, tmp_path: Any) -> None:
    await nous("export", str(tmp_path / "archive.jsonl"))
    for source in (str(tmp_path / "archive.jsonl"), "streams"):
        told = await replayed(nous, "--source", source)
        assert (told["fed"], told["receipts"], told["failed"]) == (5, 10, [])
        assert await differences(nous) == []
        await nous("replays", "drop", "again")


# ── minds ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_what_was_never_asked_is_listed_and_asked_only_if_that_is_wanted(
    nous: Nous, living: Living, mind: ScriptedMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "mind", lambda _: mind)
    mind.asked.clear()
    words = ("--set", "CONFIRM_SIMILARITY=0.97", "--agent", A)
    told = await replayed(nous, *words)
    assert any(CAT in one and COMMA in one for one in told["unasked"])
    assert mind.asked == []
    await nous("replays", "drop", "again")
    assert (await replayed(nous, "--ask", *words))["unasked"]
    assert mind.asked


async def test_a_conversation_that_no_mind_has_read_waits_and_is_told(
    nous: Nous, living: Living, mind: ScriptedMind, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, "mind", lambda _: mind)
    mind.asked.clear()
    event = closed(TALK, agent_id="c")
    named = {"stream": event.stream, "agent_id": "c", "event_id": event.event_id, "entry_id": "1-0", "arrived_at": "2026-03-01T12:00Z"}
    (tmp_path / "one.jsonl").write_text(json.dumps({**named, "body": events.encode(event).decode()}))
    result = await nous("replay", "--into", "again", "--source", str(tmp_path / "one.jsonl"))
    assert result.exit_code == 1
    assert "1 never asked before, and not asked: facts stay apart, conversations stay unread" in result.stdout
    assert "what is to be remembered of the conversation that begins “I live in Oslo" in result.stdout
    assert "1 not settled:" in result.stdout
    assert mind.asked == []


# ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────────────────────


MISTAKES = (
    (("--into", "Again"), "'Again' is no name for a replay; use 1 to 30 small letters, digits and _"),
    (("--until", "nobody"), "there is no event 'nobody' in the archive; an id is given whole"),
    (("--event", "sings", "--agent", A), "there is no event 'sings' of agent 'a' in the archive"),
    (("--agent", "nobody"), "there is nothing of agent 'nobody' in the archive"),
    (("fact_learnt",), "there is no stream 'fact_learnt' (did you mean fact_learned?)"),
    (("--set", "CONFIRM=1"), "--set 'CONFIRM=1' does not do; write NAME=VALUE with the name of a setting"),
    (("--set", "CONFIRM_SIMILARITY=2"), "--set CONFIRM_SIMILARITY=2 does not do: input should be less than or equal to 1"),
    (("--set", "DATABASE_URL=postgresql://x/y"), "--set DATABASE_URL does not do: it says where the live store is"),
    (("--from", "2026-03-02", "--to", "2026-03-01"), "nothing arrived from 2026-03-02 on and before 2026-03-01: --from is the earlier"),
    (("--source", "nowhere.jsonl"), "nowhere.jsonl cannot be read: no such file or directory"),
    (("--source", os.devnull), f"there is nothing to replay in {os.devnull}"),
)


async def test_a_mistake_is_a_sentence_and_leaves_nothing_behind(nous: Nous, living: Living, database_url: str) -> None:
    for words, told in MISTAKES:
        result = await nous("replay", *words)
        assert (result.exit_code, told in result.stderr) == (2, True), result.output
    assert await replays.listed(database_url) == []


async def test_a_second_replay_under_one_name_is_refused_and_the_first_is_kept(nous: Nous, living: Living) -> None:
    await replayed(nous)
    second = await nous("replay", "--into", "again")
    assert (second.exit_code, "there is a replay 'again' already; take another name, or: nous replays drop again" in second.stderr) == (
        2,
        True,
    )
    assert [one["name"] for one in await nous.json("replays", "list")] == ["again"]
    dropped = await nous("replays", "drop", "again")
    assert dropped.stdout == "dropped the replay again\n"
    assert (await nous("replays", "list")).stdout == "No replays. Make one: nous replay --into try1\n"
    assert "there is no replay 'again'" in (await nous("diff", "again")).stderr


async def test_one_that_is_interrupted_or_fails_leaves_no_database_behind(
    kit: Kit, nous: Nous, living: Living, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = asyncio.Event()

    async def never_ends(*_: object, **__: object) -> None:
        began.set()
        await asyncio.Event().wait()

    async def fails(*_: object, **__: object) -> None:
        raise RuntimeError("nobody expected this")

    with monkeypatch.context() as patch:
        patch.setattr(command.replay, "run", never_ends)
        asked = command.Asked(Wanted(), None, "again", "applied", False, False, (), command.ARCHIVE)
        named = {name: nous.env[f"NOUS_{name.upper()}"] for name in ("database_url", "redis_url", "embedder", "home")}
        running = asyncio.create_task(command.run(Settings.model_validate(named), asked, is_json=True))
        await until_set(began, running)
        assert [one["is_whole"] for one in await nous.json("replays", "list")] == [False]
        for words in (("replays", "drop", "again"), ("diff", "again")):
            assert "the replay 'again' is being made" in (await nous(*words)).stderr
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        patch.setattr(command.replay, "run", fails)
        assert "nobody expected this" in (await nous("replay", "--into", "again")).stderr
    assert await replays.listed(database_url) == []


async def test_what_a_killed_replay_leaves_is_called_so_and_is_not_compared(nous: Nous, database_url: str) -> None:
    await replays.create(database_url, "again")
    assert "never came to its end" in (await nous("replays", "list")).stdout
    refused = await nous("diff", "again")
    assert (refused.exit_code, "never came to its end; make it again, after: nous replays drop again" in refused.stderr) == (2, True)
    assert (await nous("replays", "drop", "again")).stdout == "dropped the replay again\n"


async def test_of_two_that_are_begun_under_one_name_in_one_moment_one_is_refused(database_url: str) -> None:
    made = await asyncio.gather(*(replays.create(database_url, "again") for _ in range(4)), return_exceptions=True)
    await replays.give_up(database_url, "again")
    assert [type(one) for one in made if not isinstance(one, str)] == [UserMistake] * 3


async def test_a_login_that_may_not_make_databases_is_told_what_to_do(nous: Nous, living: Living, database_url: str) -> None:
    owner = await asyncpg.connect(database_url)
    await owner.execute("CREATE ROLE poor LOGIN PASSWORD 'poor'; GRANT nous_worker, nous_operator, nous_eraser TO poor")
    try:
        scheme, _, rest = database_url.partition("://")
        result = await nous("replay", NOUS_DATABASE_URL=f"{scheme}://poor:poor@{rest.partition('@')[2]}")
        assert (result.exit_code, "ALTER ROLE poor CREATEDB" in result.stderr) == (2, True), result.output
    finally:
        await owner.execute("DROP ROLE poor")
        await owner.close()
