"""What is counted is counted once, after the commit; what all processes share is looked at once for many scrapes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import generate_latest
from redis.asyncio import Redis

import workers
from events import FactLearned, encode
from nous import clock
from nous.errors import Outage
from providers.mind import MindAway, NoAnswer
from store import receipts, retries
from store.database import Database, Write
from store.retries import Retry
from tests.conftest import repository
from tests.factories import a_censor_triggered, a_fact_learned
from tests.workers.conftest import Bench, Memory, ScriptedEmbedder, ScriptedMind
from workers.runtime import metrics, shared
from workers.runtime.alone import Alone
from workers.runtime.health import _Seen
from workers.runtime.life import Life
from workers.runtime.shared import Shared
from workers.runtime.streams import Entry
from workers.runtime.worker import Ending, Job, Kit, Worker


class Since:
    """What was added to a metric since the test began."""

    def __init__(self) -> None:
        self._before = self._all()

    def __call__(self, name: str, **labels: str) -> float:
        key = (name, tuple(sorted(labels.items())))
        return self._all().get(key, 0.0) - self._before.get(key, 0.0)

    @staticmethod
    def _all() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in metrics.REGISTRY.collect()
            for sample in family.samples
        }


@pytest.fixture
def since() -> Since:
    return Since()


def told(gauges: shared.Gauges) -> dict[str, float]:
    """`name{label="value"}` of every gauge, as a scrape reads them."""
    lines = generate_latest(_Seen(gauges)).decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


async def test_an_event_counts_once_however_often_it_is_delivered(deduplicator: Bench, since: Since) -> None:
    one, two = a_fact_learned(agent_id="agent-1"), a_fact_learned(agent_id="agent-1", content="")
    for _ in range(3):
        await deduplicator.work(one, two)
    assert since("nous_outcomes_total", worker="deduplicator", outcome="stored") == 1
    assert since("nous_outcomes_total", worker="deduplicator", outcome="skipped") == 1
    assert since("nous_publication_to_receipt_seconds_count", worker="deduplicator") == 2
    assert since("nous_page_seconds_count", worker="deduplicator") == 3
    assert since("nous_embed_seconds_count") == 1


async def test_the_time_to_a_receipt_begins_at_the_entrys_own_time(deduplicator: Bench, since: Since) -> None:
    published = clock.now() - timedelta(hours=2)
    entry = Entry(f"{int(published.timestamp() * 1000)}-0", {b"data": encode(a_fact_learned(agent_id="agent-1", occurred_at=published))})
    await deduplicator.life.work([entry])
    assert since("nous_publication_to_receipt_seconds_sum", worker="deduplicator") == pytest.approx(7200, abs=60)
    assert since("nous_publication_to_receipt_seconds_bucket", worker="deduplicator", le="3600.0") == 0


async def test_an_attempt_alone_that_fails_is_counted_and_the_last_one_is_parked(kit: Kit, redis: Redis, since: Since) -> None:
    async def act(db: Write, jobs: Sequence[Job[FactLearned, None]], kit: Kit) -> Sequence[Ending]:
        """Fail."""
        raise ValueError("cannot")

    act.__module__ = "workers.failing"
    life = Life(Worker(on=FactLearned, write=act, outcomes=()), kit, redis, "by-hand")
    await life.work([Entry("1893456000000-0", {b"data": encode(a_fact_learned())})])
    alone = Alone(life)
    bench = Bench(life, kit, redis)
    await bench.work_what_waits()
    assert alone.settings.max_attempts == 3
    assert since("nous_deliveries_failed_total", worker="failing") == 3
    assert since("nous_outcomes_total", worker="failing", outcome="retried") == 3, "once with its page, twice alone"
    assert since("nous_outcomes_total", worker="failing", outcome="parked") == 1


async def test_what_is_malformed_or_given_up_counts_as_parked_once(bench: Callable[[str], Bench], since: Since) -> None:
    escalator = bench("censor_escalator")
    await escalator.life.work([Entry("1893456000001-0", {b"data": b"no json"})])
    await escalator.work(a_censor_triggered(agent_id="agent-1"))
    assert since("nous_outcomes_total", worker="censor_escalator", outcome="parked") == 2


async def test_how_near_the_nearest_fact_was_and_what_the_guard_found_is_told_by_outcome(
    deduplicator: Bench, embedder: ScriptedEmbedder, since: Since
) -> None:
    embedder.alike("The port is 5432", "The port is 5433", 0.97)
    for content in ("The port is 5432", "The port is 5433"):
        await deduplicator.work(a_fact_learned(agent_id="agent-1", content=content, subject=None))
    assert since("nous_similarity_bucket", outcome="stored", le="0.97") - since("nous_similarity_bucket", outcome="stored", le="0.96") == 1
    assert since("nous_guard_findings_total", finding="number") == 1


@pytest.mark.parametrize(
    ("broken", "result"),
    [(None, "answered"), (NoAnswer("nonsense", 7, 3), "no_answer"), (MindAway("too slow", 7, 3), "away")],
)
async def test_a_question_counts_by_how_it_ended_and_what_was_spent_on_it(
    memory: Memory, mind: ScriptedMind, since: Since, broken: Exception | None, result: str
) -> None:
    mind.broken = broken
    await memory.learn(a_fact_learned(agent_id="agent-1", content="Maria lives in Oslo"))
    await memory.learn(a_fact_learned(agent_id="agent-1", content="Maria lives in Bergen"))
    asked = since("nous_mind_questions_total", worker="supersession_checker", model="scripted", result=result)
    assert asked == mind.questions > 0
    spent_in, spent_out = (100, 10) if broken is None else (7, 3)
    assert since("nous_mind_tokens_total", model="scripted", direction="in") == asked * spent_in
    assert since("nous_mind_tokens_total", model="scripted", direction="out") == asked * spent_out
    cost = asked * (spent_in * 3 + spent_out * 15) / 1_000_000
    assert since("nous_mind_cost_dollars_total", model="scripted") == pytest.approx(cost)
    assert since("nous_mind_seconds_count", model="scripted") == asked


async def test_a_question_over_the_budget_costs_nothing_and_is_counted(
    bench: Callable[[str], Bench], kit: Kit, redis: Redis, mind: ScriptedMind, since: Since
) -> None:
    poor = replace(kit, settings=kit.settings.model_copy(update={"mind_tokens_per_hour": 0}))
    lives = {
        name: Bench(Life(workers.table()[name], poor, redis, "by-hand"), poor, redis)
        for name in ("deduplicator", "supersession_checker", "supersession_rechecker")
    }
    memory = Memory(lives, redis)
    await memory.learn(a_fact_learned(agent_id="agent-1"), a_fact_learned(agent_id="agent-1"))
    assert since("nous_mind_questions_total", worker="supersession_checker", model="scripted", result="over_budget") > 0
    assert (mind.questions, since("nous_mind_tokens_total", model="scripted", direction="in")) == (0, 0)


# ── what all processes share ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def look_again(kit: Kit, redis: Redis, database: Database) -> Shared:
    return Shared(kit.settings, database, redis)


async def test_lag_pending_waiting_parked_and_the_oldest_are_told_as_they_stand(
    look_again: Shared, redis: Redis, database: Database, bench: Callable[[str], Bench]
) -> None:
    old = int((clock.now() - timedelta(minutes=10)).timestamp() * 1000)
    for at in range(3):
        await redis.xadd("fact_learned", {"data": "{}"}, id=f"{old + at}-0")
    await redis.xgroup_create("fact_learned", "deduplicator", id="0")
    await redis.xreadgroup("deduplicator", "somebody", {"fact_learned": ">"}, count=1)
    now = clock.now()
    async with database.queue() as db:
        for worker, together in (("deduplicator", False), ("procedure_counter", True), ("supersession_checker", True)):
            waiting = Retry(worker, "agent-1", "a", "a_stream", "1-0", b"{}", 1, now, "why", now, together=together)
            await retries.set_aside(db, [waiting])
    escalator = bench("censor_escalator")
    await escalator.life.work([Entry("1893456000001-0", {b"data": b"no json"})])
    seen = told(await look_again.gauges())
    assert seen["nous_look_succeeded"] == 1
    assert seen['nous_stream_lag{stream="fact_learned",worker="deduplicator"}'] == 2
    assert seen['nous_stream_pending{stream="fact_learned",worker="deduplicator"}'] == 1
    assert seen['nous_oldest_pending_seconds{stream="fact_learned",worker="deduplicator"}'] == pytest.approx(600, abs=60)
    assert seen['nous_oldest_pending_seconds{stream="censor_triggered",worker="censor_escalator"}'] == 0
    assert seen['nous_stream_entries{stream="fact_learned"}'] == 3
    assert seen['nous_stream_lag{stream="(all streams)",worker="archivist"}'] >= 3
    assert seen['nous_trim_held_seconds{group="archivist",stream="fact_learned"}'] == pytest.approx(480, abs=60)
    assert seen['nous_waiting{worker="deduplicator"}'] == 1
    assert seen['nous_waiting{worker="procedure_counter"}'] == 1
    assert seen["nous_unadjudicated"] == 1, "what overtook another event waits for no mind"
    assert seen["nous_outbox_unpublished"] == 0
    assert seen['nous_parked{reason="the body is not JSON",worker="censor_escalator"}'] == 1


async def test_ten_scrapers_cost_one_look_and_an_outage_is_said_and_nothing_made_up(
    look_again: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    really = shared.look

    async def counted(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        return await really(*args)

    monkeypatch.setattr(shared, "look", counted)
    for _ in range(10):
        await look_again.gauges()
    assert looks == 1

    async def away(*_: Any) -> Any:
        raise Outage("Redis", "connection refused")

    monkeypatch.setattr(shared, "look", away)
    monkeypatch.setattr(shared, "LOOKED_AT_EVERY_S", 0.0)
    assert told(await look_again.gauges()) == {"nous_look_succeeded": 0}


async def test_reasons_are_counted_in_few_classes_that_name_no_value(database: Database) -> None:
    ones = [f"fact_id {number:032x} already stands for other content of agent 'a'" for number in range(30)]
    ones += [f"ValueError: cannot work {number}" for number in range(3)] + ["it took longer than the time limit (NOUS_TIME_LIMIT_S)"]
    ones += [f"{chr(97 + at % 26) * (2 + at // 26)}: no" for at in range(40)]
    async with database.write(["a"]) as db:
        await receipts.insert(db, [_parked(f"event-{at}", why) for at, why in enumerate(ones)])
    async with database.overview() as db:
        counts = await receipts.parked_classes(db)
    assert counts["deduplicator", "fact_id … already stands for other content of agent …"] == 30
    assert counts["deduplicator", "ValueError"] == 3
    assert len(counts) == receipts.PARKED_CLASSES + 1
    assert sum(counts.values()) == len(ones)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("agent 'it\\'s me' has no censor c3c477aa-2b7d-43cd-9c46-51b8f833eb43; add it (nous …)", "agent … has no censor …"),
        ('agent "it\'s me" has no fact 9; it was probably published by hand', "agent … has no fact …"),
        (
            "agent 'a: (b)' has no episode 7 and the event carries no transcript; publish it",
            "agent … has no episode … and the event carries no transcript",
        ),
        ("agent 'a' recorded decision 7 before ('it isn\\'t') and says", "agent … recorded decision … before"),
        ("the entry has no data field (its fields: 'x'); publish", "the entry has no data field"),
        ("the body is not JSON (at character 1); it begins: not json", "the body is not JSON"),
        ("the body has 5,000,000 bytes and the limit is 4,194,304; split it", "the body has … bytes and the limit is …"),
        ("the entry's id 99-1 lies beyond the year 9998; leave ids to the broker", "the entry's id … lies beyond the year …"),
        ("not a valid fact_learned: content: field required", "not a valid fact_learned"),
        ("agent_id has a NUL character or a lone surrogate, got 'a\\x00'; send", "agent_id has a NUL character or a lone surrogate, got …"),
        ("4: 5", "other"),
    ],
)
async def test_the_class_of_a_reason_says_what_happened_wherever_its_values_stand(database: Database, reason: str, told: str) -> None:
    async with database.write(["a"]) as db:
        await receipts.insert(db, [_parked("event-1", reason)])
    async with database.overview() as db:
        assert await receipts.parked_classes(db) == {("deduplicator", told): 1}


async def test_every_metric_is_explained_in_the_operations_manual_and_no_other(look_again: Shared) -> None:
    names = {family.name + ("_total" if family.type == "counter" else "") for family in metrics.REGISTRY.collect()}
    names |= {family.name for family in await look_again.gauges()} | {"nous_pool_connections"}
    manual = (repository() / "docs" / "operations.md").read_text()
    section = manual.partition("## Metrics")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(nous_\w+)", section, re.MULTILINE)) == {name for name in names if name.startswith("nous_")}


def _parked(event_id: str, reason: str) -> receipts.Receipt:
    return receipts.Receipt(
        worker="deduplicator",
        agent_id="a",
        event_id=event_id,
        stream="fact_learned",
        entry_id="1-0",
        ending="parked",
        outcome="parked",
        reason=reason,
        about=None,
        occurred_at=None,
        recorded_at=clock.now(),
    )
