"""Conversations as a person reports and sees them: `nous session`, `nous episodes`, `nous episode`; and the silence that ends them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis

from nous import clock, embedded
from nous.cli.running import SILENCE_LOOKED_FOR_S, silence
from recall import sessions as reporting
from recall.tools import Tools
from store import outbox, receipts, sessions
from store.database import Database
from tests.conftest import until
from tests.nous.conftest import Nous
from workers.runtime.app import Process
from workers.runtime.worker import Kit

TURN = ("session", "turn", "chat", "--agent", "a", "--user", "Hello")


async def sent(redis: Redis, stream: str) -> list[dict[str, Any]]:
    return [json.loads(fields[b"data"]) for _, fields in await redis.xrange(stream)]


@pytest.fixture
async def aside(nous: Nous) -> str:
    """A greeting that was put aside; its episode's id."""
    await nous(*TURN, "--assistant", "Hi!")
    ended = await nous.json("session", "end", "chat", "--agent", "a", "--reflection", "They only greeted.")
    assert ended["became"] == "put_aside"
    return str(ended["episode"]["episode_id"])


async def test_a_turn_is_reported_and_says_where_the_session_stands(nous: Nous) -> None:
    begun = await nous(*TURN, "--frame", "conversation")
    assert begun.stdout.startswith("session chat of a: waiting for the answer; its episode is ")
    answered = await nous(*TURN, "--assistant", "Hi!", "--tool", "search", "--tool", "read")
    assert "session chat of a: 1 turn so far; its episode is " in answered.stdout
    told = await nous.json("session", "show", "chat", "--agent", "a")
    assert [(one["speaker"], one["content"]) for one in told["turns"]] == [("user", "Hello"), ("user", "Hello"), ("assistant", "Hi!")]
    assert (told["session"]["tools"], told["session"]["frame_used"]) == (["search", "read"], "conversation")


@pytest.mark.usefixtures("working")
async def test_a_session_is_shown_with_how_its_episode_stands_and_what_was_learned(nous: Nous) -> None:
    said = "I moved to Oslo last week and look for a good school there for my daughter."
    await nous("session", "turn", "chat", "--agent", "a", "--user", said, "--assistant", "Let us look at the schools of Oslo.")
    await nous("session", "turn", "chat", "--agent", "a", "--user", "She likes maths.", "--assistant", "Noted.")
    await nous("session", "end", "chat", "--agent", "a", "--reflection", "Ask for the age first.")
    await nous("wait")
    told = await nous.json("session", "show", "chat", "--agent", "a")
    shown = " ".join((await nous("session", "show", "chat", "--agent", "a")).stdout.split())
    assert f"episode {told['episode']['episode_id']}: summarised, success" in shown
    assert f"title: {' '.join(told['episode']['title'].split())}" in shown
    assert "summary: " in shown
    assert "learned: Ask for the age first." in shown


async def test_a_turn_with_an_id_of_its_own_counts_once(nous: Nous) -> None:
    for _ in range(2):
        told = await nous.json(*TURN, "--assistant", "Hi!", "--id", "1", "--at", "2026-03-01T12:00Z")
    assert (told["turn_count"], told["last_at"]) == (1, "2026-03-01T12:00:00+00:00")


async def test_other_words_under_the_id_of_a_turn_are_refused_and_not_dropped(nous: Nous) -> None:
    await nous(*TURN, "--assistant", "Hi!", "--id", "1")
    other = await nous("session", "turn", "chat", "--agent", "a", "--user", "Good evening", "--id", "1")
    assert (other.exit_code, "turn '1' of session 'chat' was reported before with other words" in other.stderr) == (2, True)
    answer = await nous(*TURN, "--assistant", "Ho!", "--id", "1")
    assert (answer.exit_code, "so these were not kept" in answer.stderr) == (2, True)


@pytest.mark.parametrize("columns", ["40", "80", "100", "160"])
async def test_however_narrow_a_terminal_no_word_of_an_episode_is_cut_off(nous: Nous, columns: str) -> None:
    said = "The ferry from Lisbon leaves at nine in the morning, every day but Sunday."
    whose = "customer-support-agent-of-the-eu"
    told = await nous.json("session", "turn", "chat", "--agent", whose, "--user", said)
    shown = (await nous("episodes", FORCE_COLOR="1", COLUMNS=columns)).stdout
    plain = re.sub("\x1b\\[[0-9;]*m", "", shown)
    assert all(word in plain for word in said.split())
    assert told["episode_id"] in plain
    assert "….." not in plain


async def test_one_that_begins_like_another_says_so_to_its_end(nous: Nous) -> None:
    first = (await nous.json(*TURN))["episode_id"]
    second = await nous("session", "turn", "other", "--agent", "a", "--user", "Hello")
    assert f"it has no episode yet: it begins like episode {first}: cosine 1.0000" in second.stdout
    ended = await nous("session", "end", "other", "--agent", "a")
    assert f"session other of a has ended; it has no episode: it begins like episode {first}" in ended.stdout


async def test_what_is_closed_is_published_at_once(nous: Nous, redis: Redis, database: Database) -> None:
    await nous(*TURN, "--assistant", "Hi!", "--tool", "search")
    ended = await nous.json("session", "end", "chat", "--agent", "a", "--outcome", "partial")
    assert (ended["became"], ended["episode"]["outcome"]) == ("closed", "partial")
    (event,) = await sent(redis, "episode_closed")
    assert event["episode_id"] == ended["episode"]["episode_id"]
    async with database.overview() as db:
        assert await outbox.count_unpublished(db) == 0
    again = await nous("session", "end", "chat", "--agent", "a")
    assert "session chat of a had ended already, on " in again.stdout
    assert "not kept" not in again.stdout
    assert len(await sent(redis, "episode_closed")) == 1


async def test_a_lesson_that_comes_after_the_end_is_not_kept_and_it_says_what_to_do(nous: Nous) -> None:
    await nous(*TURN, "--assistant", "Hi!", "--tool", "search")
    await nous("session", "end", "chat", "--agent", "a")
    late = await nous("session", "end", "chat", "--agent", "a", "--reflection", "Ask first.")
    assert "session chat of a had ended already, on " in late.stdout
    assert "so this reflection or outcome was not kept; keep a lesson as a fact: nous publish fact_learned agent_id=a " in late.stdout
    assert late.exit_code == 1, "a script is told too"
    told = await nous("session", "end", "chat", "--agent", "a", "--reflection", "Ask first.", "--json")
    assert (json.loads(told.stdout)["became"], told.exit_code) == ("not_kept", 1)


async def test_closing_waits_in_the_outbox_while_redis_is_away(nous: Nous, database: Database) -> None:
    away = {"NOUS_REDIS_URL": "redis://127.0.0.1:1"}
    await nous(*TURN, "--assistant", "Hi!", "--tool", "search", **away)
    assert "is closed, and its summary follows" in (await nous("session", "end", "chat", "--agent", "a", **away)).stdout
    async with database.overview() as db:
        assert await outbox.count_unpublished(db) == 1


async def test_sessions_and_episodes_are_listed_and_shown(nous: Nous, aside: str) -> None:
    await nous(
        "session", "turn", "work", "--agent", "b", "--user", "Which database?", "--assistant", "Postgres\n[bold].", "--tool", "search"
    )
    rows = [line.split("\t") for line in (await nous("session", "list")).stdout.splitlines()]
    assert rows[0] == ["session", "agent", "turns", "tools", "last", "state", "episode"]
    assert [(row[0], row[1], row[2], row[3], row[5]) for row in rows[1:]] == [
        ("work", "b", "1", "1", "open"),
        ("chat", "a", "1", "0", "ended"),
    ]
    assert [one["session_id"] for one in await nous.json("session", "list", "--agent", "a")] == ["chat"]
    shown = (await nous("session", "show", "work", "--agent", "b")).stdout
    assert "b · open · 1 turn · used search" in shown
    assert "assistant  Postgres [bold]." in shown
    assert [one["agent_id"] for one in await nous.json("episodes")] == ["b"]
    listed = (await nous("episodes", "--all")).stdout.splitlines()
    assert [line.split("\t")[3:] for line in listed[1:]] == [["open", "whole", "“Which database?”"], ["put aside", "whole", "“Hello”"]]
    assert listed[2].startswith(aside)


async def test_an_episode_is_shown_with_what_was_said(nous: Nous, aside: str) -> None:
    shown = (await nous("episode", "show", aside[:8])).stdout
    for told in (
        "“Hello”",
        "a · put aside · transcript whole · ",
        "1 turn · 0 tools · success",
        "learned: They only greeted.",
        "put aside: one turn, ",
        "user       Hello",
    ):
        assert told in shown
    told = await nous.json("episode", "show", aside)
    assert (told["episode"]["episode_id"], [one["content"] for one in told["turns"]]) == (aside, ["Hello", "Hi!"])


async def test_what_is_restored_is_an_event_with_a_receipt_and_is_closed(nous: Nous, aside: str, redis: Redis, database: Database) -> None:
    restored = await nous("episode", "restore", aside[:8], "--because", "it was their first")
    assert restored.stdout == f"episode {aside} of a is active again; its summary follows\n"
    async with database.overview() as db:
        (receipt,) = await receipts.about(db, "a", UUID(aside))
    assert (receipt.worker, receipt.stream, receipt.outcome, receipt.reason) == (
        "operator",
        "episode_restored",
        "restored",
        "it was their first",
    )
    assert (receipt.evidence["before"]["active"], receipt.evidence["after"]["active"]) == (False, True)
    (event,), (closed,) = await sent(redis, "episode_restored"), await sent(redis, "episode_closed")
    assert (event["event_id"], event["episode_id"]) == (receipt.event_id, aside)
    assert (closed["episode_id"], closed["caused_by"]) == (aside, event["event_id"])
    again = await nous("episode", "restore", aside, "--because", "x")
    assert (again.exit_code, f"episode {aside} is active, so there is nothing to restore" in again.stderr) == (2, True)


@pytest.mark.usefixtures("working")
async def test_what_ended_and_what_was_restored_is_summarised(nous: Nous, aside: str) -> None:
    await nous("session", "turn", "work", "--agent", "a", "--user", "Which database?", "--assistant", "Postgres.", "--tool", "search")
    await nous("session", "end", "work", "--agent", "a")
    await nous("episode", "restore", aside, "--because", "it was their first")
    assert (await nous("wait")).exit_code == 0
    assert [bool(one["summary"]) for one in await nous.json("episodes", "--agent", "a")] == [True, True]


async def test_with_nothing_to_show_it_says_how_to_begin(nous: Nous) -> None:
    assert "No sessions. Report a turn: nous session turn chat" in (await nous("session", "list")).stdout
    assert "No episodes of agent 'a'; --all shows" in (await nous("episodes", "--agent", "a")).stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*TURN, "--tool", "search"), "--tool was given without --assistant"),
        ((*TURN, "--at", "2026-03-01T12:00"), "has no time zone"),
        ((*TURN, "--at", "0001-01-01T00:00:00Z"), "lies before 1970, so nobody set it, most likely; leave the time out"),
        (("session", "turn", " ", "--agent", "a", "--user", "x"), "the session ' ' does not do"),
        (("session", "turn", "chat", "--agent", "", "--user", "x"), "the agent '' does not do"),
        (("session", "end", "chat", "--agent", "a"), "agent 'a' has no session 'chat'"),
        (("session", "show", "chat", "--agent", "a"), "agent 'a' has no session 'chat'; nous session list shows them"),
        (("episode", "show", "abcdef"), "there is no episode 'abcdef'; nous episodes --all shows them"),
        (("episode", "restore", "abcdef", "--because", "x", "--agent", "b"), "agent 'b' has no episode 'abcdef'"),
        (("publish", "episode_restored", "a=b"), "only the command nous episode restore publishes it"),
    ],
)
async def test_a_mistake_is_one_sentence_and_exit_code_2(nous: Nous, words: tuple[str, ...], told: str) -> None:
    result = await nous(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


async def test_vectors_of_two_embedders_are_not_mixed(nous: Nous) -> None:
    result = await nous(*TURN, NOUS_EMBEDDER="use-multilingual-v3")
    assert (result.exit_code, "the store's vectors are of the embedder 'zero'" in result.stderr) == (2, True)


# ── silence ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_silence_is_looked_for_four_times_in_its_length_and_at_least_twice_a_minute(kit: Kit) -> None:
    assert silence(kit).every_s == SILENCE_LOOKED_FOR_S
    short = kit.settings.model_copy(update={"session_silence_s": 1.0})
    assert silence(Kit(kit.database, kit.embedder, kit.registered, short, kit.mind)).every_s == 0.25


@pytest.fixture
async def forgotten(kit: Kit, database: Database) -> None:
    """A session of two hours ago that nobody ended."""
    tools = Tools(database, kit.embedder, kit.settings)
    with clock.held(clock.now() - timedelta(hours=2)):
        await reporting.start_turn(tools, "a", "chat", "Can you look into it?")
        await reporting.end_turn(tools, "a", "chat", "I did.", used=["search"])


@pytest.mark.usefixtures("forgotten")
async def test_a_lesson_that_comes_after_a_session_was_given_up_is_kept_and_it_says_so(nous: Nous, kit: Kit) -> None:
    (given_up,) = await reporting.close_silent(Tools(kit.database, kit.embedder, kit.settings))
    assert given_up.episode is not None
    late = await nous("session", "end", "chat", "--agent", "a", "--reflection", "Ask first.")
    assert late.stdout == f"session chat of a had been given up; what came now is kept with episode {given_up.episode.episode_id}\n"
    assert "learned: Ask first." in (await nous("episode", "show", str(given_up.episode.episode_id))).stdout


@pytest.mark.usefixtures("working")
@pytest.mark.parametrize(
    ("later", "told"),
    [
        ((), "has ended; episode {} had been closed and summarised, and keeps what it has"),
        (("Is lunch at noon?",), "has ended; it went on after episode {} had been summarised, so a new summary follows"),
    ],
    ids=["nothing was said since", "it went on"],
)
async def test_what_became_of_an_episode_that_its_agent_had_closed(nous: Nous, later: tuple[str, ...], told: str) -> None:
    episode = (await nous.json(*TURN, "--assistant", "Hi!"))["episode_id"]
    await nous("publish", "episode_closed", "agent_id=a", f"episode_id={episode}", "outcome=failure")
    assert (await nous("wait")).exit_code == 0
    for said in later:
        await nous("session", "turn", "chat", "--agent", "a", "--user", said, "--assistant", "Yes.")
    assert (await nous("session", "end", "chat", "--agent", "a")).stdout == f"session chat of a {told.format(episode)}\n"
    assert (await nous("wait")).exit_code == 0
    kept = (await nous.json("episode", "show", episode))["episode"]
    assert (kept["outcome"], bool(kept["settled_by"]), [one in kept["summary"] for one in later]) == ("failure", True, [True] * len(later))


@pytest.fixture
async def two_processes(
    forgotten: None, kit: Kit, redis: Redis, stack: embedded.Stack, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """Two that work nothing and only look for silence."""
    monkeypatch.setattr("nous.cli.running.SILENCE_LOOKED_FOR_S", 0.1)
    stop = asyncio.Event()
    running = [asyncio.create_task(Process([], kit, stack.redis_url, chores=[silence(kit)]).run(stop)) for _ in range(2)]
    yield
    stop.set()
    await asyncio.gather(*running)


@pytest.mark.usefixtures("two_processes")
async def test_running_processes_end_silent_sessions_and_publish_that_once(database: Database, redis: Redis) -> None:
    async def is_ended() -> bool:
        async with database.overview() as db:
            return [one.ending for one in await sessions.listed(db, agent="a", limit=None)] == ["abandoned"]

    await until(is_ended, what="the session ended")
    await until(lambda: redis.xlen("episode_closed"), what="episode_closed published")
    assert await redis.xlen("episode_closed") == 1
