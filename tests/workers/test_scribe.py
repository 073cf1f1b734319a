"""Asking a model to write, over HTTP: whatever it does, nothing is learned from it and nothing is lost, and no answer is paid for twice."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any

import pytest

from nous import clock
from nous.errors import Contended, Outage
from nous.settings import Settings
from providers.claude import ClaudeMind
from store import writings
from tests.conftest import until, until_set
from tests.model_server import (
    BAD,
    TOKENS_IN,
    TOKENS_OUT,
    Body,
    Handler,
    ModelServer,
    away,
    failing,
    hanging,
    holding,
    remembering,
)
from tests.workers.conftest import Bench
from tests.workers.episodes import AGENT, LIVES, SUMMARY, TITLE, Later, closed, episode, learned, rows, waiting
from workers.episodes import question
from workers.episodes.scribe import _key
from workers.episodes.transcript import of_text
from workers.runtime.worker import Kit

EACH = sum(TOKENS_IN.values()) + TOKENS_OUT
FIELDS = {
    "facts": [LIVES],
    "title": TITLE,
    "summary": SUMMARY,
    "notes": "Notes.",
    "outcome": "done",
    "lessons": ["Ask first."],
    "decisions": [],
}
Make = Callable[..., ClaudeMind]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """No heartbeats: these pages are worked by hand and are of no group."""
    return settings.model_copy(update={"claim_after_s": 600.0})


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answer = remembering(**FIELDS)
    return server


@pytest.fixture
def mind(make: Make) -> ClaudeMind:
    return make()


@pytest.mark.parametrize("way", away(ModelServer()))
async def test_an_episode_waits_as_long_as_the_model_is_away_and_is_settled_when_it_is_not(
    summarizer: Bench, kit: Kit, server: ModelServer, make: Make, way: str
) -> None:
    server.always(away(server)[way])
    summarizer.life.kit = replace(kit, mind=make(mind_timeout_s=0.1 if way in ("slow", "hanging") else 0.5))
    event = closed()
    await summarizer.work(event)
    await _nothing_came_of(summarizer, kit, 1)
    assert (await episode(kit, event)).ended_at == event.occurred_at
    server.always(server.healthy)
    await Later(summarizer, mind=make()).resume()
    await _all_is_settled(summarizer, kit, 1)


async def test_no_answer_that_is_none_is_learned_from_and_all_is_settled_by_one_that_is(
    summarizer: Bench, kit: Kit, server: ModelServer
) -> None:
    """The whole list of misbehaviour, each kind in an episode of its own that says its name."""
    ways: dict[str, Handler] = {"400": failing(400, "prompt is too long")} | {name: server.bad(name) for name in BAD}
    server.always(lambda body: ways[_way(body)](body))
    await summarizer.work(*(closed(f"User: I live in Oslo. This is {{{name}}}.") for name in ways))
    await _nothing_came_of(summarizer, kit, len(ways))
    server.always(server.healthy)
    await Later(summarizer).resume()
    await _all_is_settled(summarizer, kit, len(ways))


@pytest.mark.parametrize("name", BAD)
async def test_no_nonsense_about_a_part_or_about_all_parts_together_is_learned_from(
    summarizer: Bench, kit: Kit, server: ModelServer, name: str
) -> None:
    """The first part is answered, the second is not; then all parts are, and their notes are not."""
    summarizer.life.kit = kit = replace(kit, settings=kit.settings.model_copy(update={"summary_part_characters": 1_000}))
    event = closed(f"User: I live in Oslo. {'And more. ' * 80}\nUser: {'the second part. ' * 50}")
    bad_about = ["the second part", "<notes>"]
    server.always(lambda body: (server.bad(name) if any(words in _asked(body) for words in bad_about) else server.healthy)(body))
    await summarizer.work(event)
    await _nothing_came_of(summarizer, kit, 1)
    bad_about.pop(0)
    await Later(summarizer).resume()
    assert len(await waiting(kit)) == 1
    assert (await episode(kit, event)).summary is None
    bad_about.clear()
    await Later(summarizer).resume(after=timedelta(hours=5))
    await _all_is_settled(summarizer, kit, 1)


async def _nothing_came_of(summarizer: Bench, kit: Kit, count: int) -> None:
    assert await summarizer.receipts() == []
    assert await learned(summarizer) == []
    assert len(await waiting(kit)) == count
    assert await rows(kit, "SELECT count(*) FROM heart.episodes WHERE summary IS NULL AND settled_by IS NULL AND active") == [count]


async def _all_is_settled(summarizer: Bench, kit: Kit, count: int) -> None:
    assert await summarizer.outcomes() == ["summarized"] * count
    assert len(await learned(summarizer)) == count
    assert await waiting(kit) == []


def _asked(body: Body) -> str:
    return unescape(str(body["messages"][0]["content"]))


def _way(body: Body) -> str:
    return _asked(body).partition("{")[2].partition("}")[0]


# ── an answer is paid for once ────────────────────────────────────────────────────────────────────────────────────────────


async def test_an_answer_in_text_is_an_answer(summarizer: Bench, kit: Kit, server: ModelServer, make: Make) -> None:
    """Servers without tools get the schema in the prompt."""
    fields = {name: FIELDS[name] for name in question.Whole.model_fields}
    server.answer = lambda body: fields
    summarizer.life.kit = replace(kit, mind=make(mind_tools=False))
    await summarizer.work(closed())
    await _all_is_settled(summarizer, kit, 1)


async def test_what_was_answered_costs_nothing_the_second_time_and_the_spending_says_what_it_cost(
    summarizer: Bench, kit: Kit, server: ModelServer
) -> None:
    event = closed()
    await summarizer.work(event)
    await summarizer.work(closed(agent_id=AGENT, started_at=event.occurred_at))
    assert len(server.asked) == 1, "the same words that began at the same time are the same question"
    assert await rows(kit, "SELECT sum(tokens_in + tokens_out)::int FROM bus.spending") == [EACH]
    first, second = await summarizer.receipts()
    assert first.evidence["tokens_in"] + first.evidence["tokens_out"] == EACH
    assert (second.evidence["tokens_in"], second.evidence["tokens_out"]) == (0, 0)


async def test_what_a_dead_process_was_asking_is_asked_once_more_when_its_lease_is_over(
    summarizer: Bench, kit: Kit, server: ModelServer, mind: ClaudeMind
) -> None:
    event = closed()
    asked = question.whole(of_text(event.transcript or ""), began=event.occurred_at)
    key = writings.Question(AGENT, _key(asked), question.VERSION, mind.model("writing"))
    now = clock.now()
    async with kit.database.notes([AGENT]) as db:
        assert await writings.ask(db, key, worker="dead", about="episode", now=now, lease=now + timedelta(seconds=0.5))
    await summarizer.work(event)
    await _all_is_settled(summarizer, kit, 1)
    assert await rows(kit, "SELECT asked FROM bus.writings") == [2]


async def test_who_waited_for_another_s_answer_that_never_came_asks_later(
    summarizer: Bench, kit: Kit, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, heard = asyncio.Event(), asyncio.Event()
    asked_until = writings.asked_until

    async def listened(*asked: Any) -> Any:
        heard.set()
        return await asked_until(*asked)

    monkeypatch.setattr(writings, "asked_until", listened)
    server.then(holding(refused, failing(400, "refused")))
    event = closed()
    asking = asyncio.create_task(summarizer.work(event))
    await until(_is_asked(server), what="a question on its way")
    listening = asyncio.create_task(Bench(Later(summarizer).life, kit, summarizer.redis).work(event.model_copy(update={"event_id": "2"})))
    await until_set(heard, listening)
    refused.set()
    await asyncio.gather(asking, listening)
    assert len(await waiting(kit)) == 2
    await Later(summarizer).resume()
    assert sorted(await summarizer.outcomes()) == ["skipped", "summarized"]


async def test_an_answer_that_cannot_be_written_down_at_once_is_not_thrown_away(
    summarizer: Bench, kit: Kit, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = iter([Contended("deadlock detected"), Outage("Postgres", "it restarts")])
    keep = writings.keep

    async def sometimes(*given: Any) -> None:
        if error := next(busy, None):
            raise error
        await keep(*given)

    monkeypatch.setattr(writings, "keep", sometimes)
    await summarizer.work(closed())
    await _all_is_settled(summarizer, kit, 1)
    assert len(server.asked) == 1


async def test_a_stop_while_the_model_writes_leaves_the_question_to_anybody(summarizer: Bench, kit: Kit, server: ModelServer) -> None:
    server.then(hanging)
    event = closed()
    working = asyncio.create_task(summarizer.work(event))
    await until(_is_asked(server), what="a question on its way")
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    assert await rows(kit, "SELECT asking_until FROM bus.writings") == [None]
    await summarizer.work(event)
    await _all_is_settled(summarizer, kit, 1)


async def test_while_the_model_writes_no_transaction_is_open_and_the_agent_s_memory_can_be_written_to(
    summarizer: Bench, kit: Kit, server: ModelServer
) -> None:
    answered = asyncio.Event()
    server.always(holding(answered, server.healthy))
    working = asyncio.create_task(summarizer.work(closed()))
    await until(_is_asked(server), what="a question on its way")
    async with asyncio.timeout(5), kit.database.write([AGENT]):
        pass
    here = "datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'nous'"
    assert await rows(kit, f"SELECT query FROM pg_stat_activity WHERE {here} AND xact_start IS NOT NULL") == []
    answered.set()
    await working
    await _all_is_settled(summarizer, kit, 1)


def _is_asked(server: ModelServer) -> Callable[[], Any]:
    async def is_asked() -> bool:
        return server.in_flight == 1

    return is_asked
