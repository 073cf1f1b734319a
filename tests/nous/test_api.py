"""Memory over HTTP: conversations, events, recall and single memories, for the agent that speaks."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from redis.asyncio import Redis

import events
from nous import embedded
from nous.api import events as routes
from nous.api import telling
from nous.settings import Settings
from recall import sessions as talks
from recall.plans import MOST_MEMORIES as MOST_MEMORIES_OF_A_KIND
from recall.remembering import Remembered
from store import censors, decisions, embedders, episodes, facts, mentions, passages, sessions, usage, vectors
from store.database import Database
from store.outbox import unpublished
from store.search import Kind
from tests.factories import NOON, a_censor, a_decision, a_fact, a_mention, a_vector, an_episode, an_id
from tests.nous.api import MINE, OTHER, Api, Hands, keep, served
from tests.workers.conftest import ScriptedMind
from workers.runtime import streams, sweep
from workers.runtime.worker import Kit

STREAMS = [*events.CATALOGUE]


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(Settings(embedder="zero", mind="offline"), database_url, stack.redis_url) as one:
        yield one


@pytest.fixture
async def hands(kit: Kit, redis: Redis) -> Hands:
    return Hands(kit, redis)


async def published(redis: Redis, stream: str) -> list[dict[str, Any]]:
    return [json.loads(fields[b"data"]) for _, fields in await redis.xrange(stream)]


def in_path(one: str) -> str:
    """As docs/api.md says."""
    return quote(one, safe="").replace(".", "%2E")


# ── events ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_batch_is_taken_event_by_event_and_each_is_reported_by_itself(api: Api, redis: Redis) -> None:
    good = {"event": "fact_learned", "data": {"content": "Maria likes tea"}}
    batch = [
        good,
        {"event": "fact_learned", "data": {"content": 7}},
        {"event": "fact_stored", "data": {}},
        {"event": "nothing", "data": {}},
        {"event": "fact_learned", "data": {"content": "x", "agent_id": OTHER}},
        {"event": "censor_triggered", "data": {"censor_id": str(an_id()), "was_blocked": False}},
    ]
    told = await api.post("/v1/events", {"events": batch}, 202)
    assert [one["status"] for one in told["events"]] == ["taken", "rejected", "rejected", "rejected", "rejected", "taken"]
    assert (told["taken"], told["rejected"]) == (2, 4)
    assert told["events"][0]["made"]["fact_id"] == events.FactLearned.derive_fact_id(MINE, "Maria likes tea")
    reasons = [one["reason"] or "" for one in told["events"]]
    assert "content" in reasons[1]
    assert all("agents do not publish" in reasons[at] for at in (2, 3))
    assert reasons[4] == "agent_id is not the agent that speaks; leave it out"
    (kept,) = await published(redis, "fact_learned")
    assert (kept["agent_id"], kept["event_id"]) == (MINE, told["events"][0]["event_id"])


async def test_a_batch_of_which_nothing_does_is_422_and_says_so_of_each(api: Api) -> None:
    told = await api.post("/v1/events", {"events": [{"event": "nothing", "data": {}}]}, 422)
    assert told["title"] == "It does not do"
    assert told["events"][0]["status"] == "rejected"
    assert (await api.post("/v1/events", {"events": []}, 202))["events"] == []


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"event": "x" * 101, "data": {}}, "event: String should have at most 100 characters"),
        ({"event": "fact_\ud800", "data": {}}, "event: "),
        ({"event": "fact_learned", "data": "Maria likes rum"}, "data: Input should be a valid dictionary"),
        ({"event": "fact_learned"}, "data: Field required"),
        ({"data": {"content": "Maria likes rum"}}, "event: Field required"),
        ({"event": "fact_learned", "data": {"content": "Maria likes rum"}, "\ud800": 1}, "Input should be a valid string"),
        ({"event": "fact_learned", "data": {"content": "Maria likes rum"}, "at": 1}, "at: Extra inputs are not permitted"),
        (None, "Input should be"),
        ([], "Input should be"),
        ("fact_learned", "Input should be"),
    ],
)
async def test_whatever_stands_in_a_batch_costs_itself_only(api: Api, redis: Redis, wrong: object, why: str) -> None:
    good = {"event": "fact_learned", "data": {"content": "Maria likes tea"}}
    written = json.dumps({"events": [good, wrong, good]})
    answer = await api.mine.post("/v1/events", content=written, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202, answer.text
    assert [one["status"] for one in answer.json()["events"]] == ["taken", "rejected", "taken"]
    assert why in answer.json()["events"][1]["reason"]
    assert len(await published(redis, "fact_learned")) == 2


async def test_whoever_calls_it_as_a_function_is_told_how_each_event_fared_whether_or_not_any_was_taken(api: Api) -> None:
    for event, status in (("nothing", "rejected"), ("fact_learned", "taken")):
        batch = routes.Batch(events=(routes.Sent(event=event, data={"content": "Maria likes tea"}),))
        (report,) = (await routes.taken(batch, MINE, api.service)).events
        assert report.status == status


async def test_an_event_sent_again_has_one_effect_with_an_id_of_its_own_and_without(api: Api, hands: Hands, database: Database) -> None:
    batch = {
        "events": [
            {"event": "fact_learned", "data": {"content": "Maria likes tea"}},
            {"event": "fact_learned", "data": {"content": "Maria likes rum", "event_id": "mine"}},
        ]
    }
    first, second = await api.post("/v1/events", batch, 202), await api.post("/v1/events", batch, 202)
    assert first == second
    await hands.settle(STREAMS)
    async with database.read([MINE]) as db:
        found = await facts.listed(db, agent=MINE, inactive=True, limit=None)
    assert sorted((one.content, one.confirmation_count) for one in found) == [("Maria likes rum", 0), ("Maria likes tea", 0)]


async def test_what_counts_as_new_each_time_is_told_apart_by_an_idempotency_key(api: Api, redis: Redis) -> None:
    one = {"event": "censor_triggered", "data": {"censor_id": str(an_id()), "was_blocked": False}}
    for key in ("a", "a", "b", None):
        await api.post("/v1/events", {"events": [one, one]}, 202, headers={"Idempotency-Key": key} if key else {})
    ids = [one["event_id"] for one in await published(redis, "censor_triggered")]
    assert (len(ids), len(set(ids))) == (8, 6)


async def test_what_became_of_an_event_is_told_once_all_workers_are_through_with_it(api: Api, hands: Hands) -> None:
    told = await api.post("/v1/events", {"events": [{"event": "fact_learned", "data": {"content": "Maria likes tea"}}]}, 202)
    event_id = told["events"][0]["event_id"]
    await api.get(f"/v1/events/{event_id}", 404)
    waiting = asyncio.create_task(api.get(f"/v1/events/{event_id}", wait=20))
    await hands.settle(STREAMS)
    seen = await waiting
    assert (seen["is_settled"], seen["events"], seen["waiting_for"]) == (True, ["fact_learned"], [])
    assert [(one["worker"], one["outcome"]) for one in seen["endings"]] == [("deduplicator", "stored")]


@pytest.mark.parametrize("event_id", ["a/b", "a%2Fb", "/", "../..", "..", "100 %?#ü"])
async def test_an_event_is_reached_by_its_id_whatever_characters_it_has(api: Api, hands: Hands, event_id: str) -> None:
    one = {"event": "fact_learned", "data": {"content": "Maria likes tea", "event_id": event_id}}
    await api.post("/v1/events", {"events": [one]}, 202)
    await hands.settle(STREAMS)
    assert (await api.get(f"/v1/events/{in_path(event_id)}"))["event_id"] == event_id


@pytest.mark.parametrize("path", ["/v1/sessions/%ff/end", "/v1/sessions/a/turns/%fe/result", "/v1/events/%c3%28", "/v1/memories/%ff"])
async def test_an_id_that_is_no_utf8_is_refused_and_is_not_another_s(api: Api, path: str) -> None:
    answer = await api.mine.request("GET" if "events" in path or "memories" in path else "POST", path, json={"assistant": "Hello."})
    assert (answer.status_code, answer.json()["title"]) == (400, "Not understood")
    assert "is not percent-encoded UTF-8" in answer.json()["detail"]


async def test_an_event_id_may_have_its_slashes_as_they_are(api: Api, hands: Hands) -> None:
    one = {"event": "fact_learned", "data": {"content": "Maria likes tea", "event_id": "a/b"}}
    await api.post("/v1/events", {"events": [one]}, 202)
    await hands.settle(STREAMS)
    assert (await api.get("/v1/events/a/b"))["event_id"] == "a/b"


async def test_an_event_that_only_the_archive_has_says_whom_it_waits_for(api: Api, hands: Hands) -> None:
    told = await api.post("/v1/events", {"events": [{"event": "fact_learned", "data": {"content": "Maria likes tea"}}]}, 202)
    hands.lives = {name: life for name, life in hands.lives.items() if name != "deduplicator"}
    with pytest.raises(KeyError):
        await hands.settle(["fact_learned"])
    seen = await api.get(f"/v1/events/{told['events'][0]['event_id']}", wait=0.01)
    assert (seen["is_settled"], seen["waiting_for"]) == (False, ["deduplicator"])


async def test_a_client_that_left_loses_nothing_it_was_told_was_taken(api: Api, redis: Redis) -> None:
    batch = {"events": [{"event": "fact_learned", "data": {"content": f"Maria has {number} cats"}} for number in range(200)]}
    taken: set[str] = set()

    async def send_and_leave(after_s: float) -> None:
        try:
            async with asyncio.timeout(after_s):
                told = await api.post("/v1/events", batch, 202)
                taken.update(one["event_id"] for one in told["events"])
        except TimeoutError:
            pass

    await asyncio.gather(*(send_and_leave(after / 100) for after in range(1, 12)))
    await send_and_leave(20)
    assert len(taken) == 200
    assert taken <= {one["event_id"] for one in await published(redis, "fact_learned")}


# ── conversations ─────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_turn_is_told_what_bears_on_it_and_its_answer_is_compared_with_that(api: Api, hands: Hands, database: Database) -> None:
    tea = a_fact(agent_id=MINE, content="Maria drinks green tea in the morning", provenance="user_stated")
    desk = a_fact(agent_id=MINE, content="Maria keeps a green plant on her desk", provenance="user_stated")
    await keep(database, tea, desk)
    begun = await api.post("/v1/sessions/chat/turns", {"user": "What does Maria drink in the morning? Something green?", "turn": "1"})
    told = {one["id"]: one for one in begun["memories"]}
    assert str(tea.fact_id) in told
    assert "Maria drinks green tea" in begun["context"]
    answer = "She drinks green tea in the morning."
    ended = await api.post("/v1/sessions/chat/turns/1/result", {"assistant": answer, "tools": ["search"]})
    assert [(one["id"], one["how"]) for one in ended["referenced"]] == [(str(tea.fact_id), "overlap")]
    assert ended["turn_count"] == 1
    again = await api.post("/v1/sessions/chat/turns/1/result", {"assistant": answer, "tools": ["search"]})
    assert again["turn_count"] == 1
    await hands.settle(["memory_recalled", "memory_referenced"])
    async with database.read([MINE]) as db:
        used = (await usage.of(db, MINE, [("fact", tea.fact_id)]))["fact", tea.fact_id]
        unused = (await usage.of(db, MINE, [("fact", desk.fact_id)]))["fact", desk.fact_id]
    assert (used.retrieved, used.injected, used.compared, used.referenced) == (1, 1, 1, 1)
    assert (unused.retrieved, unused.injected, unused.compared, unused.referenced) == (1, 1, 1, 0)


async def test_an_answer_that_drew_on_nothing_counts_against_what_it_was_told(api: Api, hands: Hands, database: Database) -> None:
    coffee = a_fact(agent_id=MINE, content="Maria takes her coffee black", provenance="user_stated")
    await keep(database, coffee)
    for turn in range(3):
        await api.post("/v1/sessions/chat/turns", {"user": f"How does Maria take her coffee? {turn}", "turn": str(turn)})
        await api.post("/v1/recall", {"question": "How does Maria take her coffee?"})
        await api.post(f"/v1/sessions/chat/turns/{turn}/result", {"assistant": f"Hello Maria {turn}!"})
    await hands.settle(["memory_recalled", "memory_referenced"])
    async with database.read([MINE]) as db:
        used = (await usage.of(db, MINE, [("fact", coffee.fact_id)]))["fact", coffee.fact_id]
    assert (used.retrieved, used.compared, used.referenced) == (6, 3, 0)


async def test_being_asked_what_was_true_then_is_not_held_against_what_is_true_now(api: Api, hands: Hands, database: Database) -> None:
    now = a_fact(agent_id=MINE, content="Maria lives in Bergen", valid_from=NOON.replace(month=11))
    old = a_fact(agent_id=MINE, content="Maria lives in Oslo", active=False, superseded_by=now.fact_id, valid_to=now.valid_from)
    await keep(database, now)
    await keep(database, old)
    asked = {"question": "Where does Maria live?", "as_of": (NOON.replace(month=10)).isoformat()}
    told = await api.post("/v1/recall", asked)
    assert [one["id"] for one in told["memories"]] == [str(old.fact_id)]
    await hands.settle(["memory_recalled"])
    async with database.read([MINE]) as db:
        used = (await usage.of(db, MINE, [("fact", now.fact_id)]))["fact", now.fact_id]
    assert (used.retrieved, used.injected, used.boost(NOON)) == (1, 0, 1.0)


async def test_a_plan_that_tells_more_than_one_event_holds_is_counted_in_several(
    api: Api, hands: Hands, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "MOST_MEMORIES", 2)
    rows = [a_fact(agent_id=MINE, content=f"Maria has a parrot called {name}", provenance="user_stated") for name in "ABCDE"]
    await keep(database, *rows)
    begun = await api.post("/v1/sessions/chat/turns", {"user": "What are Maria's parrots called?", "turn": "1"})
    assert len(begun["memories"]) == 5
    cited = [one["handle"] for one in begun["memories"]]
    ended = await api.post("/v1/sessions/chat/turns/1/result", {"assistant": "I cannot say.", "cited": cited})
    assert len(ended["referenced"]) == 5
    await hands.settle(["memory_recalled", "memory_referenced"])
    async with database.read([MINE]) as db:
        used = await usage.of(db, MINE, [("fact", one.fact_id) for one in rows])
    assert [(one.injected, one.compared, one.referenced) for one in used.values()] == [(1, 1, 1)] * 5


def test_the_largest_plan_is_told_of_in_events_that_do() -> None:
    left_out: list[tuple[Kind, uuid.UUID]] = [("fact", an_id()) for _ in range(5 * MOST_MEMORIES_OF_A_KIND)]
    told = telling.recalled(MINE, an_id(), Remembered("", "task", 0, left_out=tuple(left_out)))
    assert len({one.event_id for one in told}) == len(told) == 2


async def test_what_a_turn_and_its_answer_have_to_tell_outlives_a_process_that_stops_before_it_told(
    api: Api, redis: Redis, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after what was served, or the answer, was committed, and before Redis had its events."""

    async def stopped(*_: object, **__: object) -> None:
        raise RuntimeError("stopped here")

    fact, censor = a_fact(agent_id=MINE, content="Maria drinks green tea"), a_censor(agent_id=MINE, trigger_pattern="tea", severity="block")
    await keep(database, fact)
    async with database.write([MINE]) as db:
        await censors.insert(db, censor)
    with monkeypatch.context() as patch:
        patch.setattr(streams, "append", stopped)
        await api.post("/v1/sessions/chat/turns", {"user": "What does Maria drink? Tea?", "turn": "1"}, 500)
        await api.post("/v1/sessions/chat/turns/1/result", {"assistant": "She drinks it green."}, 500)
    assert await published(redis, "censor_triggered") == []
    monkeypatch.setattr(sweep, "LEFT_BEHIND_AFTER", sweep.LEFT_BEHIND_AFTER * 0)
    await sweep.Sweep(database, redis, {}).round()
    (triggered,) = await published(redis, "censor_triggered")
    assert (triggered["censor_id"], triggered["was_blocked"]) == (str(censor.censor_id), True)
    for stream in ("memory_recalled", "memory_referenced"):
        (told,) = await published(redis, stream)
        assert [one["id"] for one in told["memories"]] == [str(fact.fact_id)], stream


async def test_what_was_found_and_had_no_room_is_counted_as_found_and_not_as_told(api: Api, hands: Hands, database: Database) -> None:
    facts = [a_fact(agent_id=MINE, content=f"Maria has a parrot that is called {name}", provenance="user_stated") for name in ("Ali", "Bo")]
    await keep(database, *facts)
    question = {"question": "What are Maria's parrots called?"}
    both = await api.post("/v1/recall", question)
    (told,) = [one["id"] for one in (await api.post("/v1/recall", question | {"budget": both["tokens"] - 1}))["memories"]]
    await hands.settle(["memory_recalled"])
    async with database.read([MINE]) as db:
        used = await usage.of(db, MINE, [("fact", fact.fact_id) for fact in facts])
    assert {(str(key[1]) == told, one.retrieved, one.injected) for key, one in used.items()} == {(True, 2, 2), (False, 2, 1)}


async def test_what_an_answer_cites_is_counted_whatever_words_it_shares(api: Api, database: Database) -> None:
    fact = a_fact(agent_id=MINE, content="Maria drinks green tea in the morning", provenance="user_stated")
    await keep(database, fact)
    begun = await api.post("/v1/sessions/chat/turns", {"user": "What does Maria drink in the morning?"})
    (memory,) = begun["memories"]
    for turn, body in (
        (begun["turn"], {"assistant": f"As you know [{memory['handle']}]."}),
        (begun["turn"], {"assistant": f"As you know [{memory['handle']}].", "cited": [str(fact.fact_id)]}),
    ):
        ended = await api.post(f"/v1/sessions/chat/turns/{turn}/result", body)
        assert [one["how"] for one in ended["referenced"]] == ["cited"]


async def test_a_turn_told_again_is_kept_and_counted_once(api: Api, redis: Redis, database: Database) -> None:
    await keep(database, a_fact(agent_id=MINE, content="Maria drinks green tea", provenance="user_stated"))
    turn = {"user": "What does Maria drink? Tea?", "turn": "1"}
    one, two = await api.post("/v1/sessions/chat/turns", turn), await api.post("/v1/sessions/chat/turns", turn)
    assert one["recall_id"] == two["recall_id"]
    assert len({event["event_id"] for event in await published(redis, "memory_recalled")}) == 1
    await api.post("/v1/sessions/chat/turns", {"user": "something else", "turn": "1"}, 422)


@pytest.mark.parametrize(("window", "is_told"), [(100, False), (5, True)])
async def test_what_was_said_so_many_turns_ago_is_left_out_if_the_plan_looks_back_so_far(
    database_url: str, stack: embedded.Stack, redis: Redis, window: int, *, is_told: bool
) -> None:
    coffee, plans = "Maria takes her coffee black", {"*": {"window": {"question": window}}}
    settings = Settings(embedder="zero", mind="offline", recall_plans=plans)
    async with served(settings, database_url, stack.redis_url) as api:
        await keep(api.service.database, a_fact(agent_id=MINE, content=coffee))
        said = [coffee, *(f"That is noted, {number}." for number in range(98))]
        for turn, one in enumerate(said):
            await talks.start_turn(api.service.recall, MINE, "long", one, turn_id=str(turn))
            await talks.end_turn(api.service.recall, MINE, "long", "Good.", turn_id=str(turn))
        got = await api.post("/v1/sessions/long/turns", {"user": "How does Maria take her coffee?", "frame": "question"})
    assert (coffee in [one["text"] for one in got["memories"]]) is is_told


async def test_a_session_ends_and_says_what_became_of_it(api: Api, redis: Redis) -> None:
    for turn in ("1", "2"):
        await api.post("/v1/sessions/chat/turns", {"user": "Which database shall we take for this?", "turn": turn})
        await api.post(f"/v1/sessions/chat/turns/{turn}/result", {"assistant": "Postgres, for its row security."})
    closed = await api.post("/v1/sessions/chat/end", {"reflection": "Ask about backups first."})
    assert (closed["became"], closed["episode_id"] is not None) == ("closed", True)
    (event,) = await published(redis, "episode_closed")
    assert event["episode_id"] == closed["episode_id"]
    assert (await api.post("/v1/sessions/chat/end", {}))["became"] == "ended_before"
    await api.post("/v1/sessions/never/end", {}, 404)


async def test_what_is_said_in_a_session_is_recalled_by_others_once_it_has_ended(api: Api, hands: Hands) -> None:
    await api.post("/v1/sessions/one/turns", {"user": "Remember that the key is under the blue flower pot.", "turn": "1"})
    await api.post("/v1/sessions/one/turns/1/result", {"assistant": "I will remember the blue flower pot."})
    await hands.settle(STREAMS)
    asked = {"user": "Where is the key, under which flower pot?"}
    assert (await api.post("/v1/sessions/other/turns", asked))["memories"] == []
    await api.post("/v1/sessions/one/end", {})
    await hands.settle(STREAMS)
    told = (await api.post("/v1/sessions/another/turns", asked))["memories"]
    assert any("blue flower pot" in one["text"] for one in told)


async def test_a_session_ends_without_a_body_too(api: Api) -> None:
    await api.post("/v1/sessions/chat/turns", {"user": "Good morning!", "turn": "1"})
    ended = await api.mine.post("/v1/sessions/chat/end")
    assert (ended.status_code, ended.json()["session_id"]) == (200, "chat")


@pytest.mark.parametrize(("session", "turn"), [("a/turns/b", "c"), ("a", "b/turns/c"), ("a%2Fb", "%"), ("..", "."), ("é ?#", "1/result")])
async def test_a_conversation_is_reached_by_its_ids_whatever_characters_they_have(
    api: Api, database: Database, session: str, turn: str
) -> None:
    begun = await api.post(f"/v1/sessions/{in_path(session)}/turns", {"user": "Which database shall we take?", "turn": turn})
    assert (begun["session_id"], begun["turn"]) == (session, turn)
    ended = await api.post(f"/v1/sessions/{in_path(session)}/turns/{in_path(turn)}/result", {"assistant": "Postgres."})
    assert (ended["session_id"], ended["turn"], ended["turn_count"]) == (session, turn, 1)
    assert (await api.post(f"/v1/sessions/{in_path(session)}/end", {}))["session_id"] == session
    async with database.read([MINE]) as db:
        kept = await sessions.latest(db, MINE, session)
        assert kept is not None
        said = await sessions.turns(db, MINE, kept.session_key, last=10)
    assert [one.turn_id for one in said] == [turn, turn]


async def test_an_answer_to_a_turn_nobody_began_is_refused_in_words_and_not_kept(api: Api, database: Database) -> None:
    told = await api.post("/v1/sessions/chat/turns/zz/result", {"assistant": "Hello."}, 404)
    assert "no turn of that id was begun in that session" in told["detail"]
    await api.post("/v1/sessions/chat/turns", {"user": "Good morning!", "turn": "1"})
    await api.post("/v1/sessions/chat/turns/zz/result", {"assistant": "Hello."}, 404)
    async with database.read([MINE]) as db:
        kept = await sessions.latest(db, MINE, "chat")
        assert kept is not None
        assert [one.content for one in await sessions.turns(db, MINE, kept.session_key)] == ["Good morning!"]


async def test_an_answer_that_comes_after_its_session_has_ended_is_kept_and_may_be_told_again(api: Api) -> None:
    await api.post("/v1/sessions/chat/turns", {"user": "Which database shall we take for this?", "turn": "1"})
    await api.post("/v1/sessions/chat/end", {})
    first, again = [await api.post("/v1/sessions/chat/turns/1/result", {"assistant": "Postgres."}) for _ in range(2)]
    assert first == again
    assert first["turn_count"] == 1


async def test_a_conversation_that_is_told_again_after_its_end_is_kept_and_counted_once(api: Api, redis: Redis, database: Database) -> None:
    await keep(database, a_fact(agent_id=MINE, content="Maria drinks green tea with honey", provenance="user_stated"))
    told = []
    for _ in range(2):
        told.append(await api.post("/v1/sessions/chat/turns", {"user": "What does Maria drink? Tea?", "turn": "1"}))
        told.append(await api.post("/v1/sessions/chat/turns/1/result", {"assistant": "Green tea with honey.", "tools": ["search"]}))
        told.append(await api.post("/v1/sessions/chat/end", {}))
    for first, again in zip(told[:2], told[3:5], strict=True):
        assert first == again
    assert [one["became"] for one in (told[2], told[5])] == ["closed", "ended_before"]
    for stream in ("memory_recalled", "memory_referenced", "episode_closed"):
        assert len({event["event_id"] for event in await published(redis, stream)}) == 1, stream
    assert len((await api.post("/v1/recall", {"question": "What does Maria drink?", "kinds": ["fact"]}))["memories"]) == 1


async def test_ids_that_an_answer_cites_and_its_turn_was_not_told_are_named(api: Api, database: Database) -> None:
    fact = a_fact(agent_id=MINE, content="Maria drinks green tea in the morning", provenance="user_stated")
    await keep(database, fact)
    begun = await api.post("/v1/sessions/chat/turns", {"user": "What does Maria drink in the morning?", "turn": "1"})
    (memory,) = begun["memories"]
    answer = f"As you know [{memory['handle']}], and [d-ffffffff]."
    body = {"assistant": answer, "cited": [f"[{memory['handle']}]", str(an_id()), "tea"]}
    ended = await api.post("/v1/sessions/chat/turns/1/result", body)
    assert [one["id"] for one in ended["referenced"]] == [str(fact.fact_id)]
    assert ended["unknown_citations"] == ["d-ffffffff", *body["cited"][1:]]


# ── censors ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_match_of_a_censor_is_published_once_and_told(api: Api, redis: Redis, database: Database) -> None:
    warn, block, quiet = (
        a_censor(agent_id=MINE, trigger_pattern=pattern, severity=severity)
        for pattern, severity in (("rm -rf", "warn"), ("production", "block"), ("coffee", "warn"))
    )
    async with database.write([MINE]) as db:
        for one in (warn, block, quiet):
            await censors.insert(db, one)
    turn = {"user": "Shall I run rm -rf on production?", "turn": "1"}
    begun = await api.post("/v1/sessions/chat/turns", turn)
    await api.post("/v1/sessions/chat/turns", turn)
    assert begun["is_blocked"] is True
    assert {(one["id"], one["is_blocking"]) for one in begun["censors"]} == {(str(warn.censor_id), False), (str(block.censor_id), True)}
    sent = {one["event_id"]: one for one in await published(redis, "censor_triggered")}
    assert {(one["censor_id"], one["was_blocked"]) for one in sent.values()} == {(str(warn.censor_id), False), (str(block.censor_id), True)}
    asked = {"question": turn["user"], "recall_id": str(an_id())}
    for _ in range(2):
        await api.post("/v1/recall", asked)
    sent = {one["event_id"]: one for one in await published(redis, "censor_triggered")}
    assert len(sent) == 4


# ── recall, and single memories ───────────────────────────────────────────────────────────────────────────────────────────


async def test_a_question_is_answered_with_what_bears_on_it_and_explained_if_asked(api: Api, database: Database) -> None:
    fact = a_fact(agent_id=MINE, content="Maria drinks green tea", provenance="user_stated")
    await keep(database, fact)
    plain = await api.post("/v1/recall", {"question": "What does Maria drink?"})
    assert [one["id"] for one in plain["memories"]] == [str(fact.fact_id)]
    assert plain["explained"] is None
    assert (await api.post("/v1/recall", {"question": "What does Maria drink?", "explain": True}))["explained"]
    assert (await api.post("/v1/recall", {"question": "What does Maria drink?", "kinds": []}))["memories"] == []
    past = await api.post("/v1/recall", {"question": "What does Maria drink?", "as_of": "2020-01-01T00:00Z"})
    assert past["memories"] == []


@pytest.mark.parametrize(("as_of", "is_told"), [("2026-03-01", False), ("2026-03-02", True), ("2026-03-01T13:00+01:00", True)])
async def test_a_date_alone_is_its_midnight_in_utc(api: Api, database: Database, as_of: str, *, is_told: bool) -> None:
    await keep(database, a_fact(agent_id=MINE, content="Maria drinks green tea", provenance="user_stated", valid_from=NOON))
    past = await api.post("/v1/recall", {"question": "What does Maria drink?", "as_of": as_of})
    assert bool(past["memories"]) is is_told
    await api.post("/v1/sessions/chat/turns", {"user": "Good morning!", "turn": "1", "at": as_of})


@pytest.mark.parametrize(
    ("as_of", "told"),
    [
        ("2026-03-08T09:00", "has no time zone, so it is no one moment; write 2026-03-08T09:00Z for UTC"),
        ("yesterday", "is no time; write it as 2026-03-01T09:30Z, or a date alone"),
        ("0001-01-01T00:00+10:00", "outside the years 1 to 9999"),
    ],
)
async def test_a_time_that_cannot_be_meant_is_told_how_it_is_written(api: Api, as_of: str, told: str) -> None:
    assert told in (await api.post("/v1/recall", {"question": "What does Maria drink?", "as_of": as_of}, 422))["detail"]


async def test_nothing_is_written_to_postgres_by_a_question(api: Api, database: Database, redis: Redis) -> None:
    await keep(database, a_fact(agent_id=MINE, content="Maria drinks green tea", provenance="user_stated"))
    await api.post("/v1/recall", {"question": "What does Maria drink?"})
    async with database.queue() as db:
        assert await unpublished(db, before=NOON.replace(year=2100), limit=9) == []
    assert len(await published(redis, "memory_recalled")) == 1


async def test_a_memory_is_given_by_its_id_or_one_it_was_published_under_and_says_what_is_true_instead(
    api: Api, database: Database
) -> None:
    now = a_fact(agent_id=MINE, content="Maria lives in Bergen")
    old = a_fact(agent_id=MINE, content="Maria lives in Oslo", active=False, superseded_by=now.fact_id)
    name = an_id()
    await keep(database, now)
    await keep(database, old)
    async with database.write([MINE]) as db:
        await mentions.insert(db, [a_mention(old, mention_id=name)])
    for asked in (old.fact_id, name):
        found = await api.get(f"/v1/memories/{asked}")
        assert (found["kind"], found["id"], found["now"]) == ("fact", str(old.fact_id), str(now.fact_id))
        assert found["record"]["content"] == "Maria lives in Oslo"
        assert (await api.get(f"/v1/memories/{asked}/explain"))["story"]
    assert "Maria lives in Bergen" in (await api.get(f"/v1/memories/{now.fact_id}/expand"))["text"]


async def test_other_kinds_are_found_by_their_ids_too(api: Api, database: Database) -> None:
    decision, censor = a_decision(agent_id=MINE), a_censor(agent_id=MINE)
    async with database.write([MINE]) as db:
        await decisions.put(db, [decision])
        await censors.insert(db, censor)
    assert (await api.get(f"/v1/memories/{decision.decision_id}"))["kind"] == "decision"
    assert "Postgres, not SQLite" in (await api.get(f"/v1/memories/{decision.decision_id}/expand"))["text"]
    assert (await api.get(f"/v1/memories/{censor.censor_id}"))["kind"] == "censor"
    await api.get(f"/v1/memories/{censor.censor_id}/expand", 409)


async def test_the_story_of_a_passage_is_that_of_its_episode(api: Api, database: Database) -> None:
    episode = an_episode(agent_id=MINE, detail="User: I like tea.")
    async with database.write([MINE]) as db:
        await episodes.put(db, episode)
        await passages.put(db, MINE, episode.episode_id, [("User: I like tea.", NOON)])
    of_it, of_its_episode = [
        await api.get(f"/v1/memories/{one}/explain") for one in (passages.id_of(MINE, episode.episode_id, 0), episode.episode_id)
    ]
    assert of_it == of_its_episode
    assert of_it["id"] == str(episode.episode_id)


# ── what a person decides ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_retired_fact_is_restored_beside_what_retired_it(api: Api, kit: Kit, redis: Redis) -> None:
    mind = ScriptedMind()
    mind.says("Maria lives in Oslo", "updates", "Maria lives in Bergen")
    hands = Hands(replace(kit, mind=mind), redis)
    told = []
    for at, content in (("2026-03-01T09:00Z", "Maria lives in Oslo"), ("2026-03-02T09:00Z", "Maria lives in Bergen")):
        data = {"content": content, "subject": "Maria", "provenance": "user_stated", "occurred_at": at}
        told.append(await api.post("/v1/events", {"events": [{"event": "fact_learned", "data": data}]}, 202))
        await hands.settle(STREAMS)
    old, now = (one["events"][0]["made"]["fact_id"] for one in told)
    assert (await api.get(f"/v1/memories/{old}"))["now"] == now
    await api.post(f"/v1/facts/{old}/restore", {}, 422)
    restored = await api.post(f"/v1/facts/{old}/restore", {"because": "she has two homes"})
    assert (restored["beside"], restored["is_active"], restored["still_retired_by"]) == (now, True, None)
    assert [one["reason"] for one in await published(redis, "fact_restored")] == ["she has two homes"]
    for fact in (old, now):
        await api.post(f"/v1/facts/{fact}/restore", {"reason": "it is true"}, 409)


async def test_a_fact_is_retired_for_one_that_was_claimed_later_and_restored(api: Api, kit: Kit, redis: Redis) -> None:
    hands = Hands(replace(kit, mind=ScriptedMind()), redis)
    told = []
    for at, content in (("2026-03-01T09:00Z", "Maria lives in Oslo"), ("2026-03-02T09:00Z", "Maria lives in Bergen")):
        data = {"content": content, "subject": "Maria", "provenance": "user_stated", "occurred_at": at}
        told.append(await api.post("/v1/events", {"events": [{"event": "fact_learned", "data": data}]}, 202))
        await hands.settle(STREAMS)
    old, now = (one["events"][0]["made"]["fact_id"] for one in told)
    refused = await api.post(f"/v1/facts/{now}/retire", {"for": old, "because": "she moved"}, 409)
    assert "say it again" in refused["detail"]
    for body in ({"because": "she moved"}, {"for": now}, {"for": "nothing", "because": "x"}):
        await api.post(f"/v1/facts/{old}/retire", body, 422)
    await api.post(f"/v1/facts/{old}/retire", {"for": str(an_id()), "because": "x"}, 404)
    retired = await api.post(f"/v1/facts/{old}/retire", {"for": f"f-{now[:8]}", "because": "she moved"})
    assert (retired["fact_id"], retired["retired_by"], retired["valid_to"]) == (old, now, "2026-03-02T09:00:00Z")
    assert [one["reason"] for one in await published(redis, "fact_retired")] == ["she moved"]
    await api.post(f"/v1/facts/{old}/retire", {"retired_by": now, "reason": "she moved"}, 409)
    assert (await api.post(f"/v1/facts/{old}/restore", {"because": "she has two homes"}))["is_active"]


@pytest.mark.parametrize("is_heard", [False, True])
async def test_a_fact_whose_rows_contradict_each_other_is_not_restored_and_says_so(
    api: Api, database: Database, redis: Redis, *, is_heard: bool
) -> None:
    now = a_fact(agent_id=MINE, content="Maria lives in Bergen")
    old = a_fact(agent_id=MINE, content="Maria lives in Oslo", active=False, superseded_by=now.fact_id)
    await keep(database, now)
    await keep(database, old)
    if is_heard:  # of another event than the rows are due to
        async with database.write([MINE]) as db:
            await mentions.insert(db, [a_mention(one, mention_id=one.fact_id) for one in (old, now)])
    refused = await api.post(f"/v1/facts/{old.fact_id}/restore", {"reason": "she has two homes"}, 409)
    assert "was stored by is not kept" in refused["detail"]
    assert "nothing was changed" in refused["detail"]
    async with database.read([MINE]) as db:
        assert (await facts.by_key(db, [old.key]))[old.key].superseded_by == now.fact_id
    assert await published(redis, "fact_restored") == []


async def test_a_fact_is_forgotten_for_good_everywhere(api: Api, hands: Hands, database: Database, redis: Redis) -> None:
    sent = await api.post("/v1/events", {"events": [{"event": "fact_learned", "data": {"content": "The safe is behind the mirror"}}]}, 202)
    await hands.settle(STREAMS)
    fact = sent["events"][0]["made"]["fact_id"]
    dry = await api.post(f"/v1/facts/{fact}/forget", {"reason": "she asked", "dry_run": True})
    assert (dry["is_done"], dry["fact_ids"]) == (False, [fact])
    await api.post(f"/v1/facts/{fact}/forget", {"reason": "The safe is behind the mirror"}, 422)
    done = await api.post(f"/v1/facts/{fact}/forget", {"reason": "she asked"})
    assert (done["is_done"], done["is_whole"], done["report"]["left"]) == (True, True, []), done
    assert (done["report"]["alike"], dry["report"]["alike"]) == ([], [])
    assert done["report"]["redis_entries"] > 0
    assert await published(redis, "fact_learned") == []
    async with database.read([MINE]) as db:
        (row,) = (await facts.by_key(db, [(MINE, uuid.UUID(fact))])).values()
    assert (row.content, row.forgotten_at is not None) == ("", True)
    await api.get(f"/v1/memories/{fact}", 404)
    assert (await api.post("/v1/recall", {"question": "Where is the safe? Behind the mirror?"}))["memories"] == []
    assert (await api.post(f"/v1/facts/{fact}/forget", {"reason": "again"}))["fact_ids"] == [fact]


async def test_what_nearly_says_the_same_as_a_forgotten_fact_is_told_and_stays(api: Api, database: Database) -> None:
    fact, near, other = (a_fact(agent_id=MINE, content=said) for said in ("555-0117 is hers.", "Hers is 555-0117.", "She drinks tea."))
    await keep(database, fact, near, other)
    async with database.write([MINE]) as db:
        table = (await embedders.active(db)).table
        await vectors.insert(db, table, [(MINE, one.fact_id, a_vector(seed)) for one, seed in ((fact, 1), (near, 1), (other, 2))])
    done = await api.post(f"/v1/facts/{fact.fact_id}/forget", {"reason": "she asked"})
    assert [(one["fact_id"], one["content"]) for one in done["report"]["alike"]] == [(str(near.fact_id), "Hers is 555-0117.")]
    assert (await api.get(f"/v1/memories/{near.fact_id}"))["kind"] == "fact"
