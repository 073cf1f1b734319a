"""Stories: `nous explain` of an episode, a decision, a procedure, an event, and of a fact back to the words of its source."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from redis.asyncio import Redis

from events import FactLearned
from nous import embedded
from nous.stories import source
from store import archive, retries
from store.database import Database
from tests.conftest import until
from tests.factories import NOON, a_retry, an_id
from tests.nous.conftest import Nous, at_work
from tests.workers.episodes import DRINKS, LIVES, OSLO, TEA, TITLE, WritingMind, a_fact
from workers.runtime.worker import Kit

INVENTED = a_fact("Maria has a dog.", "my dog Rex")
OFFER, NOTED = "Shall I look for flats there?", "Noted: green tea."
TURN = ("session", "turn", "chat", "--agent", "a")


@pytest.fixture
async def working(nous: Nous, kit: Kit, stack: embedded.Stack) -> AsyncIterator[None]:
    """Every worker and the archivist, asking a mind that writes."""
    async with at_work(replace(kit, mind=WritingMind(LIVES, DRINKS, invented=[INVENTED])), stack, archives=True):
        yield


@pytest.fixture
async def talk(nous: Nous, working: None) -> dict[str, Any]:
    """A conversation in which a decision was made, closed and read; its story."""
    episode = (await nous.json(*TURN, "--user", OSLO, "--assistant", OFFER, "--at", "2026-03-01T10:00Z"))["episode_id"]
    await decided(nous, decision_id=str(an_id()), description="Rent rather than buy in Oslo", session_id="chat")
    await nous(*TURN, "--user", TEA, "--assistant", NOTED, "--at", "2026-03-01T10:05Z")
    await nous("session", "end", "chat", "--agent", "a", "--at", "2026-03-01T10:10Z")
    assert (await nous("wait")).exit_code == 0
    return dict(await nous.json("explain", "episode", episode[:8]))


async def decided(nous: Nous, **fields: str) -> Any:
    """Record a decision, made while they talked."""
    stated = {"agent_id": "a", "occurred_at": "2026-03-01T10:03Z", **fields}
    sent = await nous.json("publish", "decision_recorded", *(f"{name}={value}" for name, value in stated.items()))
    assert (await nous("wait")).exit_code == 0
    return sent


async def archived(nous: Nous, event_id: str, *, bodies: int = 1) -> Any:
    """The event's story, once so many of its bodies are in the archive."""

    async def told() -> Any:
        result = await nous("explain", "event", event_id, "--json")
        story = json.loads(result.stdout) if result.exit_code == 0 else {"came": []}
        return story if len(story["came"]) == bodies and story["event"]["is_archived"] else None

    return await until(told, what=f"{event_id} archived")


# ── episodes, and facts of one ────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_episodes_story_goes_from_its_first_words_to_what_became_of_each_fact(nous: Nous, talk: dict[str, Any]) -> None:
    assert [one["happened"] for one in talk["story"]] == ["opened", "said", "ended", "answered", "summarized"]
    opened, said, _, answered, _ = talk["story"]
    assert (opened["trigger"], opened["session_id"], said["utterances"]) == ("user_message", "chat", 4)
    question = answered["question"]
    assert (question["prompt"], question["model"], question["tokens_in"], question["answer"]["title"]) == (
        "episode-1",
        "scripted",
        100,
        TITLE,
    )
    assert [(one["content"], one["quote"], one["became"][:9], one["active"]) for one in talk["facts"]] == [
        (one["content"], one["quote"], "stored as", True) for one in (LIVES, DRINKS)
    ]
    assert [one["content"] for one in talk["dropped"]] == [INVENTED["content"]]
    assert [(one["description"], one["how"]) for one in talk["decisions"]] == [("Rent rather than buy in Oslo", "session")]
    shown = (await nous("explain", talk["episode"]["episode_id"])).stdout
    told = (
        "by a turn of session chat",
        "4 utterances, from 2026-03-01 10:00 to 2026-03-01 10:05: user ×2, assistant ×2",
        "the session ended",
        f"episode_closed {talk['episode']['settled_by']} tells of it",
        "mind: scripted, prompt episode-1, 100 tokens in, 10 out",
        "dropped 1 fact (quote not said)",
        f"“{LIVES['content']}” from “{OSLO}”",
        f"stored as {talk['facts'][0]['fact_id']}",
        "session Rent rather than buy in Oslo",
    )
    places = [shown.find(one) for one in told]
    assert -1 not in places, shown
    assert places == sorted(places)


async def test_a_fact_leads_back_to_who_said_it_between_which_lines_and_to_the_question_that_found_it(
    nous: Nous, talk: dict[str, Any]
) -> None:
    fact = talk["facts"][1]["fact_id"]
    (stored, *_) = (await nous.json("explain", "fact", fact))["story"]
    passage, question = stored["source"], stored["question"]
    assert (passage["episode_id"], passage["session_id"]) == (talk["episode"]["episode_id"], "chat")
    around = [passage[name] and passage[name]["content"] for name in ("before", "said", "after")]
    assert around == [OFFER, TEA, NOTED]
    assert (passage["said"]["speaker"], passage["said"]["said_at"][:16]) == ("user", "2026-03-01T10:05")
    assert (question["prompt"], question["model"], question["tokens_in"]) == ("episode-1", "scripted", 100)
    shown = (await nous("explain", "fact", fact)).stdout
    assert f"said by user on 2026-03-01 10:05, in session chat, in episode {talk['episode']['episode_id']}:" in shown
    assert f"assistant: {OFFER}\n" in shown
    assert f"▶ user: {TEA}\n" in shown
    assert "found by scripted, prompt episode-1, 100 tokens in" in shown


async def test_what_was_put_aside_and_restored_is_told_with_the_reasons_of_both(nous: Nous) -> None:
    episode = (await nous.json(*TURN, "--user", "Hello", "--assistant", "Hi!"))["episode_id"]
    await nous("session", "end", "chat", "--agent", "a")
    aside = await nous.json("explain", episode)
    assert [one["happened"] for one in aside["story"]] == ["opened", "said", "ended", "put aside"]
    assert "because: one turn, no tools, 8 characters of 200" in (await nous("explain", episode)).stdout
    await nous("episode", "restore", episode, "--because", "it was their first")
    *_, restored = (await nous.json("explain", episode))["story"]
    assert (restored["happened"], restored["worker"], restored["reason"]) == ("restored", "operator", "it was their first")
    shown = (await nous("explain", episode)).stdout
    assert "put aside: one turn, no tools, 8 characters of 200, and not to be remembered before, nothing since" in shown


async def test_a_terminal_shows_no_line_of_a_story_that_is_wider_than_it(nous: Nous, talk: dict[str, Any]) -> None:
    ids = (talk["episode"]["episode_id"], talk["facts"][0]["fact_id"], talk["decisions"][0]["decision_id"], talk["episode"]["settled_by"])
    for one, columns in product(ids, ("80", "140")):
        shown = await nous("explain", one, FORCE_COLOR="1", NO_COLOR="1", TERM="dumb", COLUMNS=columns)
        assert shown.exit_code == 0, shown.output
        assert max(map(len, shown.stdout.splitlines())) <= int(columns)


# ── decisions and procedures ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("working")
async def test_a_decisions_story_has_what_was_refused_of_it_and_what_came_of_it(nous: Nous) -> None:
    decision = str(an_id())
    await decided(nous, decision_id=decision, description="Take Postgres", reasons="row security")
    await archived(nous, (await decided(nous, decision_id=decision, description="Take MySQL"))["event_id"])
    review = await nous.json(
        "publish", "decision_reviewed", "agent_id=a", f"decision_id={decision}", "outcome=success", "note=it went well"
    )
    await archived(nous, review["event_id"])
    assert (await nous("wait")).exit_code == 0
    told = await nous.json("explain", "decision", decision)
    assert [one["happened"] for one in told["story"]] == ["recorded", "parked", "reviewed"]
    assert "says another thing now in description" in told["story"][1]["reason"]
    shown = (await nous("explain", decision)).stdout
    assert "outcome: pending before, success in this review" in shown
    assert "“it went well”" in shown


@pytest.mark.usefixtures("working")
async def test_a_decision_that_reads_like_a_status_report_says_why_it_is_doubted(nous: Nous) -> None:
    decision = str(an_id())
    await decided(nous, decision_id=decision, description="Git clone success")
    told = await nous.json("explain", decision)
    assert [one["happened"] for one in told["story"]] == ["recorded as noise"]
    assert told["decision"]["noise"]
    assert f"reads like a status report: {told['decision']['noise']}" in (await nous("explain", decision)).stdout


@pytest.mark.usefixtures("working")
async def test_a_procedures_story_has_each_use_and_how_it_went(nous: Nous) -> None:
    procedure = f"procedure_id={an_id()}"
    await nous("publish", "procedure_learned", "agent_id=a", procedure, "name=Deploy", "core_patterns=build, then ship")
    assert (await nous("wait")).exit_code == 0
    await nous("publish", "procedure_used", "agent_id=a", procedure, "worked=true", "note=check the port")
    assert (await nous("wait")).exit_code == 0
    shown = (await nous("explain", "procedure", procedure.partition("=")[2])).stdout
    assert "a · used 1 time, 1 of 1 worked" in shown
    assert ["learned" in shown, "“check the port”" in shown] == [True, True]


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_event_is_told_with_what_led_to_it_back_to_the_words_and_with_what_followed(nous: Nous, talk: dict[str, Any]) -> None:
    learned, closed = talk["facts"][0]["event_id"], talk["episode"]["settled_by"]
    told = await archived(nous, learned)
    assert [one["event_id"] for one in told["caused_by"]] == [closed]
    assert [(one["happened"], one.get("worker")) for one in told["story"]] == [("came", None), ("stored", "deduplicator")]
    assert told["came"][0]["body"]["content"] == LIVES["content"]
    assert told["source"]["said"]["content"] == OSLO
    ((stored,), checked) = told["derived"], told["derived"][0]["receipts"]
    assert (stored["streams"], [one["worker"] for one in checked]) == (["fact_stored"], ["supersession_checker"])
    root = await archived(nous, closed)
    assert sorted(stream for one in root["derived"] for stream in one["streams"]) == ["episode_summarized", "fact_learned", "fact_learned"]
    shown = (await nous("explain", "event", stored["event_id"])).stdout
    places = [shown.find(one) for one in (closed, learned, f"▶ user: {OSLO}", "kept")]
    assert -1 not in places, shown
    assert places == sorted(places)


@pytest.mark.usefixtures("working")
async def test_an_event_that_came_in_two_ways_is_told_with_both(nous: Nous) -> None:
    for content in ("port 5432", "port 5433"):
        await nous("publish", "fact_learned", "agent_id=a", "event_id=event-17", f"fact_id={an_id()}", f"content={content}")
    told = await archived(nous, "event-17", bodies=2)
    assert [one["body"]["content"] for one in told["came"]] == ["port 5432", "port 5433"]
    assert (await nous("wait")).exit_code == 0
    shown = (await nous("explain", "event-17")).stdout
    assert "came again, in other words" in shown
    assert shown.count("by deduplicator") == 1


async def test_an_event_that_waits_is_told_with_why_since_when_and_how_often_it_was_tried(nous: Nous, database: Database) -> None:
    due = NOON + timedelta(minutes=3)
    waiting = a_retry(agent_id="a", event_id="event-1", attempts=2, reason="529 overloaded", since=NOON, due_at=due)
    async with database.queue() as db:
        await retries.set_aside(db, [waiting])
    kept = archive.Archived("a", "event-1", FactLearned.stream, b"1", b"not JSON", "1-0", NOON, NOON)
    async with database.write(["a"]) as db:
        await archive.insert(db, [kept])
    told = await nous.json("explain", "event", "event-1")
    came, waits, *_ = told["story"]
    assert (came["happened"], came["body"]) == ("came", "not JSON")
    assert {name: waits["waiting"][name] for name in ("attempts", "reason")} == {"attempts": 2, "reason": "529 overloaded"}
    shown = (await nous("explain", "event-1")).stdout
    assert f"529 overloaded; 2 attempts so far, due {due:%Y-%m-%d %H:%M}" in shown


@pytest.mark.usefixtures("working")
async def test_an_event_that_is_in_no_archive_says_so_and_is_told_from_its_receipts(nous: Nous, database: Database, redis: Redis) -> None:
    censor = (await nous.json("censor", "add", "--agent", "a", "--pattern", "x", "--reason", "y"))["censor_id"]
    added = (await nous.json("explain", "censor", censor))["story"][0]["event_id"]
    async with database.write(["a"]) as db:
        missing = not await archive.of_event(db, "a", added)
    told = await nous.json("explain", "event", added)
    assert (told["event"]["is_archived"], "not archived" in (await nous("explain", added)).stdout) == (not missing, missing)
    assert [one["worker"] for one in told["story"] if one["happened"] == "added"] == ["operator"]


# ── which is meant ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_entry_id_means_the_event_that_came_as_it(nous: Nous, database: Database) -> None:
    entry = f"{int(NOON.timestamp() * 1000)}-0"
    kept = archive.Archived("a", "event-1", FactLearned.stream, b"1", b"not JSON", entry, NOON, NOON)
    async with database.write(["a"]) as db:
        await archive.insert(db, [kept])
    assert (await nous.json("explain", entry))["event"]["event_id"] == "event-1"
    async with database.write(["b"]) as db:
        await archive.insert(db, [replace(kept, agent_id="b", stream="fact_stored")])
    several = await nous("explain", "event", entry)
    assert (several.exit_code, f"several events came as entry {entry}" in several.stderr) == (2, True)
    assert (await nous("explain", f"{entry}1")).exit_code == 2


async def test_the_id_of_a_session_is_answered_with_the_command_that_shows_it(nous: Nous) -> None:
    await nous("session", "turn", "chat-1", "--agent", "a", "--user", "Hello")
    result = await nous("explain", "chat-1")
    assert (result.exit_code, "nous session show chat-1 --agent a shows it" in result.stderr) == (2, True)


@pytest.mark.usefixtures("working")
async def test_an_id_that_two_kinds_of_things_have_is_asked_back(nous: Nous) -> None:
    one = str(an_id())
    await decided(nous, decision_id=one, description="Take Postgres")
    await nous("publish", "procedure_learned", "agent_id=a", f"procedure_id={one}", "name=Deploy")
    assert (await nous("wait")).exit_code == 0
    result = await nous("explain", one)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'{one}' fits a decision and a procedure; say which is meant, as in: nous explain decision {one}" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("abcdef",), "'abcdef' is the id of no fact, episode, decision, procedure, passage, censor or event; write an id"),
        (("abcdef", "--agent", "b"), "or event of agent 'b'"),
        (("fcat", "abcdef"), "there are no stories of 'fcat' (did you mean fact?)"),
        (("episode", "abcdef"), "there is no episode 'abcdef'; nous episodes --all shows them"),
        (("decision", "abcdef", "--agent", "b"), "agent 'b' has no decision 'abcdef'"),
        (("procedure", "abcdef"), "there is no procedure 'abcdef'"),
        (("event", "abc"), "there is no event 'abc', and fewer than 6 characters mean no event by its beginning"),
        (("event", "abcdef"), "there is no event 'abcdef'; nous publish --ids prints the id of what it sends"),
    ],
)
async def test_an_id_of_nothing_is_one_sentence_and_exit_code_2(nous: Nous, words: tuple[str, ...], told: str) -> None:
    result = await nous("explain", *words)
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)
    assert told in result.stderr


def test_of_a_long_turn_the_part_around_the_quote_is_shown() -> None:
    said = f"{'before ' * 100}I live in Oslo {'after ' * 100}"
    shown = source.excerpt(said, "I live in Oslo")
    assert ("I live in Oslo" in shown, shown[0], shown[-1]) == (True, "…", "…")
    assert len(shown) <= source.SHOWN_CHARACTERS + 2
    assert source.excerpt("I live in Oslo", "I live") == "I live in Oslo"
