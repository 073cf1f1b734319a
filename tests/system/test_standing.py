"""How facts come to stand when several replicas ask a model about them, over HTTP, and are killed while they do."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from redis.asyncio import Redis

from events import Event, FactLearned
from providers import claude
from providers.mind import Relation
from store.database import Database
from store.facts import Fact
from tests.conftest import until
from tests.factories import an_id
from tests.model_server import Body, ModelServer, Sent, holding, judging, one_for_each, pairs_in
from tests.system.conftest import Replicas, publish, rows
from tests.system.standing import WORKERS, all_settled, check

DAY = datetime.fromisoformat("2026-03-01T00:00:00+00:00")
CITIES = ("Oslo", "Bergen", "Rome", "Lima", "Cairo")
MIND = {"mind": "claude", "mind_timeout_s": 20}


def learned(content: str, hour: float, **over: Any) -> FactLearned:
    """A user's claim; its event is known by its agent, words and hour."""
    fields: dict[str, Any] = {"agent_id": "agent-1", "subject": "Maria", "provenance": "user_stated", "fact_id": an_id()}
    fields |= {"content": content, "occurred_at": DAY + timedelta(hours=hour)} | over
    return FactLearned.model_validate({"event_id": f"{fields['agent_id']}: {content} {hour}", **fields})


def lives_in(person: str, city: str, *, is_twin: bool = False) -> str:
    """That somebody lives somewhere, in one of two wordings."""
    return f"{city} is where {person} lives." if is_twin else f"{person} lives in {city}."


def by_city(older: str, newer: str) -> Relation:
    """Of two claims about where people live: the same, an update, or about two people."""
    (person, city), (other, another) = _said(older), _said(newer)
    if person != other:
        return "compatible"
    return "same" if city == another else "updates"


def _said(content: str) -> tuple[str, str]:
    words = content.removesuffix(".").split()
    return (words[0], words[-1]) if words[2] == "in" else (words[3], words[0])


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModelServer]:
    for name in claude.KEYS:
        monkeypatch.delenv(name, raising=False)
    async with ModelServer(judging(by_city)) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def told(facts: Sequence[Fact]) -> list[str]:
    """Every fact but the merged ones: its words, when it was true, and what retired it."""
    words = {fact.fact_id: fact.content for fact in facts}
    return sorted(
        f"{fact.content} {fact.valid_from:%H}-{f'{fact.valid_to:%H}' if fact.valid_to else 'now'}"
        + (f" by {words[fact.superseded_by]}" if fact.superseded_by else "")
        for fact in facts
        if fact.merged_into is None
    )


# ── killed ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

KILLS = 50
LOOPS = 6  # of a process with two workers that ask: a page, what is worked alone and what waited for the mind, of each
MOVED = {f"agent-{number}": [f"{name}{number}" for name in ("Ada", "Ben", "Cleo", "Dan")] for number in range(6)}
"""Each agent's people; no two agents know the same, so that what was asked tells for whom."""


def _claims() -> list[Event]:
    """For each of six agents four people who live in three cities one after another, all of it said twice, in two wordings."""
    return [
        learned(lives_in(person, city, is_twin=is_twin), hour + is_twin / 2, agent_id=agent, subject=person)
        for agent, people in MOVED.items()
        for person in people
        for hour, city in enumerate(_cities(person), 1)
        for is_twin in (False, True)
    ]


def _cities(person: str) -> list[str]:
    return random.Random(person).sample(CITIES, 3)


class Successors:
    """Replicas one after another, each killed at a moment after it was sent an answer."""

    def __init__(self, start: Callable[[], BaseProcess], server: ModelServer) -> None:
        self.start = start
        self.server = server
        self.dice = random.Random(7)
        self.kills = 0
        self.lost: Counter[tuple[str, str]] = Counter()
        self.last: list[Body] = []
        self.living: BaseProcess | None = None
        self.left = 0
        server.always(self._answering)

    async def _answering(self, body: Body) -> Sent:
        """The right answer; and the third one or so is the last that this replica hears."""
        self.last = [*self.last[1 - LOOPS :], body]
        if not self.living:  # it was sent by the one that was killed
            self._is_lost()
        elif self.kills < KILLS:
            self.left -= 1
            if self.left == 0:
                asyncio.get_running_loop().call_later(self.dice.uniform(0, 0.03), self._kill, self.living)
        return await self.server.healthy(body)

    def _kill(self, replica: BaseProcess) -> None:
        """Each of its loops may have had a question on its way to the model, or an answer on its way to the database."""
        replica.kill()
        self._is_lost()
        self.kills += 1
        self.living = None

    def _is_lost(self) -> None:
        self.lost.update({pair for body in self.last for pair in pairs_in(body)})
        self.last = []

    async def keep_alive(self) -> None:
        """Start another whenever one was killed."""
        while True:
            if not self.living and self.server.is_deserted:
                self.living = await asyncio.to_thread(self.start)
                self.left = self.dice.randint(1, 3)
            await asyncio.sleep(0.01)


@pytest.mark.timeout(240)
async def test_a_replica_killed_fifty_times_between_answer_and_commit_asks_again_only_what_was_under_way_and_halves_nothing(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    await publish(redis, _claims())
    replica("deduplicator")
    patience = {"claim_after_s": 0.5, "max_attempts": KILLS * 2, "max_deaths": KILLS * 2}
    alone = {"mind_concurrency": 1, "pages_in_flight": 1, "page": 4, **patience}
    successors = Successors(lambda: replica("supersession_checker", "supersession_rechecker", **MIND, **alone), server)
    living = asyncio.create_task(successors.keep_alive())
    await all_settled(redis, database, within_s=200)
    living.cancel()
    assert successors.kills == KILLS

    found = await check(database, *MOVED)
    for agent, people in MOVED.items():
        for person in people:
            hours = zip(_cities(person), ("01-02", "02-03", "03-now"), strict=True)
            stood = [line.partition(" by ")[0] for line in told([fact for fact in found[agent] if fact.subject == person])]
            assert stood == sorted(f"{lives_in(person, city)} {hour}" for city, hour in hours), person

    asked = Counter(pair for request in server.asked for pair in pairs_in(request.body))
    counted = {(row.older, row.newer): row.asked for row in await rows(database, "SELECT older, newer, asked FROM bus.answers")}
    assert {pair: times for pair, times in asked.items() if times > counted[pair]} == {}, "written down before it was put"
    again = {pair: times - 1 for pair, times in asked.items() if times > 1}
    assert {pair: times for pair, times in again.items() if times > successors.lost[pair]} == {}, "only if its answer died with a replica"


# ── several at once ───────────────────────────────────────────────────────────────────────────────────────────────────────

OSLO, BERGEN, ROME = (lives_in("Maria", city) for city in ("Oslo", "Bergen", "Rome"))
FIVE = [(OSLO, 1), (BERGEN, 2), (OSLO, 3), (ROME, 4), (lives_in("Maria", "Rome", is_twin=True), 5)]
ENDED = [f"{BERGEN} 02-03 by {OSLO}", f"{OSLO} 01-02 by {BERGEN}", f"{OSLO} 03-04 by {ROME}", f"{ROME} 04-now"]
ORDERS = random.Random(5).sample(list(itertools.permutations(FIVE)), 40)


@pytest.mark.timeout(120)
async def test_five_claims_in_any_order_through_two_replicas_at_once_end_in_the_same_state(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    """Forty orders, each of an agent of its own, claim by claim; pages are small, so that every agent's claims meet in both replicas."""
    for _ in range(2):
        replica(*WORKERS.values(), page=7, **MIND)
    for number in range(len(FIVE)):
        await publish(redis, [learned(*order[number], agent_id=f"agent-{at}") for at, order in enumerate(ORDERS)])
        await _all_heard(database, (number + 1) * len(ORDERS))
    await all_settled(redis, database)
    found = await check(database, *(f"agent-{at}" for at in range(len(ORDERS))))
    states = {order: told(found[f"agent-{at}"]) for at, order in enumerate(ORDERS)}
    assert {order: state for order, state in states.items() if state != ENDED} == {}


async def _all_heard(database: Database, expected: int) -> None:
    """Wait until the deduplicators have so many mentions."""

    async def are_heard() -> bool:
        [counted] = await rows(database, "SELECT count(*) AS n FROM heart.fact_mentions")
        return bool(counted.n == expected)

    await until(are_heard, within_s=60, what=f"{expected} mentions")


THIRDS = (OSLO, lives_in("Maria", "Oslo", is_twin=True), "Maria lives in  OSLO", "Oslo is where Maria lives")


@pytest.mark.timeout(120)
async def test_a_third_mention_that_arrives_while_two_twins_are_being_merged_lands_on_the_one_that_survives(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    """The model is held until the third mention of every agent has been heard."""
    answered = asyncio.Event()
    server.always(holding(answered, server.healthy))
    for _ in range(2):
        replica(*WORKERS.values(), mind_concurrency=20, **MIND)
    agents = [f"agent-{number}" for number in range(16)]
    await publish(
        redis, [learned(lives_in("Maria", "Oslo", is_twin=twin), twin, agent_id=agent) for twin in (False, True) for agent in agents]
    )

    async def are_asked() -> bool:
        return server.in_flight >= len(agents)

    await until(are_asked, what="a question for every agent")
    thirds = [learned(THIRDS[at % 4], 0.5 if at % 8 < 4 else 3, agent_id=agent) for at, agent in enumerate(agents)]
    await publish(redis, thirds)
    await _all_heard(database, 3 * len(agents))
    answered.set()
    await all_settled(redis, database)
    found = await check(database, *agents)
    for agent, facts in found.items():
        [survivor] = [fact for fact in facts if fact.active]
        assert (survivor.content, survivor.confirmation_count) == (OSLO, 2), agent
    resolved = await rows(
        database,
        "SELECT m.agent_id, count(*) AS n FROM heart.fact_mentions m JOIN heart.facts f USING (agent_id, fact_id)"
        " JOIN heart.facts w ON w.agent_id = f.agent_id AND w.fact_id = coalesce(f.merged_into, f.fact_id) AND w.active GROUP BY 1",
    )
    assert {row.agent_id: row.n for row in resolved} == dict.fromkeys(agents, 3), "every published id resolves to the survivor"


CONTRADICTIONS = 1_000


@pytest.mark.timeout(180)
async def test_a_thousand_contradictions_at_once_through_three_replicas_end_with_the_newest_alone(
    replica: Replicas, redis: Redis, database: Database, server: ModelServer
) -> None:
    server.answer = one_for_each("contradicts")
    claims = [learned(f"Maria's desk is number {number}.", number / 100) for number in range(CONTRADICTIONS)]
    await publish(redis, random.Random(3).sample(claims, len(claims)))
    for _ in range(3):
        replica(*WORKERS.values(), claim_after_s=20, **MIND)
    await _all_heard(database, CONTRADICTIONS)
    await all_settled(redis, database, within_s=120)
    [facts] = (await check(database, "agent-1")).values()
    assert [fact.content for fact in facts if fact.active] == [claims[-1].content]
    assert len(facts) == CONTRADICTIONS
    assert all(fact.superseded_by for fact in facts if not fact.active)
