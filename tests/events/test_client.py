"""The Python client, against the real service over HTTP; what it sends through a wire that loses answers has one effect."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from redis.asyncio import Redis

import events
from events import FactLearned, ProcedureUsed, answers
from events.client import Client, MemoryProblem, Refused, Unanswered
from nous import embedded
from nous.api.limits import Rates
from nous.settings import Settings
from store import censors, facts, sessions, usage
from store.database import Database
from tests.factories import NOON, a_censor, a_fact, an_id
from tests.nous.api import MINE, OTHER, Api, Hands, served, token
from workers.runtime.worker import Kit

STREAMS = [*events.CATALOGUE]


@pytest.fixture
async def api(database_url: str, stack: embedded.Stack, redis: Redis) -> AsyncIterator[Api]:
    async with served(Settings(embedder="zero", mind="offline"), database_url, stack.redis_url, is_open=True) as one:
        yield one


@pytest.fixture
async def memory(api: Api, database: Database) -> AsyncIterator[Client]:
    async with Client(api.url, token=await token(database, MINE)) as client:
        yield client


@pytest.fixture
async def hands(kit: Kit, redis: Redis) -> Hands:
    return Hands(kit, redis)


class LosesAnswers(httpx.AsyncHTTPTransport):
    """A wire on which each request arrives, and the answer to every first of two is lost."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append((request.url.path, json.loads(request.content or b"null")))
        answer = await super().handle_async_request(request)
        if len(self.sent) % 2:
            await answer.aclose()
            raise httpx.ReadError("cut off", request=request)
        return answer


async def published(redis: Redis, stream: str) -> list[dict[str, Any]]:
    return [json.loads(fields[b"data"]) for _, fields in await redis.xrange(stream)]


async def test_a_conversation_has_any_id_its_caller_gives_it(memory: Client) -> None:
    for session, turn in (("..", "."), ("a/turns/b", "c?d")):
        begun = await memory.begin(session, "How does Mara take her coffee?", turn=turn)
        assert (await memory.result(begun, "Black.")).turn == turn
        assert (await memory.end(session)).session_id == session


async def test_a_conversation_from_its_first_turn_to_its_end(memory: Client, hands: Hands, database: Database) -> None:
    fact = a_fact(agent_id=MINE, content="Maria drinks green tea in the morning", provenance="user_stated")
    async with database.write([MINE]) as db:
        await facts.insert(db, [fact])
    for _ in range(2):
        turn = await memory.begin("a chat, 1", "What does Maria drink in the morning? Something green?", at=NOON)
        assert [one.id for one in turn.memories] == [fact.fact_id]
        assert "Maria drinks green tea" in turn.context
        result = await memory.result(turn, "She drinks green tea in the morning.", tools=["search"], cited=[turn.memories[0].handle])
        assert [(one.id, one.how) for one in result.referenced] == [(fact.fact_id, "cited")]
    closed = await memory.end("a chat, 1", reflection="Ask about coffee too.")
    assert (closed.became, closed.episode_id) == ("closed", result.episode_id)
    await hands.settle(["memory_recalled", "memory_referenced"])
    async with database.read([MINE]) as db:
        used = (await usage.of(db, MINE, [("fact", fact.fact_id)]))["fact", fact.fact_id]
    assert used.referenced == 2


async def test_what_is_learned_and_decided_is_recalled_told_in_full_and_explained(memory: Client, hands: Hands) -> None:
    learned = await memory.learn("Maria drinks green tea", subject="Maria", provenance="user_stated", occurred_at=NOON)
    decided = await memory.decide("Buy green tea for Maria", reasons=["she drinks it"])
    await hands.settle(STREAMS)
    for one in (learned, decided):
        became = await memory.became(one.event_id or "", wait_s=1)
        assert became.is_settled
    context = await memory.recall("What does Maria drink? Green tea?", kinds=["fact"], explain=True)
    (told,) = context.memories
    assert (str(told.id), told.at, context.explained is None) == (learned.made["fact_id"], NOON, False)
    assert (await memory.memory(told.id)).record["content"] == "Maria drinks green tea"
    assert "about: Maria" in (await memory.expand(told.id, "tea?")).lines
    assert (await memory.explain(told.id)).story["story"]
    assert (await memory.recall("What does Maria drink?", kinds=[])).memories == ()


async def test_a_fact_heard_on_another_day_is_heard_again(memory: Client, hands: Hands, database: Database) -> None:
    for _ in range(2):
        await memory.learn("Maria drinks green tea")
        await hands.settle(STREAMS)
    async with database.read([MINE]) as db:
        (fact,) = await facts.listed(db, agent=MINE, inactive=True, limit=None)
    assert fact.confirmation_count == 1


async def test_what_is_sent_again_after_a_lost_answer_has_one_effect(api: Api, database: Database, redis: Redis) -> None:
    async with database.write([MINE]) as db:
        await censors.insert(db, a_censor(agent_id=MINE, trigger_pattern="tea"))
    wire = LosesAnswers()
    async with Client(api.url, token=await token(database, MINE), transport=wire) as memory:
        await memory.learn("Maria drinks green tea")
        await memory.send(ProcedureUsed, procedure_id=an_id(), succeeded=True)
        await memory.recall("Does Maria drink tea?")
        turn = await memory.begin("chat", "Does Maria drink tea?")
        await memory.result(turn, "She does.")
        assert (await memory.end("chat")).session_id == "chat"
    assert len(wire.sent) == 12
    assert wire.sent[::2] == wire.sent[1::2]
    for stream, effects in (("fact_learned", 1), ("procedure_used", 1), ("censor_triggered", 2)):
        assert len({one["event_id"] for one in await published(redis, stream)}) == effects
    async with database.read([MINE]) as db:
        session = await sessions.latest(db, MINE, "chat")
        assert session
        assert len(await sessions.turns(db, MINE, session.session_key)) == 2


async def test_what_is_refused_is_told_in_the_words_of_the_service_and_not_sent_again(api: Api, database: Database) -> None:
    wire = LosesAnswers()
    wire.sent.append(("", None))
    async with Client(api.url, token=await token(database, MINE), transport=wire) as memory:
        for call, status, words in (
            (memory.send(FactLearned, content=7), 422, "content"),
            (memory.memory(an_id()), 404, "there is no memory of that id"),
            (memory.learn("x", agent_id=OTHER), 422, "agent_id is not the agent that speaks; leave it out"),
        ):
            wire.sent[1:] = []
            with pytest.raises(Refused) as told:
                await call
            assert (told.value.status, len(wire.sent)) == (status, 2)
            assert words in told.value.detail
            assert str(told.value) == f"{told.value.title} ({status}): {told.value.detail}"
    async with Client(api.url, token="nous_wrong") as nobody:
        with pytest.raises(Refused, match="the token is not known, was revoked or has expired"):
            await nobody.recall("x")


async def test_on_the_services_own_machine_the_agent_is_named_instead_of_a_token(api: Api, hands: Hands) -> None:
    async with Client(api.url, agent="агент/7") as memory:
        await memory.learn("Maria drinks green tea")
        await hands.settle(STREAMS)
        assert len((await memory.recall("Maria drinks green tea?")).memories) == 1


async def test_too_often_is_waited_out_as_long_as_the_service_says(api: Api, memory: Client) -> None:
    rates = Rates(60)
    object.__setattr__(api.service, "rates", rates)
    for _ in range(60):
        await memory.recall("x")
    assert await memory.recall("x")


async def test_a_service_that_is_not_there_is_said_after_every_try(stack: embedded.Stack) -> None:
    async with Client("http://127.0.0.1:1", tries=2) as memory:
        with pytest.raises(Unanswered, match=r"http://127\.0\.0\.1:1 does not answer .* asked 2 times; see that nous serve runs there"):
            await memory.recall("x")
        assert issubclass(Unanswered, MemoryProblem)


async def test_what_the_client_gives_is_what_the_service_answers(api: Api) -> None:
    described = (await api.nobody.get("/openapi.json")).json()["components"]["schemas"]
    names = {"Turn": "Begun", "Result": "Ended"}
    typed = [
        one for one in vars(answers).values() if isinstance(one, type) and issubclass(one, answers.Answer) and one is not answers.Answer
    ]
    assert typed
    for one in typed:
        assert issubclass(one, BaseModel)
        assert set(one.model_fields) == set(described[names.get(one.__name__, one.__name__)]["properties"]), one.__name__
